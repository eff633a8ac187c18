package web

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// A plan has only ids and digests. Its page shows the present texts of the memories, so
// that a purge leaves nothing here. To show the words that made the guard refuse a merge,
// the page compares the texts again.

const (
	// maxSteps and maxPairs are how many steps and how many pairs a page shows.
	maxSteps = 20
	maxPairs = 10
	// The outcomes of a step, as they are in its record.
	stepApplied = "applied"
	stepUndone  = "undone"
)

// dreamData is a plan and its outcome.
type dreamData struct {
	*operation.DreamShown
	// Steps are the steps of the page, and First is the number of the first.
	Steps    []dreamStep  `json:"-"`
	First    int          `json:"-"`
	Refused  []dreamPair  `json:"-"`
	Open     []dreamPair  `json:"-"`
	Outcomes *chart.Chart `json:"-"`
	Classes  *chart.Chart `json:"-"`
	Facts    []figure     `json:"-"`
	Notices  []string     `json:"-"`
	Job      *job.Job     `json:"-"`
	Live     string       `json:"-"`
	MayApply bool         `json:"-"`
	MayUndo  bool         `json:"-"`
	// The addresses of other pages of steps and pairs; "" if there are none.
	Before, After, RefusedNext, OpenNext string `json:"-"`
}

// dreamStep is a step as it is shown.
type dreamStep struct {
	*dream.Step
	Title  string
	Status tag
	// Why is the reason, and Facts what it is based on.
	Why   string
	Facts []string
	// Memories are the memories of the step: the memory that changes, or the memory that is
	// kept and then the memory that isn't.
	Memories []dreamMemory
	Words    *wordDiff
	// Fields are the changes in addition to the texts.
	Fields  []fieldChange
	MayUndo bool
}

// dreamMemory is a memory of a step or a pair.
type dreamMemory struct {
	ID, Role, Title, URL string
	// Text is its text; "" if the memory is gone.
	Text string
	// Shown is the text, if it isn't compared with another.
	Shown *longText
}

// fieldChange is a field before and after a step.
type fieldChange struct {
	Field, Of, Before, After string
}

// dreamPair is two memories that look alike, or contradict each other.
type dreamPair struct {
	Newer, Older dreamMemory
	Class        string
	// Why names the words that differ.
	Why   string
	Words *wordDiff
}

func loadDream(v *visit) (*content, error) {
	d := &dreamData{First: firstOf(v.number("from"))}
	found, err := call[operation.DreamShown](v, "dream_show", &operation.DreamShow{ID: v.PathValue("id"), From: d.First})
	if err != nil {
		return nil, err
	}
	d.DreamShown = found
	d.MayApply = v.mayWrite() && found.Status != memory.DreamCompleted
	d.MayUndo = v.mayWrite() && !found.UndoExpired && applied(found.Done) > 0
	d.steps(v)
	if d.Refused, d.RefusedNext, err = d.pairs(v, "refused_from", len(found.Plan.Refusals), func(i int) (string, string, string) {
		r := &found.Plan.Refusals[i]
		return r.Newer, r.Older, r.Class
	}); err != nil {
		return nil, err
	}
	if d.Open, d.OpenNext, err = d.pairs(v, "open_from", len(found.Plan.Conflicts), func(i int) (string, string, string) {
		c := &found.Plan.Conflicts[i]
		return c.Newer, c.Older, c.Class
	}); err != nil {
		return nil, err
	}
	d.figures()
	d.charts()
	if err := d.notices(v); err != nil {
		return nil, err
	}
	title := "Dream plan"
	if found.Status != memory.DreamPlanned {
		title = "Dream pass"
	}
	return &content{Title: title + " " + short(found.ID), Crumbs: []crumb{{"Dream plans", "/dream?" + url.Values{"namespace": {found.Namespace}}.Encode()}}, Data: d}, nil
}

// steps adds the steps of the page.
func (d *dreamData) steps(v *visit) {
	outcomes := map[int]string{}
	for _, s := range d.Done {
		outcomes[s.N] = s.Status
	}
	texts := map[int]memory.DreamText{} // the rewritten texts with dates
	for _, t := range d.Texts {
		if t.Before != t.After {
			texts[t.Step] = t
		}
	}
	all := d.Plan.Steps
	last := min(d.First-1+maxSteps, len(all))
	for i := min(d.First-1, last); i < last; i++ {
		s := dreamStep{Step: &all[i], Status: stepTag(outcomes[all[i].N]), MayUndo: d.MayUndo && outcomes[all[i].N] == stepApplied}
		s.Title, s.Why, s.Facts = explainStep(&all[i])
		s.show(v, texts[s.N])
		d.Steps = append(d.Steps, s)
	}
	if d.First > 1 {
		d.Before = v.with("from", strconv.Itoa(firstOf(d.First-1)), "job", "") + "#steps"
	}
	if last < len(all) {
		d.After = v.with("from", strconv.Itoa(last+1), "job", "") + "#steps"
	}
}

// show adds the texts of the step's memories, and what changes.
func (s *dreamStep) show(v *visit, dated memory.DreamText) {
	roles := []string{"Changed"}
	switch s.Kind {
	case dream.StepMerge:
		roles = []string{"Kept", "Merged into it"}
	case dream.StepConflict:
		roles = []string{"Kept", "Archived"}
	case dream.StepArchive:
		roles = []string{"Archived", "Covers it"}
	case dream.StepReport:
		roles = []string{"Has the report"}
	}
	for i, r := range s.Reads {
		m := v.dreamMemory(r.MemoryID)
		m.Role = roles[min(i, len(roles)-1)]
		s.Memories = append(s.Memories, m)
	}
	for _, c := range s.Changes {
		f := fieldChange{strings.ReplaceAll(c.Field, "_", " "), short(c.MemoryID), line(c.Before, 80), line(c.After, 80)}
		switch c.Field {
		case "title", "content":
			continue // the words already show it
		case "tags":
			f.Before, f.After = "its own", "the tags of both"
		case "merged_into":
			f.Before, f.After = "nothing", short(c.After)
		}
		s.Fields = append(s.Fields, f)
	}
	switch {
	case dated.Before != dated.After:
		s.Words = v.words(dated.Before, dated.After)
	case len(s.Memories) == 2 && s.Memories[0].Text != "" && s.Memories[1].Text != "":
		s.Words = v.words(s.Memories[1].Text, s.Memories[0].Text)
	case len(s.Memories) > 0 && s.Memories[0].Text != "":
		m := &s.Memories[0]
		m.Shown = v.long(m.Text, m.URL+"/content")
	}
}

// stepTag is how a step ended.
func stepTag(status string) tag {
	switch status {
	case "":
		return tag{Text: "planned", Class: "info"}
	case stepApplied:
		return tag{Text: "applied", Class: "ok"}
	case stepUndone:
		return tag{Text: "undone"}
	case "changed_since_plan":
		return tag{Text: "changed since the plan", Class: "warn"}
	}
	return tag{Text: strings.ReplaceAll(line(status, 40), "_", " "), Class: "warn"}
}

// explainStep describes what a step does, why, and the facts behind it.
func explainStep(s *dream.Step) (title, why string, facts []string) {
	e := func(name string) string { return line(s.Evidence[name], 80) }
	switch s.Kind {
	case dream.StepDates:
		n, _ := strconv.Atoi(e("phrases"))
		return "Write out dates", "It has relative dates.", []string{plural(n, "phrase"), "seen from " + e("anchor")}
	case dream.StepReport:
		return "Note a report", "It has a report of another program’s housekeeping.", []string{"consolidated " + e("consolidated"), "removed " + e("removed"), "reindexed " + e("reindexed")}
	case dream.StepConflict:
		return "Resolve a conflict", "Both are of low importance and contradict each other: " + strategyText(s.Reason) + ".", []string{"they differ in " + classText(e("class"))}
	case dream.StepMerge:
		facts = []string{"found by " + cmp.Or(map[string]string{"form": "equal normal forms", "vectors": "near vectors"}[e("by")], e("by"))}
		if cosine := e("cosine"); cosine != "" {
			facts = append(facts, "cosine "+cosine)
		}
		if judged := e("judged"); judged != "" {
			return "Merge", "Both say the same: a judge overruled the soft difference.", append(facts, "judged "+classText(judged))
		}
		if s.Reason == string(dream.MergeConflicts) {
			return "Merge a conflict", "Both are of low importance and contradict each other: the newer one absorbs the other.", []string{"they differ in " + classText(e("class"))}
		}
		return "Merge", "Both say the same, and the guard finds nothing that differs.", facts
	case dream.StepArchive:
		if s.Reason == "old_notification" {
			return "Archive", "There are newer notifications: the newest 50 of a namespace stay.", []string{e("newer") + " newer ones"}
		}
		return "Archive", "Nobody recalled it, nothing refers to it, and its importance has faded.", []string{"effective importance " + e("effective_importance"), "age " + e("age_hours") + " h"}
	}
	return strings.ReplaceAll(line(string(s.Kind), 40), "_", " "), strings.ReplaceAll(line(s.Reason, 80), "_", " "), nil
}

// strategyText describes which of two memories stays.
func strategyText(name string) string {
	switch dream.Strategy(name) {
	case dream.KeepNewest:
		return "the newest stays"
	case dream.KeepHighestImportance:
		return "the more important one stays"
	case dream.EvidenceWeighted:
		return "the one whose uses went better stays"
	}
	return strings.ReplaceAll(line(name, 80), "_", " ")
}

// classText is a class of the guard in everyday words.
func classText(class string) string {
	switch class {
	case dream.SaysMore:
		return "what one of them says more"
	case dream.TooManyTags:
		return "tags: they have too many together"
	case dream.Uncalibrated:
		return "nothing, but the model isn’t calibrated"
	case "":
		return "nothing"
	}
	return line(strings.ReplaceAll(class, "_", " "), 40)
}

// dreamMemory is a memory of a plan in its present form, if it still exists and the caller
// may read it.
func (v *visit) dreamMemory(id string) dreamMemory {
	m := dreamMemory{ID: id, URL: memoryURL(id), Title: short(id)}
	found, err := call[operation.Memory](v, "memory_get", &operation.MemoryGet{ID: id})
	if err != nil {
		return m // purged, or in another namespace, which a plan from a file may name
	}
	m.Title, m.Text = cmp.Or(line(found.Title, 120), m.Title), found.Content
	if !strings.HasPrefix(found.Content, found.Title) {
		m.Text = found.Title + "\n" + found.Content // as the guard reads it
	}
	return m
}

// pairs are the pairs of a page, with what differs. field is the field of the address
// that has the start of their page.
func (d *dreamData) pairs(v *visit, field string, n int, of func(int) (newer, older, class string)) (list []dreamPair, next string, err error) {
	first := min(max(v.number(field), 1), max(n, 1)) - 1
	for i := first; i < min(first+maxPairs, n); i++ {
		newer, older, class := of(i)
		p, err := v.pair(newer, older, class)
		if err != nil {
			return nil, "", err
		}
		list = append(list, *p)
	}
	if first+maxPairs < n {
		next = v.with(field, strconv.Itoa(first+maxPairs+1), "job", "") + "#" + strings.TrimSuffix(field, "_from")
	}
	return list, next, nil
}

// pair is two memories with what differs.
func (v *visit) pair(newer, older, class string) (*dreamPair, error) {
	p := &dreamPair{Newer: v.dreamMemory(newer), Older: v.dreamMemory(older), Class: classText(class)}
	p.Newer.Role, p.Older.Role = "Newer", "Older"
	if p.Newer.Text == "" || p.Older.Text == "" {
		return p, nil
	}
	p.Words = v.words(p.Older.Text, p.Newer.Text)
	if len(p.Newer.Text) > operation.MaxDreamText || len(p.Older.Text) > operation.MaxDreamText {
		return p, nil
	}
	compared, err := call[dream.Comparison](v, "dream_compare", &operation.DreamCompare{A: p.Older.Text, B: p.Newer.Text})
	if sdk.CodeOf(err) == sdk.Denied {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if compared.Words != nil {
		p.Why = quoted(compared.Words[0]) + " and " + quoted(compared.Words[1])
	}
	return p, nil
}

// quoted returns words in quotes, or "nothing" if there are none.
func quoted(words string) string {
	if words == "" {
		return "nothing"
	}
	return "“" + line(words, 80) + "”"
}

// figures adds the numbers of the pass, or of what the pass would do.
func (d *dreamData) figures() {
	kinds := map[dream.StepKind]int{}
	for i := range d.Plan.Steps {
		kinds[d.Plan.Steps[i].Kind]++
	}
	add := func(name string, n int, text string) {
		d.Facts = append(d.Facts, figure{Name: name, Value: count(n), Text: text})
	}
	add("Looked at", d.Plan.Scanned, "memories in use")
	add("Dates", kinds[dream.StepDates], "written out")
	add("Merges", kinds[dream.StepMerge], plural(len(d.Plan.Refusals), "pair")+" refused")
	add("Conflicts", kinds[dream.StepConflict], count(len(d.Plan.Conflicts))+" left to people")
	add("Archived", kinds[dream.StepArchive], "stale, or old notifications")
}

// charts draws how the steps ended, and how the refused pairs differ.
func (d *dreamData) charts() {
	const applied, taken, skipped, waiting = 0, 1, 2, 3
	outcome := map[int]int{}
	for _, s := range d.Done {
		switch s.Status {
		case stepApplied:
			outcome[s.N] = applied
		case stepUndone:
			outcome[s.N] = taken
		default:
			outcome[s.N] = skipped
		}
	}
	kinds := []dream.StepKind{dream.StepReport, dream.StepDates, dream.StepMerge, dream.StepConflict, dream.StepArchive}
	bars := make([]chart.Bar, len(kinds))
	for i, k := range kinds {
		bars[i] = chart.Bar{Name: string(k), Label: string(k), Counts: make([]int64, 4)}
		for j := range d.Plan.Steps {
			s := &d.Plan.Steps[j]
			if s.Kind != k {
				continue
			}
			at, done := outcome[s.N]
			if !done {
				at = waiting
			}
			bars[i].Counts[at]++
		}
	}
	if len(d.Plan.Steps) > 0 {
		c := chart.Bars("Steps", []chart.Series{{Name: "applied", Class: chart.OK}, {Name: "undone", Class: chart.Mute}, {Name: "skipped", Class: chart.Warn}, {Name: "planned", Class: chart.Info}}, bars)
		d.Outcomes = &c
	}
	classes := map[string]int64{}
	for _, r := range d.Plan.Refusals {
		classes[r.Class]++
	}
	var refused []chart.Bar
	for _, class := range append(dream.Classes(), dream.Uncalibrated, dream.TooManyTags) {
		if n := classes[class]; n > 0 {
			name := strings.ReplaceAll(class, "_", " ")
			refused = append(refused, chart.Bar{Name: name, Label: name, Counts: []int64{n}})
		}
	}
	if len(refused) > 0 {
		c := chart.Bars("Refused merges by what differs", []chart.Series{{Name: "pairs", Class: chart.Bad}}, refused)
		d.Classes = &c
	}
}

// notices adds messages about what was just done, and about the job that applies the plan.
func (d *dreamData) notices(v *visit) error {
	if n, err := strconv.Atoi(v.query("undone")); err == nil {
		text := plural(n, "step") + " undone."
		if refused := v.number("refused"); refused > 0 {
			text += " " + plural(refused, "step") + " stayed, because memories changed or were purged since."
		}
		d.Notices = append(d.Notices, text)
	}
	id := v.query("job")
	if id == "" {
		return nil
	}
	j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: id})
	if err != nil {
		return err
	}
	d.Job = j
	if !j.Status.Terminal() {
		d.Live, d.MayApply = "/v1/jobs/"+url.PathEscape(j.ID)+"/events", false
	}
	return nil
}

// conflictsData are pairs that contradict each other about one subject.
type conflictsData struct {
	operation.Page[operation.DreamConflict]
	Filter operation.DreamConflicts `json:"filter"`
	Pairs  []dreamPair              `json:"-"`
	Where  *places                  `json:"-"`
	Next   string                   `json:"-"`
}

func loadConflicts(v *visit) (*content, error) {
	d := &conflictsData{Filter: operation.DreamConflicts{
		Agent: v.query("agent"), Paging: operation.Paging{Limit: v.limit(maxPairs), PageToken: v.query("page_token")},
	}}
	var err error
	d.Where, err = v.placed(func(namespace string) (bool, error) {
		d.Filter.Namespace = namespace
		found, err := call[operation.Page[operation.DreamConflict]](v, "dream_conflicts", &d.Filter)
		if err != nil {
			return false, err
		}
		d.Page = *found
		return len(d.Items) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range d.Items {
		p, err := v.pair(c.Newer, c.Older, c.Class)
		if err != nil {
			return nil, err
		}
		d.Pairs = append(d.Pairs, *p)
	}
	if d.NextPageToken != "" {
		d.Next = v.with("namespace", d.Filter.Namespace, "page_token", d.NextPageToken)
	}
	return &content{Title: "Conflicts", Crumbs: []crumb{{"Dream plans", "/dream"}}, Data: d}, nil
}

// dreamOf is the plan or pass that a job made; "" for another job.
func dreamOf(j *job.Job) string {
	var asked struct {
		Operation string `json:"operation"`
		Request   struct {
			ID string `json:"id"`
		} `json:"request"`
	}
	var made struct {
		RunID string `json:"run_id"`
	}
	_ = json.Unmarshal(j.Payload, &asked) // it may have been purged
	if j.Type != job.Dream && !strings.HasPrefix(asked.Operation, "dream_") {
		return ""
	}
	_ = json.Unmarshal(j.Result, &made) // it has no run before the job has ended
	return cmp.Or(made.RunID, asked.Request.ID)
}
