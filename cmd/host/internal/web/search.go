package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// One search finds everything that has a page: by its id, by the beginning of its id, as
// pages show it, or by words. It calls the same operations as every surface, and only those
// that the caller may call. Memories and knowledge have an index of words. Of the other
// kinds, only the newest things are read, up to a limit, and the page shows if there are
// more.

const (
	// maxHits is how many results of a kind are shown, and maxLooked how many things of a kind
	// without an index are read, the newest first.
	maxHits   = 10
	maxLooked = 1000
	// maxQuery is how much of a query is used, in characters.
	maxQuery = 400
)

// searchPages has the page of the search.
func searchPages() []page {
	return []page{{path: "/search", template: "search.html", load: loadSearch}}
}

// searchData is what a search found.
type searchData struct {
	Query    string        `json:"query"`
	Sections []foundOfKind `json:"sections"`
}

// foundOfKind are the results of one kind.
type foundOfKind struct {
	Name string `json:"name"`
	Hits []hit  `json:"hits"`
	// Looked is how many things were read, 0 if an index has all of them, and Partial whether
	// there are others. Of describes the things that were read, if they aren't the newest.
	Looked  int    `json:"looked_at,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Of      string `json:"of,omitempty"`
	// More leads to the list of the kind, narrowed by the search if possible.
	More crumb `json:"-"`
}

// hit is a result of the search.
type hit struct {
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	ID     string `json:"id"`
	Status string `json:"status,omitempty"`
	URL    string `json:"url"`
}

// searcher finds things of a kind.
type searcher struct {
	name string
	// operation lists the kind: callers that may not call it don't see the kind.
	operation string
	// byID finds the thing with an id. If there is none, that isn't an error of the search.
	// page is the address of the thing with an id.
	byID func(v *visit, id string) (hit, error)
	page func(id string) string
	// byWords finds things that have all words of a query.
	byWords func(v *visit, query string, found *foundOfKind) error
}

// searchers are the kinds in the order in which they are shown.
func searchers() []searcher {
	return []searcher{
		{"Runs", "run_list", runByID, runURL, runsByWords},
		{"Memories", "memory_list", memoryByID, memoryURL, memoriesByWords},
		{"Knowledge", "knowledge_list", knowledgeByID, knowledgeURL, knowledgeByWords},
		{"Decisions", "decision_list", decisionByID, decisionURL, decisionsByWords},
		{"Jobs", "job_list", jobByID, jobURL, jobsByWords},
		{"Plugins", "plugin_list", nil, nil, pluginsByWords},
	}
}

func runURL(id string) string       { return "/runs/" + url.PathEscape(id) }
func knowledgeURL(id string) string { return "/knowledge/" + url.PathEscape(id) }
func decisionURL(id string) string  { return "/decisions/" + url.PathEscape(id) }

func loadSearch(v *visit) (*content, error) {
	// Pages show the beginning of an id with an ellipsis, which may have been copied with it.
	d := &searchData{Query: strings.TrimSuffix(line(strings.TrimSpace(v.query("q")), maxQuery), "…"), Sections: []foundOfKind{}}
	kinds := slices.DeleteFunc(searchers(), func(s searcher) bool { return d.Query == "" || !v.may(s.operation) })
	for _, find := range []func(*searcher, *visit, string, *foundOfKind) error{(*searcher).findID, (*searcher).findWords} {
		for i := range kinds {
			found := foundOfKind{Name: kinds[i].name, Hits: []hit{}}
			if err := find(&kinds[i], v, d.Query, &found); err != nil {
				return nil, err
			}
			if len(found.Hits) > 0 || found.Partial || found.Looked > 0 && found.More.URL != "" {
				d.Sections = append(d.Sections, found)
			}
		}
		if len(d.Sections) > 0 { // it was an id
			break
		}
	}
	slices.SortStableFunc(d.Sections, func(a, b foundOfKind) int { // kinds with results are first
		return cmp.Compare(min(len(b.Hits), 1), min(len(a.Hits), 1))
	})
	return &content{Title: "Search", Data: d}, nil
}

// findID finds the thing with an id, or all things whose ids begin with it.
func (s *searcher) findID(v *visit, query string, found *foundOfKind) error {
	if s.byID == nil || strings.ContainsAny(query, " /") {
		return nil
	}
	one, err := s.byID(v, query)
	switch {
	case err == nil:
		found.Hits = append(found.Hits, one)
	case sdk.CodeOf(err) == sdk.Conflict:
		for _, id := range idsOf(err) {
			found.Hits = append(found.Hits, hit{Title: id, ID: id, URL: s.page(id)})
		}
		found.Partial = true
	case !isNotFound(err):
		return err
	}
	return nil
}

// findWords finds the things that have all words of a query.
func (s *searcher) findWords(v *visit, query string, found *foundOfKind) error {
	if err := s.byWords(v, query, found); err != nil && !isNotFound(err) {
		return err
	}
	return nil
}

// isNotFound reports whether an error only means that nothing was found that the caller may
// see.
func isNotFound(err error) bool {
	return slices.Contains([]sdk.Code{sdk.NotFound, sdk.Denied, sdk.Invalid}, sdk.CodeOf(err))
}

// idsOf are the ids in the error of an ambiguous id.
func idsOf(err error) []string {
	for _, detail := range sdk.AsError(err).Details {
		if ids, is := detail.([]string); is {
			return ids[:min(len(ids), maxHits)]
		}
	}
	return nil
}

// has reports whether some texts have all words of a query. Upper and lower case are the
// same.
func has(query string, texts ...string) bool {
	text := strings.ToLower(strings.Join(texts, "\n"))
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// collectHits reads the newest items of a list, page by page, and keeps the items of which match
// makes a hit.
func collectHits[T any](found *foundOfKind, list func(operation.Paging) (operation.Page[T], error), match func(*T) (hit, bool)) error {
	for paging := (operation.Paging{Limit: operation.MaxLimit}); ; {
		page, err := list(paging)
		if err != nil {
			return err
		}
		for i := range page.Items {
			found.Looked++
			one, fits := match(&page.Items[i])
			if fits && len(found.Hits) == maxHits {
				found.Partial = true
				return nil
			}
			if fits {
				found.Hits = append(found.Hits, one)
			}
		}
		paging.PageToken = page.NextPageToken
		if found.Partial = paging.PageToken != ""; !found.Partial || found.Looked >= maxLooked {
			return nil
		}
	}
}

func runByID(v *visit, id string) (hit, error) {
	r, err := call[operation.Run](v, "run_get", &operation.RunGet{ID: id})
	if err != nil {
		return hit{}, err
	}
	return hit{r.Workflow, r.Namespace, r.RunID, string(r.Status), runURL(r.RunID)}, nil
}

func runsByWords(v *visit, query string, found *foundOfKind) error {
	found.More = crumb{"Runs with this in their errors", "/runs?" + url.Values{"error": {query}}.Encode()}
	return collectHits(found, func(p operation.Paging) (operation.Page[operation.RunSummary], error) {
		page, err := call[operation.Page[operation.RunSummary]](v, "run_list", &operation.RunList{Paging: p})
		if err != nil {
			return operation.Page[operation.RunSummary]{}, err
		}
		return *page, nil
	}, func(r *operation.RunSummary) (hit, bool) {
		return hit{r.Workflow, r.Namespace, r.RunID, string(r.Status), runURL(r.RunID)},
			has(query, r.Workflow, r.Namespace, string(r.Status), string(r.StopReason))
	})
}

func memoryByID(v *visit, id string) (hit, error) {
	e, err := call[memory.Explanation](v, "memory_explain", &operation.MemoryExplain{ID: id})
	if err != nil {
		return hit{}, err
	}
	title := "A purged memory"
	if e.Memory != nil {
		title = e.Memory.Title
	}
	return hit{title, e.Namespace, e.ID, string(e.State), memoryURL(e.ID)}, nil
}

func memoriesByWords(v *visit, query string, found *foundOfKind) error {
	found.More = crumb{"All memories that fit", "/memory?" + url.Values{"q": {query}}.Encode()}
	return recallEach(v, found, func(at core.RecallFilter) ([]scored, error) {
		recalled, err := call[operation.Recalled](v, "memory_recall", &core.RecallRequest{Query: query, Limit: maxHits, RecallFilter: at})
		if err != nil {
			return nil, err
		}
		var list []scored
		for _, m := range recalled.Memories {
			list = append(list, scored{hit{m.Title, m.Namespace, m.ID, string(m.State), memoryURL(m.ID)}, m.Score})
		}
		return list, nil
	})
}

// scored is a hit with its score.
type scored struct {
	hit
	score float64
}

// recallEach recalls in every place that the caller reaches, and keeps the best results.
func recallEach(v *visit, found *foundOfKind, recall func(core.RecallFilter) ([]scored, error)) error {
	places, err := placesOf(v)
	if err != nil {
		return err
	}
	if found.Partial = len(places) > maxPlaces; found.Partial {
		places = places[:maxPlaces]
	}
	var all []scored
	for _, at := range places {
		list, err := recall(at)
		if err != nil && !isNotFound(err) {
			return err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for _, one := range all[:min(len(all), maxHits)] {
		found.Hits = append(found.Hits, one.hit)
	}
	if len(all) > 0 && found.More.URL != "" && len(places) == 1 { // a list shows only one place
		found.More.URL += "&" + url.Values{"namespace": {places[0].Namespace}, "subtree": {map[bool]string{true: "true"}[places[0].Subtree]}}.Encode()
	} else {
		found.More = crumb{}
	}
	return nil
}

// maxPlaces is the number of places in which memories are recalled.
const maxPlaces = 16

// placesOf are the places in which the caller may recall: the namespaces of its patterns,
// or, if it reaches all, the first segments of the namespaces with memories.
func placesOf(v *visit) (places []core.RecallFilter, err error) {
	if !slices.Contains(v.caller.Namespaces, "**") {
		for _, pattern := range v.caller.Namespaces {
			namespace, subtree := strings.CutSuffix(pattern, "/**")
			places = append(places, core.RecallFilter{Namespace: namespace, Subtree: subtree})
		}
		return places, nil
	}
	found, err := call[operation.Page[memory.NamespaceCount]](v, "memory_namespaces", &operation.MemoryNamespaces{})
	if err != nil {
		return nil, err
	}
	for _, n := range found.Items {
		first, _, _ := strings.Cut(n.Namespace, "/")
		if len(places) == 0 || places[len(places)-1].Namespace != first {
			places = append(places, core.RecallFilter{Namespace: first, Subtree: true})
		}
	}
	return places, nil
}

func knowledgeByID(v *visit, id string) (hit, error) {
	k, err := call[core.Knowledge](v, "knowledge_get", &operation.KnowledgeGet{ID: id})
	if err != nil {
		return hit{}, err
	}
	return hit{k.Title, k.Namespace, k.ID, "", knowledgeURL(k.ID)}, nil
}

func knowledgeByWords(v *visit, query string, found *foundOfKind) error {
	return recallEach(v, found, func(at core.RecallFilter) ([]scored, error) {
		recalled, err := call[operation.KnowledgeRecalled](v, "knowledge_recall", &memory.KnowledgeQuery{
			Query: query, Namespace: at.Namespace, Subtree: at.Subtree, Limit: maxHits,
		})
		if err != nil {
			return nil, err
		}
		var list []scored
		for _, r := range recalled.Knowledge {
			k := r.Knowledge
			list = append(list, scored{hit{k.Title, k.Namespace, k.ID, "", knowledgeURL(k.ID)}, r.Score})
		}
		return list, nil
	})
}

func decisionByID(v *visit, id string) (hit, error) {
	d, err := call[operation.Decision](v, "decision_get", &operation.DecisionGet{ID: id})
	if err != nil {
		return hit{}, err
	}
	outcome, _ := outcomeOf(d.Output, d.Failure)
	return hit{string(d.Point), d.Namespace, d.ID, outcome.Text, decisionURL(d.ID)}, nil
}

// decisionsByWords reads all decisions, or, if there are too many, those of the last week,
// day or hour, since their list begins with the oldest.
func decisionsByWords(v *visit, query string, found *foundOfKind) error {
	for _, window := range []struct {
		text string
		time time.Duration
	}{{"the oldest first", 0}, {"of the last 7 days", 7 * 24 * time.Hour}, {"of the last day", 24 * time.Hour}, {"of the last hour", time.Hour}} {
		since := time.Time{}
		if window.time > 0 {
			since = v.pages.config.Now().Add(-window.time)
		}
		newer := foundOfKind{Name: found.Name, Hits: []hit{}, Of: window.text}
		if err := decisionsSince(v, since, query, &newer); err != nil {
			return err
		}
		if found.Looked > 0 && len(newer.Hits) == 0 {
			break // a partial list is better than nothing
		}
		if *found = newer; !found.Partial {
			break
		}
	}
	slices.Reverse(found.Hits)
	return nil
}

func decisionsSince(v *visit, since time.Time, query string, found *foundOfKind) error {
	return collectHits(found, func(p operation.Paging) (operation.Page[operation.Decided], error) {
		page, err := call[operation.Page[operation.Decided]](v, "decision_list", &operation.DecisionList{Since: since, Paging: p})
		if err != nil {
			return operation.Page[operation.Decided]{}, err
		}
		return *page, nil
	}, func(d *operation.Decided) (hit, bool) {
		outcome, rest := outcomeOf(d.Output, d.Failure)
		detail := strings.TrimSpace(d.File + " " + d.Rule)
		return hit{string(d.Point), detail, d.ID, outcome.Text, decisionURL(d.ID)}, has(query, string(d.Point), detail, d.Namespace, outcome.Text, rest)
	})
}

func jobByID(v *visit, id string) (hit, error) {
	j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: id})
	if err != nil {
		return hit{}, err
	}
	return hit{string(j.Type), j.Namespace, j.ID, string(j.Status), jobURL(j.ID)}, nil
}

func jobsByWords(v *visit, query string, found *foundOfKind) error {
	return collectHits(found, func(p operation.Paging) (operation.Page[job.Job], error) {
		page, err := call[operation.JobPage](v, "job_list", &operation.JobList{Paging: p})
		if err != nil {
			return operation.Page[job.Job]{}, err
		}
		return page.Page, nil
	}, func(j *job.Job) (hit, bool) {
		return hit{string(j.Type), j.Namespace, j.ID, string(j.Status), jobURL(j.ID)},
			has(query, string(j.Type), j.UserID, j.Namespace, string(j.Status), j.Reason, j.Message)
	})
}

func pluginsByWords(v *visit, query string, found *foundOfKind) error {
	return collectHits(found, func(p operation.Paging) (operation.Page[host.PluginSummary], error) {
		page, err := call[operation.Page[host.PluginSummary]](v, "plugin_list", &operation.PluginList{Paging: p})
		if err != nil {
			return operation.Page[host.PluginSummary]{}, err
		}
		return *page, nil
	}, func(p *host.PluginSummary) (hit, bool) {
		status := "ready"
		if p.Problem != nil {
			status = "failed"
		}
		return hit{p.Name, p.Description, p.Version, status, "/plugins/" + url.PathEscape(p.Name)}, has(query, p.Name, p.Description, p.Runtime)
	})
}
