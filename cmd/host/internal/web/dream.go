package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// dreamPages are the pages of housekeeping.
func dreamPages() []page {
	return []page{
		{path: "/dream", template: "dreams.html", nav: "/dream", load: loadDreams},
		{path: "/dream/conflicts", template: "conflicts.html", nav: "/dream", load: loadConflicts},
		{path: "/dream/{id}", template: "dream.html", nav: "/dream", parts: []string{"dream-body"}, load: loadDream},
	}
}

func dreamForms() []form {
	return []form{
		{path: "/dream", nav: "/dream", do: planDream},
		{path: "/dream/run", nav: "/dream", do: runDream},
		{path: "/dream/{id}/apply", nav: "/dream", do: applyDream},
		{path: "/dream/{id}/undo", nav: "/dream", do: undoDream, ask: askUndoDream},
	}
}

func dreamURL(id string) string { return "/dream/" + url.PathEscape(id) }

// dreamStepURL is the address of a run's step.
func dreamStepURL(id string, step int) string {
	at := dreamURL(id)
	if first := firstOf(step); first > 1 {
		at += "?from=" + strconv.Itoa(first)
	}
	return at + "#step-" + strconv.Itoa(step)
}

// firstOf is the first step of the page that has a step.
func firstOf(step int) int { return max(step-1, 0)/maxSteps*maxSteps + 1 }

// dreamsData is a page of the list of plans and passes.
type dreamsData struct {
	operation.Page[*memory.DreamRun]
	Filter operation.DreamList `json:"filter"`
	Rows   []dreamRow          `json:"-"`
	Did    *chart.Chart        `json:"-"`
	Modes  []memory.DreamMode  `json:"-"`
	// MayPlan is whether the caller may plan and run a pass.
	MayPlan bool    `json:"-"`
	Where   *places `json:"-"`
	Next    string  `json:"-"`
}

// dreamRow is a pass in the list, with what it did in a line.
type dreamRow struct {
	*memory.DreamRun
	Text string
}

func loadDreams(v *visit) (*content, error) {
	d := &dreamsData{Filter: operation.DreamList{Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")}}, Modes: memory.DreamModes()}
	var err error
	d.Where, err = v.placed(func(namespace string) (bool, error) {
		d.Filter.Namespace = namespace
		found, err := call[operation.Page[*memory.DreamRun]](v, "dream_list", &d.Filter)
		if err != nil {
			return false, err
		}
		d.Page = *found
		return len(d.Items) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	d.MayPlan = v.mayWrite()
	for _, run := range d.Items {
		d.Rows = append(d.Rows, dreamRow{run, didText(run.Report)})
	}
	d.Did = didChart(d.Items)
	if d.NextPageToken != "" {
		d.Next = v.with("namespace", d.Filter.Namespace, "page_token", d.NextPageToken)
	}
	return &content{Title: "Dream plans", Data: d}, nil
}

// did are the things that a pass can do, with their colours in charts.
var did = []struct {
	name, class string
	count       func(*memory.DreamReport) int64
}{
	{"dates written out", chart.Info, func(r *memory.DreamReport) int64 { return r.AbsolutizedDates }},
	{"merged", chart.Accent, func(r *memory.DreamReport) int64 { return r.Consolidated }},
	{"conflicts resolved", chart.Warn, func(r *memory.DreamReport) int64 { return r.ConflictsResolved }},
	{"archived", chart.Mute, func(r *memory.DreamReport) int64 { return r.Archived }},
}

// didText is what a pass did, in a line; "" before the pass has ended.
func didText(r *memory.DreamReport) string {
	if r == nil {
		return ""
	}
	var said []string
	for _, d := range did {
		if n := d.count(r); n > 0 {
			name := d.name
			if n == 1 {
				name = strings.Replace(name, "s ", " ", 1) // the noun, if there is one, is before the verb
			}
			said = append(said, count(n)+" "+name)
		}
	}
	if r.StepsSkipped > 0 {
		said = append(said, count(r.StepsSkipped)+" skipped")
	}
	if len(said) == 0 {
		return "nothing to do"
	}
	return strings.Join(said, ", ")
}

// didChart draws what the passes of a page did, the oldest first; nil if fewer than two
// have ended.
func didChart(runs []*memory.DreamRun) *chart.Chart {
	var series []chart.Series
	for _, d := range did {
		series = append(series, chart.Series{Name: d.name, Class: d.class})
	}
	var bars []chart.Bar
	for _, run := range slices.Backward(runs) {
		if run.Report == nil || run.CompletedAt == nil {
			continue
		}
		bar := chart.Bar{Name: run.CompletedAt.UTC().Format("2 Jan 15:04")}
		for _, d := range did {
			bar.Counts = append(bar.Counts, d.count(run.Report))
		}
		bars = append(bars, bar)
	}
	if len(bars) < 2 {
		return nil
	}
	for i := range bars {
		if i%max(len(bars)/6, 1) == 0 {
			bars[i].Label = bars[i].Name
		}
	}
	c := chart.Bars("What passes did", series, bars)
	return &c
}

// passOf is the requested pass of a form.
func passOf(v *visit) operation.DreamPass {
	skip := func(name string) bool { return v.FormValue("skip_"+name) != "" }
	return operation.DreamPass{
		Namespace: v.FormValue("namespace"), Agent: v.FormValue("agent"), Mode: memory.DreamMode(v.FormValue("mode")), Full: v.FormValue("full") != "",
		Options: dream.Options{SkipDates: skip("dates"), SkipMerges: skip("merges"), SkipConflicts: skip("conflicts"), SkipArchival: skip("archival")},
	}
}

func planDream(v *visit) (string, error) {
	queued, err := call[operation.JobQueued](v, "dream_plan", &operation.DreamPlan{DreamPass: passOf(v)})
	if err != nil {
		return "", err
	}
	return jobURL(queued.JobID), nil
}

func runDream(v *visit) (string, error) {
	in := passOf(v)
	queued, err := call[operation.JobQueued](v, "dream_run", &in)
	if err != nil {
		return "", err
	}
	return jobURL(queued.JobID), nil
}

func applyDream(v *visit) (string, error) {
	id := v.PathValue("id")
	queued, err := call[operation.JobQueued](v, "dream_apply", &operation.DreamApply{ID: id})
	if err != nil {
		return "", err
	}
	return dreamURL(id) + "?" + url.Values{"job": {queued.JobID}}.Encode(), nil
}

func askUndoDream(v *visit) (*question, error) {
	found, err := call[operation.DreamShown](v, "dream_show", &operation.DreamShow{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	return &question{
		Title: "Undo this whole pass?", Crumbs: []crumb{{"Dream plans", "/dream"}, {short(found.ID), dreamURL(found.ID)}}, Button: "Undo every step", Back: dreamURL(found.ID),
		Text: "Each of its " + plural(applied(found.Done), "step") + " is undone, the last first: texts, states, counts and links are as they were before. What changed since stays as it is. No later pass does again what is taken back.",
	}, nil
}

// applied counts the steps that were applied and not undone.
func applied(done []memory.DreamStep) (n int) {
	for _, s := range done {
		if s.Status == stepApplied {
			n++
		}
	}
	return n
}

// undoDream undoes one step, or all of them if none is given.
func undoDream(v *visit) (string, error) {
	step, _ := strconv.Atoi(v.FormValue("step"))
	in := &operation.DreamUndo{ID: v.PathValue("id"), Step: step}
	undone, err := call[memory.DreamUndone](v, "dream_undo", in)
	switch {
	case err != nil:
		return "", err
	case step == 0:
		return dreamURL(in.ID) + "?" + url.Values{"undone": {strconv.Itoa(len(undone.Undone))}, "refused": {strconv.Itoa(len(undone.Refused))}}.Encode(), nil
	case len(undone.Refused) > 0:
		refused := undone.Refused[0]
		return "", sdk.Errorf(sdk.Conflict, refused.Reason, "Step %d wasn’t undone: %s", step, refusedText(refused.Reason))
	}
	return dreamStepURL(in.ID, step), nil
}

// refusedText is the reason why a step isn't undone.
func refusedText(reason string) string {
	switch reason {
	case "changed_since_run":
		return "a memory of it changed since."
	case "memory_purged":
		return "a memory of it was purged."
	case "undo_expired":
		return "the pass is too old, and what would undo it is gone."
	case "not_applied":
		return "it wasn’t applied."
	case "already_undone":
		return "that was done before."
	}
	return reason
}

// mayWrite reports whether the caller may change memories.
func (v *visit) mayWrite() bool { return v.caller.Has(core.ScopeMemoryWrite) }
