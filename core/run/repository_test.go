package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// tick is a clock that moves a second with each look.
type tick struct{ now time.Time }

func (c *tick) Now() time.Time {
	c.now = c.now.Add(time.Second)
	return c.now
}

// bench is a repository on an empty store, with one run in it.
type bench struct {
	t     *testing.T
	ctx   context.Context
	store core.Store
	runs  *corerun.Repository
	run   *core.Run
}

func newBench(t *testing.T) *bench { return newBenchOn(t, empty(t)) }

func newBenchOn(t *testing.T, s core.Store) *bench {
	b := &bench{t: t, ctx: t.Context(), store: s}
	b.runs = corerun.NewRepository(b.store, &tick{time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)})
	b.run = b.create(runID)
	return b
}

func (b *bench) create(id string) *core.Run {
	b.t.Helper()
	run := &core.Run{
		ID: id, Workflow: "demo", State: jsontext.MustEncode(map[string]any{"n": 1}),
		Source: core.Source{File: "demo.yaml", Text: "nodes: []", Files: map[string]string{"a.json": "{}"}},
	}
	b.must(b.runs.Create(b.ctx, run))
	return run
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) wantReason(err error, reason string) {
	b.t.Helper()
	if sdk.ReasonOf(err) != reason {
		b.t.Errorf("error %v (%s), want %s", err, sdk.ReasonOf(err), reason)
	}
}

func TestRunRoundTrip(t *testing.T) {
	b := newBench(t)
	rec := b.runs.Recorder(b.run)
	loop := rec.Attempts(1, "loop")
	b.must(loop.RecordOutput(b.ctx, output(1)))
	b.must(loop.RecordVerdict(b.ctx, judged(1)))
	b.must(loop.RecordOutput(b.ctx, output(2)))

	progress, err := b.runs.Progress(b.ctx, runID)
	b.must(err)
	want := core.Progress{Attempts: []core.Attempt{*judged(1), *output(2)}}
	if diff := cmp.Diff(want, progress); diff != "" {
		t.Errorf("Progress (-want +got):\n%s", diff)
	}

	b.must(loop.RecordVerdict(b.ctx, judged(2)))
	visit := core.Visit{Number: 1, Node: "loop", Result: []byte(`{"output":1}`), Next: "end"}
	b.must(rec.RecordVisit(b.ctx, &visit))
	end := *b.run
	end.Status, end.StopReason, end.Score, end.Iterations = core.StatusExhausted, core.StopMaxIterations, 0.5, 2
	end.Usage.TokensIn, end.ExhaustedLoops = 2, []string{"loop"}
	b.must(rec.RecordEnd(b.ctx, &end, nil))

	got, err := b.runs.Get(b.ctx, runID)
	b.must(err)
	end.UpdatedAt, end.Result = got.UpdatedAt, []byte(`{"run_id":"`+runID+`","status":"exhausted","exhausted_loops":["loop"],"output":1}`)
	if diff := cmp.Diff(&end, got); diff != "" {
		t.Errorf("Get (-want +got):\n%s", diff)
	}
	loops, err := b.runs.Attempts(b.ctx, runID)
	b.must(err)
	if diff := cmp.Diff([]corerun.VisitAttempts{{Visit: 1, Node: "loop", Attempts: []core.Attempt{*judged(1), *judged(2)}}}, loops); diff != "" {
		t.Errorf("Attempts (-want +got):\n%s", diff)
	}
	visits, err := b.runs.Visits(b.ctx, runID)
	b.must(err)
	if diff := cmp.Diff([]core.Visit{visit}, visits); diff != "" {
		t.Errorf("Visits (-want +got):\n%s", diff)
	}
	b.wantJournal("run_started", "output_recorded", "verdict_recorded", "output_recorded", "verdict_recorded", "visit_recorded", "run_ended")
}

func (b *bench) wantJournal(want ...string) {
	b.t.Helper()
	var got []string
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		if _, err := (&journal.Audit{}).Verify(b.ctx, r); err != nil {
			return err
		}
		return journal.Read(r, corerun.Stream(runID), func(e journal.Entry) error {
			got = append(got, e.Type)
			return nil
		})
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestRecordsOutOfOrderAreRefused(t *testing.T) {
	cases := []struct {
		name string
		do   func(b *bench, r core.RunRecorder) error
	}{
		{"a second attempt first", func(b *bench, r core.RunRecorder) error { return r.Attempts(1, "loop").RecordOutput(b.ctx, output(2)) }},
		{"an attempt of a later visit", func(b *bench, r core.RunRecorder) error { return r.Attempts(2, "loop").RecordOutput(b.ctx, output(1)) }},
		{"an output that is judged", func(b *bench, r core.RunRecorder) error { return r.Attempts(1, "loop").RecordOutput(b.ctx, judged(1)) }},
		{"a verdict without judgement", func(b *bench, r core.RunRecorder) error { return r.Attempts(1, "loop").RecordVerdict(b.ctx, output(1)) }},
		{"an attempt before the verdict", func(b *bench, r core.RunRecorder) error {
			b.must(r.Attempts(1, "loop").RecordOutput(b.ctx, output(1)))
			return r.Attempts(1, "loop").RecordOutput(b.ctx, output(2))
		}},
		{"an output twice", func(b *bench, r core.RunRecorder) error {
			b.must(r.Attempts(1, "loop").RecordOutput(b.ctx, output(1)))
			return r.Attempts(1, "loop").RecordOutput(b.ctx, output(1))
		}},
		{"a verdict twice", func(b *bench, r core.RunRecorder) error {
			b.must(r.Attempts(1, "loop").RecordVerdict(b.ctx, judged(1)))
			return r.Attempts(1, "loop").RecordVerdict(b.ctx, judged(1))
		}},
		{"another node in the visit", func(b *bench, r core.RunRecorder) error {
			b.must(r.Attempts(1, "loop").RecordVerdict(b.ctx, judged(1)))
			return r.Attempts(1, "other").RecordOutput(b.ctx, output(2))
		}},
		{"a skipped visit number", func(b *bench, r core.RunRecorder) error {
			return r.RecordVisit(b.ctx, &core.Visit{Number: 2, Node: "n"})
		}},
		{"a visit of another node than its attempts", func(b *bench, r core.RunRecorder) error {
			b.must(r.Attempts(1, "loop").RecordVerdict(b.ctx, judged(1)))
			return r.RecordVisit(b.ctx, &core.Visit{Number: 1, Node: "other"})
		}},
		{"an end that is running", func(b *bench, r core.RunRecorder) error {
			return r.RecordEnd(b.ctx, &core.Run{ID: runID, Status: core.StatusRunning}, nil)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.wantReason(c.do(b, b.runs.Recorder(b.run)), "record_out_of_order")
		})
	}
}

func TestAttemptJudgedAtBirthIsOneRecord(t *testing.T) {
	b := newBench(t)
	loop := b.runs.Recorder(b.run).Attempts(1, "loop")
	b.must(loop.RecordVerdict(b.ctx, judged(1)))
	b.must(loop.RecordOutput(b.ctx, output(2)))
	b.wantJournal("run_started", "verdict_recorded", "output_recorded")
}

func TestResume(t *testing.T) {
	b := newBench(t)
	first := b.runs.Recorder(b.run)
	b.must(first.Attempts(1, "loop").RecordOutput(b.ctx, output(1)))
	_, err := b.runs.Resume(b.ctx, runID)
	b.wantReason(err, "run_active")

	other := corerun.NewRepository(b.store, &tick{}) // as after a crash, or another host
	run, err := other.Resume(b.ctx, runID)
	b.must(err)
	b.wantReason(first.Attempts(1, "loop").RecordVerdict(b.ctx, judged(1)), "run_taken_over")
	second := other.Recorder(run)
	b.must(second.Attempts(1, "loop").RecordVerdict(b.ctx, judged(1)))
	b.wantReason(first.Attempts(1, "loop").RecordOutput(b.ctx, output(2)), "run_taken_over")
	end := *run
	end.Status, end.Error, end.ExhaustedLoops = core.StatusError, &core.ErrorInfo{Code: "x", Message: "y"}, []string{"loop"}
	end.Open = core.RunUsage{Usage: sdk.Usage{TokensIn: 5}, WallMillis: 70}
	b.must(second.RecordEnd(b.ctx, &end, nil))
	b.wantReason(second.RecordEnd(b.ctx, &end, nil), "run_ended")

	run, err = other.Resume(b.ctx, runID)
	b.must(err)
	if run.Status != core.StatusRunning || run.Error != nil || run.ExhaustedLoops != nil {
		t.Errorf("resumed as %s with error %v", run.Status, run.Error)
	}
	wantUsed(b, other, end.Open)
	third := other.Recorder(run)
	b.must(third.Attempts(1, "loop").RecordOutput(b.ctx, output(2)))
	b.must(third.Attempts(1, "loop").RecordVerdict(b.ctx, judged(2)))
	wantUsed(b, other, end.Open)
	b.must(third.RecordVisit(b.ctx, &core.Visit{Number: 1, Node: "loop", Result: jsontext.MustEncode("ok")}))
	wantUsed(b, other, core.RunUsage{})
	end.Status, end.Error = core.StatusPassed, nil
	b.must(third.RecordEnd(b.ctx, &end, nil))
	_, err = other.Resume(b.ctx, runID)
	b.wantReason(err, "run_not_resumable")
	_, err = other.Resume(b.ctx, "nope")
	b.wantReason(err, "run_not_found")
	b.wantJournal("run_started", "output_recorded", "run_resumed", "verdict_recorded", "run_ended", "run_resumed", "output_recorded", "verdict_recorded", "visit_recorded", "run_ended")
}

// TestRun_OfEarlyStoresKeepsItsStatus: an early run passed although a loop before its last
// node was exhausted. It is shown as it was reported then, and the store is in order.
func TestRun_OfEarlyStoresKeepsItsStatus(t *testing.T) {
	b := newBench(t)
	rec := b.runs.Recorder(b.run)
	visits := []core.Visit{
		{Number: 1, Node: "reply", Result: []byte(`{"status":"exhausted","stop_reason":"max_iterations","exhausted":true}`), Next: "last"},
		{Number: 2, Node: "last", Result: []byte(`{"status":"passed","stop_reason":"valid","exhausted":false}`)},
	}
	for i := range visits {
		b.must(rec.RecordVisit(b.ctx, &visits[i]))
	}
	end := *b.run
	end.Status, end.StopReason = core.StatusPassed, core.StopValid
	b.must(rec.RecordEnd(b.ctx, &end, nil))
	got, err := b.runs.Get(b.ctx, runID)
	b.must(err)
	want := `{"run_id":"` + runID + `","status":"passed","stop_reason":"valid","exhausted":false,"nodes":{"last":` +
		string(visits[1].Result) + `,"reply":` + string(visits[0].Result) + `}}`
	if got.Status != core.StatusPassed || got.ExhaustedLoops != nil || string(got.Result) != want {
		t.Errorf("%s, %v: %s, want %s", got.Status, got.ExhaustedLoops, got.Result, want)
	}
	if found := problems(t, b.store); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestRunError_IsStoredWithWhatToTry(t *testing.T) {
	b := newBench(t)
	failure := sdk.Errorf(sdk.NotFound, "memory_not_found", "there is no memory").WithHint("list them").
		WithAction("memory list", "namespace", "a", "state", nil)
	end := *b.run
	end.Status, end.Error = core.StatusError, core.NewErrorInfo(sdk.Wrap("recall", failure))
	b.must(b.runs.Recorder(b.run).RecordEnd(b.ctx, &end, nil))
	stored, err := b.runs.Find(b.ctx, runID)
	b.must(err)
	if diff := cmp.Diff(end.Error, stored.Error); diff != "" || stored.Error.Try == nil {
		t.Error(diff)
	}
}

// wantUsed checks what a resume hears that its open loop had used.
func wantUsed(b *bench, runs *corerun.Repository, want core.RunUsage) {
	b.t.Helper()
	progress, err := runs.Progress(b.ctx, runID)
	b.must(err)
	if progress.Used != want {
		b.t.Errorf("the open loop had used %+v, want %+v", progress.Used, want)
	}
}

func TestFind(t *testing.T) {
	b := newBench(t)
	b.create("0193f2a0-0000-7000-8000-000000000002")
	b.create("0193ffff-0000-7000-8000-000000000003")
	b.create("r1")
	cases := []struct{ prefix, id, reason string }{
		{runID, runID, ""},
		{"0193ffff", "0193ffff-0000-7000-8000-000000000003", ""},
		{"r1", "r1", ""},
		{"0193f2a0", "", "run_ambiguous"},
		{"0193", "", "run_not_found"},
		{"deadbeef", "", "run_not_found"},
		{"", "", "run_not_found"},
		{"../../etc", "", "run_not_found"},
		{strings.Repeat("a", 1000), "", "run_not_found"},
	}
	for _, c := range cases {
		run, err := b.runs.Find(b.ctx, c.prefix)
		b.wantReason(err, c.reason)
		if run != nil && run.ID != c.id {
			t.Errorf("Find(%q) = %s, want %s", c.prefix, run.ID, c.id)
		}
	}
	_, err := b.runs.Find(b.ctx, "0193f2a0")
	for _, id := range []string{runID, "0193f2a0-0000-7000-8000-000000000002"} {
		if !strings.Contains(err.Error(), id) {
			t.Errorf("%q doesn't name %s", err, id)
		}
	}
}

func TestListIsNewestFirstAndFiltered(t *testing.T) {
	b := newBench(t)
	for i := range 5 {
		r := b.create(fmt.Sprintf("run-%d", i))
		if i%2 == 0 {
			r.Status = core.StatusPassed
			b.must(b.runs.Recorder(r).RecordEnd(b.ctx, r, nil))
		}
	}
	cases := []struct {
		filter corerun.ListFilter
		want   []string
	}{
		{corerun.ListFilter{}, []string{"run-4", "run-3", "run-2", "run-1", "run-0", runID}},
		{corerun.ListFilter{Limit: 2}, []string{"run-4", "run-3"}},
		{corerun.ListFilter{Status: core.StatusPassed}, []string{"run-4", "run-2", "run-0"}},
		{corerun.ListFilter{Workflow: "none"}, nil},
		{corerun.ListFilter{Status: core.StatusRunning}, []string{"run-3", "run-1", runID}},
		{corerun.ListFilter{Status: core.StatusInterrupted}, nil},
		{corerun.ListFilter{In: func(namespace string) bool { return namespace == "a" }}, nil},
		{corerun.ListFilter{In: func(namespace string) bool { return namespace == "" }, Limit: 1}, []string{"run-4"}},
	}
	for _, c := range cases {
		runs, _, err := b.runs.List(b.ctx, c.filter)
		b.must(err)
		var got []string
		for _, r := range runs {
			got = append(got, r.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("List(%+v) (-want +got):\n%s", c.filter, diff)
		}
	}
}

// TestRunList_PagesStayInPlace: what is started meanwhile comes before them, and a page
// may begin after a run that is gone.
func TestRunList_PagesStayInPlace(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		b.create(fmt.Sprintf("run-%d", i))
	}
	var got []string
	filter := corerun.ListFilter{Limit: 2}
	for page := range 4 {
		runs, next, err := b.runs.List(b.ctx, filter)
		b.must(err)
		for _, r := range runs {
			got = append(got, r.ID)
		}
		if filter.After = next; next == "" {
			break
		}
		b.create(fmt.Sprintf("later-%d", page))
	}
	if diff := cmp.Diff([]string{"run-3", "run-2", "run-1", "run-0", runID}, got); diff != "" || filter.After != "" {
		t.Errorf("next %q (-want +got):\n%s", filter.After, diff)
	}
	for _, place := range []string{"x", "1/", "/a", "99999999999999999999/a", "1/a/b"} {
		_, _, err := b.runs.List(b.ctx, corerun.ListFilter{After: place})
		b.wantReason(err, "place_invalid")
	}
}

// TestRun_IsInterruptedWhereNobodyRunsIt: not in the program that does, nor once it ended.
func TestRun_IsInterruptedWhereNobodyRunsIt(t *testing.T) {
	b := newBench(t)
	other := corerun.NewRepository(b.store, &tick{})
	see := func(runs *corerun.Repository, want core.Status) {
		t.Helper()
		got, err := runs.Get(b.ctx, runID)
		b.must(err)
		found, err := runs.Find(b.ctx, runID)
		b.must(err)
		listed, _, err := runs.List(b.ctx, corerun.ListFilter{Status: want})
		b.must(err)
		if got.Status != want || found.Status != want || len(listed) != 1 || listed[0].Status != want {
			t.Errorf("Get %s, Find %s, List %+v: want %s", got.Status, found.Status, listed, want)
		}
	}
	see(b.runs, core.StatusRunning)
	see(other, core.StatusInterrupted)
	if !core.StatusInterrupted.Resumable() {
		t.Error("an interrupted run can't be resumed")
	}
	end := *b.run
	end.Status = core.StatusInterrupted
	b.wantReason(b.runs.Recorder(b.run).RecordEnd(b.ctx, &end, nil), "record_out_of_order")
	see(b.runs, core.StatusInterrupted) // it was given up
	run, err := other.Resume(b.ctx, runID)
	b.must(err)
	run.Status = core.StatusCancelled
	b.must(other.Recorder(run).RecordEnd(b.ctx, run, nil))
	see(b.runs, core.StatusCancelled)
}

func TestRunLocate(t *testing.T) {
	b := newBench(t)
	b.must(b.runs.Create(b.ctx, &core.Run{ID: "in-a-namespace", Workflow: "w", Namespace: "a/b", State: []byte("{}")}))
	id, namespace, err := b.runs.Locate(b.ctx, "in-a-name")
	if id != "in-a-namespace" || namespace != "a/b" || err != nil {
		t.Errorf("Locate: %s in %s, %v", id, namespace, err)
	}
	_, _, err = b.runs.Locate(b.ctx, "nothing-like-it")
	b.wantReason(err, "run_not_found")
}

func TestCreateRefuses(t *testing.T) {
	b := newBench(t)
	b.wantReason(b.runs.Create(b.ctx, &core.Run{ID: runID}), "run_exists")
	b.wantReason(b.runs.Create(b.ctx, &core.Run{ID: "a/b"}), "run_id_invalid")
	b.wantReason(b.runs.Create(b.ctx, &core.Run{ID: "bad-json", State: []byte("{")}), "record_invalid")
}

func TestCorruptRecordsAreNamed(t *testing.T) {
	cases := []struct {
		name, key, value, want string
	}{
		{"run", "run/" + runID, "{", "run/" + runID},
		{"content", "run-content/" + runID, "[]", "run-content/" + runID},
		{"visit", "visit/" + runID + "/\x00\x00\x00\x01", "null", "visit/" + runID + "/1"},
		{"attempt", "attempt/" + runID + "/\x00\x00\x00\x01\x00\x00\x00\x01", "7", "attempt/" + runID + "/1/1"},
		{"gap", "attempt/" + runID + "/\x00\x00\x00\x01\x00\x00\x00\x03", `{"attempt":{"iteration":3}}`, "attempt/" + runID + "/1/3"},
		{"short key", "attempt/" + runID + "/\x00\x00\x00\x01\x00", `{}`, "attempt/" + runID + "/1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.must(b.store.Update(b.ctx, func(tx core.Tx) error { return tx.Put([]byte(c.key), []byte(c.value)) }))
			_, err := b.runs.Progress(b.ctx, runID)
			if err == nil {
				_, err = b.runs.Get(b.ctx, runID)
			}
			if err == nil {
				_, err = b.runs.Attempts(b.ctx, runID)
			}
			b.wantReason(err, "record_corrupt")
			if err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), runID)) {
				t.Errorf("%q doesn't name %s", err, c.want)
			}
		})
	}
}

// TestRun_EventsHaveTheCallersSubject: each event has the subject of its own caller, who
// may be another one for each, and a run needs none.
func TestRun_EventsHaveTheCallersSubject(t *testing.T) {
	b := newBench(t)
	ada := core.WithCaller(t.Context(), core.Caller{Subject: "ada"})
	b.run.Status = core.StatusCancelled
	b.must(b.runs.Recorder(b.run).RecordEnd(b.ctx, b.run, nil))
	run, err := b.runs.Resume(ada, runID)
	b.must(err)
	run.Status = core.StatusPassed
	b.must(b.runs.Recorder(run).RecordEnd(core.WithCaller(ada, core.Operator("")), run, nil))
	var subjects []string
	b.must(b.store.View(t.Context(), func(r core.Reader) error {
		return journal.Read(r, corerun.Stream(runID), func(e journal.Entry) error {
			subjects = append(subjects, e.Type+" "+e.Subject)
			return nil
		})
	}))
	want := []string{"run_started ", "run_ended ", "run_resumed ada", "run_ended operator"}
	if diff := cmp.Diff(want, subjects); diff != "" {
		t.Error(diff)
	}
}
