package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/run"
)

// The overview answers two questions: whether reflection pays for itself, and whether
// anything needs attention. Its figures are about the runs of a period. The figures come
// from counts by the hour in the store, so many runs don't make them slower.

// overviewPages has the first page that a visitor sees.
func overviewPages() []page {
	return []page{{path: "/{$}", template: "overview.html", nav: "/", parts: []string{"overview-body"}, load: loadOverview}}
}

// period is a time up to now, divided into buckets.
type period struct {
	name, text string
	bucket     time.Duration
	buckets    int
	// each is how many buckets there are from one label to the next.
	each  int
	label string
}

var periods = []period{
	{"24h", "24 h", time.Hour, 24, 4, "15:04"}, {"7d", "7 days", 6 * time.Hour, 28, 4, "2 Jan"}, {"30d", "30 days", 24 * time.Hour, 30, 5, "2 Jan"},
}

// overviewData is what the overview shows.
type overviewData struct {
	Namespace string `json:"namespace,omitempty"`
	Period    string `json:"period"`
	// Since is the beginning of the period.
	Since   time.Time `json:"since"`
	Periods []choice  `json:"-"`
	Figures []figure  `json:"figures"`
	// Ended counts the runs of the figures, and Before the runs of the previous period, with
	// which the figures are compared.
	Ended     int64          `json:"ended"`
	Before    int            `json:"ended_before"`
	Span      string         `json:"-"`
	Hours     *chart.Chart   `json:"-"`
	Workflows []workflowRate `json:"workflows"`
	Rates     *chart.Chart   `json:"-"`
	Turns     turnFigures    `json:"turns"`
	Needs     []need         `json:"needs_attention"`
	Memory    *memory.Counts `json:"memory,omitempty"`
	Flow      *chart.Chart   `json:"-"`
	Latest    []latestRun    `json:"latest_runs"`
	Jobs      *jobsView      `json:"jobs,omitempty"`
	Live      string         `json:"-"`
	// Begin are the first steps, on a host on which nothing has happened.
	Begin []emptyState `json:"-"`
}

// figure is a number, with its parts and its history.
type figure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Unit  string `json:"unit,omitempty"`
	Text  string `json:"text"`
	// Change is how it differs from the previous period; nil if one of the two periods has no
	// number.
	Change *change      `json:"change,omitempty"`
	Spark  *chart.Chart `json:"-"`
}

// turnFigures are how the turns of agents ended, which no run began.
type turnFigures struct {
	Ended   int64 `json:"ended"`
	Success int64 `json:"success"`
	Partial int64 `json:"partial"`
	Failure int64 `json:"failure"`
	// Recalled is how many memories they recalled, and Used how many of them were used.
	Recalled int64        `json:"recalled"`
	Used     int64        `json:"used"`
	Text     string       `json:"-"`
	Hours    *chart.Chart `json:"-"`
}

// workflowRate is how many runs of a workflow passed at the first attempt, and in the end.
type workflowRate struct {
	Workflow string `json:"workflow"`
	Ended    int64  `json:"ended"`
	First    int64  `json:"passed_at_first_attempt"`
	Passed   int64  `json:"passed"`
}

// need is something that needs attention.
type need struct {
	Text   string `json:"text"`
	Detail string `json:"detail"`
	URL    string `json:"url"`
	Button string `json:"-"`
}

// latestRun is a run with the scores of its attempts.
type latestRun struct {
	operation.RunSummary
	Spark *chart.Chart `json:"-"`
}

// jobsView are the jobs that run, and how many wait.
type jobsView struct {
	Running  []job.Job `json:"running"`
	Queued   string    `json:"queued"`
	NoWorker bool      `json:"no_worker,omitempty"`
}

func loadOverview(v *visit) (*content, error) {
	p := periods[max(0, slices.IndexFunc(periods, func(p period) bool { return p.name == v.query("period") }))]
	d := &overviewData{Namespace: v.query("namespace"), Period: p.name, Figures: []figure{}, Needs: []need{}, Latest: []latestRun{}, Workflows: []workflowRate{}}
	for _, other := range periods {
		d.Periods = append(d.Periods, choice{other.text, v.with("period", other.name), other.name == p.name})
	}
	end := v.pages.config.Now().UTC().Truncate(p.bucket).Add(p.bucket)
	d.Since = end.Add(-p.bucket * time.Duration(p.buckets))
	if err := d.history(v, p); err != nil {
		return nil, err
	}
	runs, err := d.newest(v)
	if err != nil {
		return nil, err
	}
	if err := d.latest(v, runs); err != nil {
		return nil, err
	}
	for _, add := range []func(*visit) error{d.memory, d.jobs, d.approvals, d.failures, d.plugins} {
		if err := add(v); err != nil {
			return nil, err
		}
	}
	d.interrupted(runs)
	if d.Namespace == "" && len(runs) == 0 && d.Turns.Ended == 0 && d.Memory != nil && d.Memory.Memories == 0 {
		d.Begin = beginnings()
	}
	return &content{Title: "Overview", Data: d}, nil
}

// history adds the counts of the period, if the caller may list runs.
func (d *overviewData) history(v *visit, p period) error {
	h, err := optionally(operation.RunHistoryOf(v.Context(), operation.Call{Host: v.pages.config.Host}, &operation.RunHours{
		Namespace: d.Namespace, Subtree: d.Namespace != "", Since: d.Since, Bucket: p.bucket, Buckets: p.buckets,
	}))
	if err != nil {
		return err
	}
	if h == nil {
		h = &operation.RunHistory{Buckets: make([]run.Counts, p.buckets), TurnBuckets: make([]run.Counts, p.buckets)}
	}
	d.turns(p, h)
	d.figures(p, h)
	d.rates(h)
	span := p.bucket * time.Duration(p.buckets)
	before, err := optionally(operation.RunHistoryOf(v.Context(), operation.Call{Host: v.pages.config.Host}, &operation.RunHours{
		Namespace: d.Namespace, Subtree: d.Namespace != "", Since: d.Since.Add(-span), Bucket: span, Buckets: 1,
	}))
	if err != nil || before == nil {
		return err
	}
	d.Before, d.Span = int(before.All.Ended()), p.text
	for i, rule := range changes {
		d.Figures[i].Change = rule.of(&h.All, &before.All)
	}
	return nil
}

// newest are the newest runs; none if the caller may not list them.
func (d *overviewData) newest(v *visit) ([]operation.RunSummary, error) {
	page, err := optional[operation.Page[operation.RunSummary]](v, "run_list", &operation.RunList{Namespace: d.Namespace, Subtree: d.Namespace != ""})
	if err != nil || page == nil {
		return nil, err
	}
	return page.Items, nil
}

// figures adds the figures of the period, and its runs by hour or day.
func (d *overviewData) figures(p period, h *operation.RunHistory) {
	tallies, all := h.Buckets, &h.All
	d.Ended = all.Ended()
	d.Hours = d.byHour(p, "Runs", tallies, "passed", "exhausted", "error")
	spark := func(name string, value func(*run.Counts) (float64, bool)) *chart.Chart {
		var values []float64
		for i := range tallies {
			if n, has := value(&tallies[i]); has {
				values = append(values, n)
			}
		}
		if len(values) < 2 {
			return nil
		}
		c := chart.Sparkline(name, values, chart.Accent)
		return &c
	}
	add := func(name, value, unit, text string, of func(*run.Counts) float64, counts func(*run.Counts) int64) {
		f := figure{Name: name, Value: "–", Text: "no workflow run has ended"}
		if counts(all) > 0 {
			f.Value, f.Unit, f.Text = value, unit, text
			f.Spark = spark(name, func(t *run.Counts) (float64, bool) { return of(t), counts(t) > 0 })
		}
		d.Figures = append(d.Figures, f)
	}
	usd := float64(all.CostNanos) / 1e9
	add("Passed in the end", fmt.Sprintf("%.1f", 100*share(all.Passed, all.Ended())), "%", fmt.Sprintf("%s of %s workflow runs", count(all.Passed), count(all.Ended())),
		passRate, ended)
	add("Bought by reflection", fmt.Sprintf("%+.0f", 100*share(all.Passed-all.First(), all.Ended())), "pts", percent(share(all.First(), all.Ended()))+" % pass at the first attempt",
		correctedRate, ended)
	add("Attempts per pass", fmt.Sprintf("%.2f", share(all.Attempts, all.Passed)), "", fmt.Sprintf("95 of 100 need %d or fewer", within95(all)),
		perPass, passes)
	add("Recalled and used", percent(share(all.Used, all.Recalled)), "%", "of "+count(all.Recalled)+" that were recalled",
		usedRate, recalled)
	if all.Recalled == 0 {
		d.Figures[len(d.Figures)-1].Text = "no run recalled a memory"
	}
	add("Model cost", cost(usd), "", fmt.Sprintf("%s and %s tokens a run", cost(usd/float64(max(all.Ended(), 1))), count(all.Tokens/max(all.Ended(), 1))),
		func(t *run.Counts) float64 { return float64(t.CostNanos) }, ended)
}

// turns adds how the turns of agents ended.
func (d *overviewData) turns(p period, h *operation.RunHistory) {
	t := &h.Turns
	d.Turns = turnFigures{Ended: t.Ended(), Success: t.Passed, Partial: t.Exhausted, Failure: t.Failed, Recalled: t.Recalled, Used: t.Used}
	if d.Turns.Ended == 0 {
		return
	}
	d.Turns.Text = fmt.Sprintf("%s, %.1f %% with success", plural(int(t.Ended()), "turn"), 100*passRate(t))
	if t.Recalled > 0 {
		d.Turns.Text += fmt.Sprintf("; %s %% of the memories recalled were used", percent(usedRate(t)))
	}
	d.Turns.Hours = d.byHour(p, "Turns", h.TurnBuckets, "success", "partial", "failure")
}

// byHour draws counts by hour or day. The names are of what passed, was exhausted and failed.
func (d *overviewData) byHour(p period, what string, tallies []run.Counts, passed, exhausted, failed string) *chart.Chart {
	bars := make([]chart.Bar, p.buckets)
	for i, t := range tallies {
		from := d.Since.Add(p.bucket * time.Duration(i))
		bars[i] = chart.Bar{Name: from.Format("2 Jan 15:04"), Counts: []int64{t.Passed, t.Exhausted, t.Failed}}
		if i%p.each == 0 {
			bars[i].Label = from.Format(p.label)
		}
	}
	c := chart.Bars(what+" by "+map[bool]string{true: "hour", false: "day"}[p.bucket == time.Hour],
		[]chart.Series{{Name: passed, Class: chart.Accent}, {Name: exhausted, Class: chart.Warn}, {Name: failed, Class: chart.Bad}}, bars)
	return &c
}

// within95 is the number of attempts within which 95 % of the passed runs passed.
func within95(c *run.Counts) int {
	passed := int64(0)
	for i, n := range c.PassedBy {
		if passed += n; passed*100 >= c.Passed*95 {
			return i + 1
		}
	}
	return 0
}

// rates adds how often runs passed at the first attempt, and in the end, for the workflows
// with the most runs.
func (d *overviewData) rates(h *operation.RunHistory) {
	const most = 8
	for _, w := range h.Workflows[:min(len(h.Workflows), most)] {
		d.Workflows = append(d.Workflows, workflowRate{w.Workflow, w.Ended(), w.First(), w.Passed})
	}
	var ranges []chart.Range
	for _, w := range d.Workflows {
		ranges = append(ranges, chart.Range{Name: w.Workflow, From: float64(w.First) / float64(w.Ended), To: float64(w.Passed) / float64(w.Ended), Of: w.Ended})
	}
	if len(ranges) > 0 {
		c := chart.Ranges("Pass rate by workflow", "first", "final", ranges)
		d.Rates = &c
	}
}

// latest adds the newest runs, with the scores of their attempts.
func (d *overviewData) latest(v *visit, runs []operation.RunSummary) error {
	const most, points = 6, 30
	d.Live = liveRun(runs)
	for _, r := range runs[:min(len(runs), most)] {
		one := latestRun{RunSummary: r}
		attempts, err := optional[operation.Page[operation.RunAttempt]](v, "run_attempts", &operation.RunAttempts{ID: r.RunID, Paging: operation.Paging{Limit: points}})
		if err != nil {
			return err
		}
		var scores []float64
		for i := 0; attempts != nil && i < len(attempts.Items); i++ {
			if attempts.Items[i].Judged {
				scores = append(scores, attempts.Items[i].Score)
			}
		}
		if len(scores) > 0 {
			class := map[core.Status]string{core.StatusPassed: chart.Accent, core.StatusRunning: chart.Info, core.StatusError: chart.Bad}[r.Status]
			c := chart.Sparkline("Scores", scores, cmp.Or(class, chart.Warn))
			one.Spark = &c
		}
		d.Latest = append(d.Latest, one)
	}
	return nil
}

// flow are the states through which a memory moves, in their order.
var flow = []struct {
	state core.MemoryState
	name  string
	class string
}{
	{core.StateOpen, "open", chart.Info}, {core.StateActive, "active", chart.OK}, {core.StateCooling, "cooling", chart.Warn},
	{core.StateRevalidatePending, "revalidate", chart.Warn}, {core.StatePromoted, "promoted", chart.Violet},
}

// memory adds the memories by state.
func (d *overviewData) memory(v *visit) error {
	stats, err := optional[operation.Stats](v, "stats", &operation.StatsGet{Scope: operation.StatsMemory, Namespace: d.Namespace, Subtree: d.Namespace != ""})
	if err != nil || stats == nil {
		return err
	}
	d.Memory = stats.Memory
	var states []chart.State
	for _, f := range flow {
		to := url.Values{"state": {string(f.state)}}
		if d.Namespace != "" {
			to.Set("namespace", d.Namespace)
		}
		states = append(states, chart.State{Name: f.name, Count: stats.Memory.States[f.state], Class: f.class, URL: "/memory?" + to.Encode()})
	}
	c := chart.Flow("Memories by state", states)
	d.Flow = &c
	return nil
}

// jobs adds the jobs that run.
func (d *overviewData) jobs(v *visit) error {
	const most = 5
	page, err := optional[operation.JobPage](v, "job_list", &operation.JobList{Status: job.StatusRunning, Paging: operation.Paging{Limit: most}})
	if err != nil || page == nil {
		return err
	}
	d.Jobs = &jobsView{Running: page.Items, NoWorker: page.NoWorker}
	queued, err := call[operation.JobPage](v, "job_list", &operation.JobList{Status: job.StatusQueued})
	if err != nil {
		return err
	}
	d.Jobs.Queued = atLeast(len(queued.Items), queued.NextPageToken)
	return nil
}

// atLeast is the number of items on a page of a list, with a plus if others follow.
func atLeast(n int, next string) string {
	if next != "" {
		return fmt.Sprint(n, "+")
	}
	return fmt.Sprint(n)
}

// approvals adds the reflections that wait for an approval.
func (d *overviewData) approvals(v *visit) error {
	page, err := optional[operation.Page[*memory.Pending]](v, "memory_pending", &operation.MemoryPending{})
	if err != nil || page == nil || len(page.Items) == 0 {
		return err
	}
	n := len(page.Items)
	text := plural(n, "reflection") + " waits for approval"
	if n > 1 || page.NextPageToken != "" {
		text = atLeast(n, page.NextPageToken) + " reflections wait for approval"
	}
	d.Needs = append(d.Needs, need{text, "the first in " + page.Items[0].Namespace, "/approvals", "Review"})
	return nil
}

// failures adds the newest jobs that failed in the period.
func (d *overviewData) failures(v *visit) error {
	page, err := optional[operation.JobPage](v, "job_list", &operation.JobList{Status: job.StatusFailed, Paging: operation.Paging{Limit: 3}})
	if err != nil || page == nil {
		return err
	}
	for _, j := range page.Items {
		if j.CompletedAt != nil && j.CompletedAt.Before(d.Since) {
			continue
		}
		d.Needs = append(d.Needs, need{
			fmt.Sprintf("%s of %s failed", j.Type, j.Namespace), line(cmp.Or(j.Message, j.Reason), 120), "/jobs/" + url.PathEscape(j.ID), "Open job",
		})
	}
	return nil
}

// plugins adds the plugins that can't run, and the plugins whose breakers are open or half
// open.
func (d *overviewData) plugins(v *visit) error {
	page, err := optional[operation.Page[host.PluginSummary]](v, "plugin_list", &operation.PluginList{})
	if err != nil || page == nil {
		return err
	}
	for _, p := range page.Items {
		n := need{URL: pluginURL(p.Name), Button: "Inspect"}
		switch {
		case len(d.Needs) == 10:
			return nil
		case p.Problem != nil:
			n.Text, n.Detail = line(p.Name, 60)+" can’t run", line(p.Problem.Message, 160)
		case p.Health != nil && p.Health.Breaker != plugin.BreakerClosed:
			n.Text, n.Detail = line(p.Name, 60)+": "+pluginState(&p).Text, line(p.Health.LastCause, 160)
		default:
			continue
		}
		d.Needs = append(d.Needs, n)
	}
	return nil
}

// interrupted adds the runs whose program was killed, among the newest runs.
func (d *overviewData) interrupted(runs []operation.RunSummary) {
	const most = 3
	n := 0
	for _, r := range runs {
		if r.Status == core.StatusInterrupted && n < most {
			n++
			d.Needs = append(d.Needs, need{line(r.Workflow, 60) + " was interrupted", "its program was killed; it can be resumed", "/runs/" + r.RunID, "Open run"})
		}
	}
}
