package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// bench are metrics of a host in memory.
type bench struct {
	*Metrics
	*operationtest.World
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{New(), operationtest.New(t)}
}

// scrape is what a scrape answers.
func (b *bench) scrape() string {
	b.T.Helper()
	w := httptest.NewRecorder()
	b.Handler(b.Host, map[string]func() time.Time{"server": func() time.Time { return coretest.Epoch().Add(time.Hour) }}, func() int { return 3 }).ServeHTTP(w, httptest.NewRequestWithContext(b.T.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		b.T.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// want reports each line that a scrape lacks.
func (b *bench) want(lines ...string) {
	b.T.Helper()
	text := b.scrape()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			var there []string
			for got := range strings.Lines(text) {
				if strings.HasPrefix(got, name) {
					there = append(there, got)
				}
			}
			b.T.Errorf("there is no line %s but\n%s", line, strings.Join(there, ""))
		}
	}
}

// do does work that has an outcome.
func (b *bench) do(w work.Work, out work.Outcome) {
	_, end := b.work(b.Ctx, w)
	end(out)
}

// call is a call of a plugin.
func call(name string, role sdk.Role) work.Work {
	return work.Work{Kind: work.Call, Name: name, Role: role}
}

// judged is an iteration that made an attempt.
func judged(iteration int, score, best float64, accepted bool) work.Outcome {
	return work.Outcome{Attempt: &core.Attempt{Iteration: iteration, Judged: true, Score: score, Accepted: accepted}, BestScore: best}
}

// TestMetrics_CountRuns with the scores of their first and their best attempt.
func TestMetrics_CountRuns(t *testing.T) {
	b := newBench(t)
	observer := b.Observe().Work
	ctx, end := observer.Begin(b.Ctx, work.Work{Kind: work.Run, Name: "w"})
	for _, out := range []work.Outcome{judged(1, 0.25, 0.25, false), judged(2, 0.75, 0.75, true), {Err: errors.New("away")}} {
		_, end := observer.Begin(ctx, work.Work{Kind: work.Iteration})
		end(out)
	}
	end(work.Outcome{Run: &core.Run{Status: core.StatusError}})
	b.do(work.Work{Kind: work.Run}, work.Outcome{Run: &core.Run{Status: core.StatusPassed}}) // without a loop
	b.want(
		`reflectory_runs_total{status="error"} 1`, `reflectory_runs_total{status="passed"} 1`, `reflectory_runs_total{status="raised"} 0`,
		`reflectory_run_seconds_count 2`,
		`reflectory_iterations_total{outcome="accepted"} 1`, `reflectory_iterations_total{outcome="rejected"} 1`, `reflectory_iterations_total{outcome="none"} 1`,
		`reflectory_run_score_sum{which="first"} 0.25`, `reflectory_run_score_count{which="first"} 1`,
		`reflectory_run_score_sum{which="best"} 0.75`, `reflectory_run_score_bucket{which="best",le="0.7"} 0`, `reflectory_run_score_bucket{which="best",le="0.8"} 1`,
	)
}

// TestMetrics_CountCalls by their requests, with how long they took. What isn't installed has
// no series.
func TestMetrics_CountCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{New(), &operationtest.World{T: t, Ctx: t.Context()}}
		_, end := b.work(b.Ctx, call("p", sdk.RoleEvaluate))
		time.Sleep(2 * time.Second) // of the bubble's clock
		end(work.Outcome{Results: []work.CallResult{{}, {Err: sdk.Errorf(sdk.Invalid, "odd", "odd")}}})
		b.do(call("p", sdk.RoleGenerate), work.Outcome{Err: sdk.Errorf(sdk.Timeout, "late", "late")})
		b.do(call("any/name", sdk.RoleGenerate), work.Outcome{Err: sdk.Errorf(sdk.NotFound, "plugin_not_found", "none")})
		b.instance("p", plugin.InstanceKilled)
		families, err := b.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			for _, m := range f.GetMetric() {
				labels := ""
				for _, l := range m.GetLabel() {
					labels += " " + l.GetValue()
				}
				switch {
				case !strings.HasPrefix(f.GetName(), "reflectory_plugin"):
				case m.GetHistogram() != nil:
					got = append(got, fmt.Sprintf("%s%s: %d in %gs", f.GetName(), labels, m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()))
				default:
					got = append(got, fmt.Sprintf("%s%s: %g", f.GetName(), labels, m.GetCounter().GetValue()))
				}
			}
		}
		want := []string{
			"reflectory_plugin_call_seconds p: 2 in 2s",
			"reflectory_plugin_calls_total invalid p evaluate: 1", "reflectory_plugin_calls_total ok p evaluate: 1", "reflectory_plugin_calls_total timeout p generate: 1",
			"reflectory_plugin_instance_events_total killed p: 1",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want\n%q", got, want)
		}
	})
}

// TestMetrics_ShowTheQueue: what waits, what runs, and for how long the oldest has waited.
func TestMetrics_ShowTheQueue(t *testing.T) {
	b := newBench(t)
	b.want(`reflectory_jobs_queued{type="reflection"} 0`, `reflectory_job_oldest_wait_seconds{type="reflection"} 0`)
	for _, user := range []string{"amy", "bob"} {
		_, err := b.Host.Jobs.Enqueue(b.Ctx, &job.Request{UserID: user, Namespace: "team/" + user, Type: job.Reflection, Payload: json.RawMessage(`{}`)})
		b.Must(err)
		b.Config.Clock.(*coretest.Clock).Advance(time.Minute)
	}
	b.want(`reflectory_jobs_queued{type="reflection"} 2`, `reflectory_jobs_running{type="reflection"} 0`, `reflectory_job_oldest_wait_seconds{type="reflection"} 120`)
	claimed, err := b.Host.Jobs.Claim(b.Ctx, "holder", job.Types())
	b.Must(err)
	if claimed.UserID != "amy" {
		t.Fatalf("%s goes first", claimed.UserID)
	}
	b.want(`reflectory_jobs_queued{type="reflection"} 1`, `reflectory_jobs_running{type="reflection"} 1`, `reflectory_job_oldest_wait_seconds{type="reflection"} 60`)
}

// entry is the journal's entry of an event.
func entry(kind string, event any) journal.Entry {
	return journal.Entry{Type: kind, Data: jsontext.MustEncode(event)}
}

// ref is a job that was in its status for 2 s.
func ref(kind job.Type, attempt int) journal.JobRef {
	return journal.JobRef{JobID: "j", Type: string(kind), Attempt: attempt, LatencyMillis: 2000}
}

// TestMetrics_CountJobs from the journal.
func TestMetrics_CountJobs(t *testing.T) {
	b := newBench(t)
	for _, e := range []journal.Entry{
		entry("agent.job.queued", journal.JobQueued{JobRef: ref(job.Reflection, 0)}),
		entry("agent.job.started", journal.JobStarted{JobRef: ref(job.Reflection, 1)}),
		entry("agent.job.retried", journal.JobRetried{JobRef: ref(job.Reflection, 1)}),
		entry("agent.job.completed", journal.JobCompleted{JobRef: ref(job.Reflection, 2)}),
		entry("agent.job.failed", journal.JobFailed{JobRef: ref("unheard-of", 1)}),
		entry("agent.job.cancelled", journal.JobCancelled{JobRef: ref(job.Dream, 0)}),
		entry("agent.memory.observed", journal.MemoryObserved{}),
	} {
		b.Entry("jobs", e)
	}
	b.want(
		`reflectory_jobs_total{status="queued",type="reflection"} 1`, `reflectory_jobs_total{status="running",type="reflection"} 1`,
		`reflectory_jobs_total{status="retried",type="reflection"} 1`, `reflectory_jobs_total{status="completed",type="reflection"} 1`,
		`reflectory_jobs_total{status="failed",type="other"} 1`, `reflectory_jobs_total{status="cancelled",type="dream"} 1`,
		`reflectory_job_wait_seconds_sum{type="reflection"} 2`, `reflectory_job_seconds_count{type="reflection"} 1`,
	)
	if strings.Contains(b.scrape(), `reflectory_job_seconds_count{type="dream"}`) {
		t.Error("a job that never began took time")
	}
}

// TestMetrics_ShowTheHost as it is at the scrape.
func TestMetrics_ShowTheHost(t *testing.T) {
	b := newBench(t)
	b.Memory()
	b.Memory()
	b.decided(policypoint.Gate, policypoint.VerdictPromote)
	b.decided(policypoint.Gate, "a word of a later version")
	b.do(work.Work{Kind: work.Search}, work.Outcome{})
	b.do(work.Work{Kind: work.Delete}, work.Outcome{Err: sdk.Errorf(sdk.Conflict, "state_conflict", "no")})
	b.Request(Request{Route: "/v1/memories/{id}", Method: "GET", Status: 404, Duration: time.Second})
	b.Request(Request{Method: "BREW", Status: 0})
	b.want(
		`reflectory_memories{state="open"} 2`, `reflectory_memories{state="active"} 0`, `reflectory_sse_subscribers 3`, `reflectory_store_commits_total 0`,
		`reflectory_decisions_total{outcome="promote",point="gate"} 1`, `reflectory_decisions_total{outcome="other",point="gate"} 1`,
		`reflectory_decisions_total{outcome="failed",point="loop"} 0`,
		`reflectory_memory_operations_total{code="ok",operation="search"} 1`, `reflectory_memory_operations_total{code="conflict",operation="delete"} 1`,
		`reflectory_http_requests_total{class="4xx",method="GET",route="/v1/memories/{id}"} 1`,
		`reflectory_http_requests_total{class="none",method="other",route="none"} 1`,
		`reflectory_http_request_seconds_sum{method="GET"} 1`,
	)
}

// TestMetrics_MemoriesAreCountedNowAndThen, since a count reads as much as there is, and what
// can't be counted isn't shown.
func TestMetrics_MemoriesAreCountedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts, takes, failure := 0, time.Duration(0), error(nil)
		g := &memoryGauge{count: func(context.Context) (map[core.MemoryState]int64, error) {
			counts++
			time.Sleep(takes)
			return map[core.MemoryState]int64{}, failure
		}}
		for _, step := range []struct {
			wait, takes time.Duration
			failure     error
			counts      int
			shown       int
		}{
			{time.Second, 0, nil, 1, len(core.MemoryStates()) - 1},
			{14 * time.Second, 0, nil, 1, len(core.MemoryStates()) - 1},
			{2 * time.Second, 2 * time.Second, nil, 2, len(core.MemoryStates()) - 1},
			{99 * time.Second, 0, nil, 2, len(core.MemoryStates()) - 1},
			{2 * time.Second, 0, errors.New("no disk"), 3, 0},
			{time.Second, 0, nil, 3, 0},
			{15 * time.Second, 0, nil, 4, len(core.MemoryStates()) - 1},
		} {
			time.Sleep(step.wait) // of the bubble's clock
			takes, failure = step.takes, step.failure
			if shown := gathered(g); counts != step.counts || shown != step.shown {
				t.Errorf("after %s: %d counts, %d states, want %+v", step.wait, counts, shown, step)
			}
		}
	})
}

// maxSeries is how many series there may be.
const maxSeries = 2000

// TestMetrics_SeriesAreFew, whatever 10,000 namespaces, workflows and callers are called.
func TestMetrics_SeriesAreFew(t *testing.T) {
	b := newBench(t)
	for i := range 10_000 {
		name := fmt.Sprintf("team/%d", i)
		b.do(work.Work{Kind: work.Run, Name: name, Namespace: name, RunID: name}, work.Outcome{Run: &core.Run{Status: core.Status(name)}})
		b.do(work.Work{Kind: work.Iteration, Name: name}, judged(1, 1, 1, true))
		b.do(work.Work{Kind: work.Search, Name: name, Namespace: name, Query: name}, work.Outcome{Err: sdk.Errorf(sdk.Invalid, name, "%s", name)})
		b.do(call(name, sdk.RoleGenerate), work.Outcome{Err: sdk.Errorf(sdk.NotFound, "plugin_not_found", "none")})
		b.Entry(journal.NamespaceStream(name), entry("agent.job.queued", journal.JobQueued{JobRef: ref(job.Type(name), 0), Namespace: name}))
		b.decided(policypoint.Gate, name)
		b.Request(Request{Method: name, Status: i})
	}
	few := strings.Count(b.scrape(), "\nreflectory_")
	everything(b, 10)
	if many := strings.Count(b.scrape(), "\n") - strings.Count(b.scrape(), "\n#"); few > 250 || many > maxSeries {
		t.Errorf("%d series, %d with all that there may be (limit %d)", few, many, maxSeries)
	} else {
		t.Logf("%d series, %d with all that there may be", few, many)
	}
}

// everything counts something in each series that there may be with so many plugins.
func everything(b *bench, plugins int) {
	for _, o := range operation.Table() {
		for _, status := range []int{200, 400, 500} {
			b.Request(Request{Route: o.Path, Method: o.Method, Status: status})
		}
	}
	b.Request(Request{Route: "/openai/v1/", Method: "POST", Status: 200, Model: true})
	for i := range plugins {
		name := fmt.Sprintf("reflectory/plugin-%d", i)
		for _, role := range []sdk.Role{sdk.RoleGenerate, sdk.RoleEvaluate, sdk.RoleCorrect} {
			for _, err := range []error{nil, sdk.Errorf(sdk.Invalid, "", ""), sdk.Errorf(sdk.Timeout, "", ""), sdk.Errorf(sdk.Unavailable, "", "")} {
				b.do(call(name, role), work.Outcome{Err: err})
				b.do(call(name, role), work.Outcome{Results: make([]work.CallResult, 1)})
			}
		}
		for _, e := range plugin.InstanceEvents() {
			b.instance(name, e)
		}
	}
	for _, word := range outcomes {
		for _, point := range policypoint.Points() {
			b.decided(point, word)
		}
	}
	for _, kind := range []work.Kind{work.Search, work.Update, work.Delete} {
		for _, code := range sdk.Codes() {
			b.do(work.Work{Kind: kind}, work.Outcome{Err: sdk.Errorf(code, "", "")})
		}
	}
	for _, kind := range job.Types() {
		b.Entry("", entry("agent.job.queued", journal.JobQueued{JobRef: ref(kind, 0)}))
		b.Entry("", entry("agent.job.started", journal.JobStarted{JobRef: ref(kind, 1)}))
		b.Entry("", entry("agent.job.retried", journal.JobRetried{JobRef: ref(kind, 1)}))
		b.Entry("", entry("agent.job.completed", journal.JobCompleted{JobRef: ref(kind, 1)}))
		b.Entry("", entry("agent.job.failed", journal.JobFailed{JobRef: ref(kind, 1)}))
		b.Entry("", entry("agent.job.cancelled", journal.JobCancelled{JobRef: ref(kind, 1)}))
	}
}

// named finds the metrics that a query names.
var named = regexp.MustCompile(`\b(?:reflectory|process|go)_[a-z_]+`)

// TestMetrics_DashboardAndAlertsNameWhatThereIs. With REFLECTORY_METRICS it writes what a
// scrape answers to that file, for promtool.
func TestMetrics_DashboardAndAlertsNameWhatThereIs(t *testing.T) {
	b := newBench(t)
	b.Token()
	b.File("data/"+host.BackupMark, "")
	everything(b, 1)
	text := b.scrape()
	there := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if found := named.FindString(line); found != "" && !strings.HasPrefix(line, "#") {
			there[found] = true
		}
	}
	// No plugin is installed here, and the store is no database.
	for _, g := range []prometheus.Collector{
		&pluginGauges{func() []plugin.Status { return []plugin.Status{{Plugin: "p"}} }},
		&databaseGauges{func(context.Context) (*host.DatabaseStats, error) { return &host.DatabaseStats{}, nil }},
	} {
		for _, name := range names(g) {
			there[name] = true
		}
	}
	var queries []string
	for _, file := range []string{"grafana.json", "alerts.yml"} {
		text, err := os.ReadFile("../../../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "grafana.json" && !json.Valid(text) {
			t.Error("the dashboard is no JSON")
		}
		found := &document.Problems{File: file}
		document.Read(string(text), document.Limits{Bytes: 1 << 20, Depth: 20}, found)
		if err := found.Err("alerts_invalid"); err != nil && file == "alerts.yml" {
			t.Error(err)
		}
		names := named.FindAllString(string(text), -1)
		for _, name := range names {
			if file == "alerts.yml" && !slices.Contains(queries, name) {
				t.Errorf("an alert looks at %s, and the dashboard doesn't show it", name)
			}
		}
		queries = append(queries, names...)
	}
	for _, name := range queries {
		if !there[name] {
			t.Errorf("%s is named, and there is no such metric", name)
		}
	}
	alerts, err := os.ReadFile("../../../../deploy/alerts.yml")
	b.Must(err)
	manual, err := os.ReadFile("../../../../docs/operations.md")
	b.Must(err)
	for _, found := range regexp.MustCompile(`(?m)- alert: (\w+)$`).FindAllStringSubmatch(string(alerts), -1) {
		if !strings.Contains(string(manual), "`"+found[1]+"`") {
			t.Errorf("docs/operations.md doesn't say what to do when %s fires", found[1])
		}
	}
	if len(queries) < 30 {
		t.Errorf("only %d metrics are named", len(queries))
	}
	if file := os.Getenv("REFLECTORY_METRICS"); file != "" {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMetrics_ShowWhatNeedsAnOperator: when tokens and certificates expire, when the last backup was
// taken, and how much space there is. What doesn't exist, or can't be read, isn't shown.
func TestMetrics_ShowWhatNeedsAnOperator(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	ends := func(at time.Time) func() time.Time { return func() time.Time { return at } }
	none, failed := map[string]float64{}, errors.New("failed")
	for _, c := range []struct {
		name         string
		certificates map[string]func() time.Time
		token        time.Time
		tokenErr     error
		backup       time.Time
		known        bool
		diskErr      error
		want         map[string]float64
	}{
		{name: "nothing is known", diskErr: failed, want: none},
		{name: "a certificate", certificates: map[string]func() time.Time{"server": ends(at)}, diskErr: failed, want: map[string]float64{"reflectory_certificate_expiry_timestamp_seconds server": 1_800_000_000}},
		{
			name: "certificates of both kinds", certificates: map[string]func() time.Time{"server": ends(at), "peers": ends(at.Add(time.Minute))}, diskErr: failed,
			want: map[string]float64{"reflectory_certificate_expiry_timestamp_seconds server": 1_800_000_000, "reflectory_certificate_expiry_timestamp_seconds peers": 1_800_000_060},
		},
		{name: "a certificate that isn't there yet", certificates: map[string]func() time.Time{"server": ends(time.Time{})}, diskErr: failed, want: none},
		{name: "a token", token: at, diskErr: failed, want: map[string]float64{"reflectory_token_expiry_timestamp_seconds": 1_800_000_000}},
		{name: "tokens that can't be read", token: at, tokenErr: failed, diskErr: failed, want: none},
		{name: "a backup", backup: at, known: true, diskErr: failed, want: map[string]float64{"reflectory_last_backup_timestamp_seconds": 1_800_000_000}},
		{name: "no backup", known: true, diskErr: failed, want: map[string]float64{"reflectory_last_backup_timestamp_seconds": 0}},
		{name: "a backup of which nothing is known", backup: at, diskErr: failed, want: none},
		{name: "a disk", want: map[string]float64{"reflectory_data_available_bytes": 10, "reflectory_data_size_bytes": 40}},
	} {
		g := &upkeepGauges{
			c.certificates, func(context.Context) (time.Time, error) { return c.token, c.tokenErr },
			func() (time.Time, bool) { return c.backup, c.known }, func() (uint64, uint64, error) { return 10, 40, c.diskErr },
		}
		if got := values(g); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMetrics_ShowTheNextTokenThatExpires, and the space of the data folder's disk.
func TestMetrics_ShowTheNextTokenThatExpires(t *testing.T) {
	b := newBench(t)
	if text := b.scrape(); strings.Contains(text, "\nreflectory_token_expiry") || strings.Contains(text, "\nreflectory_last_backup") {
		t.Error("there is a gauge of no token, or of the backups of no store in a folder")
	}
	b.Token()
	b.File("data/"+host.BackupMark, "")
	b.Must(os.Chtimes(b.File("data/"+host.BackupMark, ""), time.Time{}, time.Unix(1_700_000_000, 0)))
	b.want(`reflectory_last_backup_timestamp_seconds 1.7e+09`, `reflectory_certificate_expiry_timestamp_seconds{use="server"} `+
		strconv.FormatFloat(float64(coretest.Epoch().Add(time.Hour).Unix()), 'g', -1, 64), `reflectory_token_expiry_timestamp_seconds `+
		strconv.FormatFloat(float64(coretest.Epoch().Add(access.DefaultLifetime).Unix()), 'g', -1, 64))
	if !regexp.MustCompile(`\nreflectory_data_size_bytes [1-9]`).MatchString(b.scrape()) {
		t.Error("the data folder's disk has no size")
	}
}

// TestMetrics_OfADatabase are missing if there is none, and all but the dead rows are there
// where it can't be asked.
func TestMetrics_OfADatabase(t *testing.T) {
	for _, c := range []struct {
		stats *host.DatabaseStats
		err   error
		want  int
	}{{nil, nil, 0}, {&host.DatabaseStats{}, nil, 4}, {&host.DatabaseStats{}, errors.New("away"), 3}} {
		g := &databaseGauges{func(context.Context) (*host.DatabaseStats, error) { return c.stats, c.err }}
		if n := gathered(g); n != c.want {
			t.Errorf("%v, %v: %d metrics, want %d", c.stats, c.err, n, c.want)
		}
		names(g) // which are valid
	}
}
