package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

const largeWorkflow = `
nodes:
  - name: work
    action: reflection.loop
    with: {generator: {plugin: test/large}, evaluator: {plugin: test/large}, max_iterations: %d, on_exhausted: continue}
  - name: after
    action: plugin.call
    with: {plugin: test/large, config: {seen: "{{ state.work.history | length }}", first: "{{ state.work.history[0].output }}"}}
`

// largeRun is a run of a loop with large outputs, on a store that is opened again
// for each part of the run.
type largeRun struct {
	*world
	id          string
	attempts    int
	outputBytes int
	// valueBytes is the largest value that the store takes; 0 is the engine's.
	valueBytes int
	// stopAt is the iteration at which the run is cancelled, and failAfter lets
	// the node after the loop fail.
	stopAt    int
	failAfter bool
	cancel    func()
	seen      string // the config that the node after the loop got
}

func (l *largeRun) plugins() *coretest.Plugins {
	return &coretest.Plugins{
		DescribeFn: func(context.Context, string) (*sdk.Manifest, error) { return &sdk.Manifest{Version: "1.0.0"}, nil },
		GenerateFn: func(_ context.Context, t core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			if reqs[0].Node == "after" {
				if l.failAfter {
					return nil, sdk.Errorf(sdk.Unavailable, "not_yet", "not yet")
				}
				l.seen = string(t.Config)
				return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: []byte("1")}}}, nil
			}
			if reqs[0].Iteration == l.stopAt {
				l.cancel()
			}
			return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: jsontext.MustEncode(l.output(reqs[0].Iteration))}}}, nil
		},
		EvaluateFn: func(_ context.Context, _ core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
			score := float64(reqs[0].Iteration) / float64(l.attempts)
			if reqs[0].Iteration > l.best() {
				score = 0
			}
			return []sdk.EvaluateResult{{Response: &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: score}}}}, nil
		},
	}
}

// output is the output of an iteration.
func (l *largeRun) output(iteration int) string {
	return fmt.Sprintf("%d%s", iteration, strings.Repeat(".", l.outputBytes))
}

// best is the iteration with the highest score.
func (l *largeRun) best() int { return l.attempts * 2 / 3 }

// goOn begins or resumes the run and returns how it ended.
func (l *largeRun) goOn() *core.Run {
	l.t.Helper()
	db, err := pebble.Open(l.t.Context(), pebble.Options{Dir: filepath.Join(l.dir, "data", "store"), Durability: pebble.Relaxed})
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	plan, err := workflow.Load(core.Source{File: "w.yaml", Text: fmt.Sprintf(largeWorkflow, l.attempts)}, host.LoadOptions())
	if err != nil {
		l.t.Fatal(err)
	}
	runs := run.NewRepository(cappedStore{db, l.valueBytes}, core.SystemClock{})
	run, progress := l.begin(runs)
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	l.cancel = cancel
	runner := &workflow.Runner{Actions: &action.Actions{Plugins: l.plugins()}, Recorder: runs.Recorder(run)}
	if err := runner.Run(ctx, plan, run, progress); err != nil && !l.failAfter {
		l.t.Fatal(err)
	}
	stored, err := runs.Get(l.t.Context(), run.ID)
	if err != nil || string(stored.Result) != string(run.Result) {
		l.t.Fatalf("the store has another result than the run, error %v", err)
	}
	return run
}

func (l *largeRun) begin(runs *run.Repository) (*core.Run, core.Progress) {
	l.t.Helper()
	ctx := l.t.Context()
	if l.id == "" {
		l.id = new(core.SystemIDs).NewID()
		run := &core.Run{ID: l.id, Workflow: "large", State: []byte("{}")}
		if err := runs.Create(ctx, run); err != nil {
			l.t.Fatal(err)
		}
		return run, core.Progress{}
	}
	run, err := runs.Resume(ctx, l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	progress, err := runs.Progress(ctx, l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	return run, progress
}

// checkHistory checks that a history is whole.
func (l *largeRun) checkHistory(what string, history []sdk.HistoryEntry, attempts int) {
	l.t.Helper()
	if len(history) != attempts {
		l.t.Fatalf("%s: %d attempts, want %d", what, len(history), attempts)
	}
	for i, h := range history {
		if h.Iteration != i+1 || string(h.Output) != string(jsontext.MustEncode(l.output(i+1))) {
			l.t.Fatalf("%s: attempt %d is %d, %.20s", what, i+1, h.Iteration, h.Output)
		}
	}
}

// cappedStore refuses values over a size, as an engine does over its own.
type cappedStore struct {
	core.Store
	valueBytes int
}

func (s cappedStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error { return fn(cappedTx{tx, s.valueBytes}) })
}

type cappedTx struct {
	core.Tx
	valueBytes int
}

func (t cappedTx) Put(key, value []byte) error {
	if t.valueBytes > 0 && len(value) > t.valueBytes {
		return sdk.Errorf(sdk.Exhausted, "store_value_too_large", "the value of %q has %d bytes", key, len(value))
	}
	return t.Tx.Put(key, value)
}

// TestALongLoopOfLargeOutputsIsStoredOnce stops a run in its loop and after it, and looks
// at its history in every way: it is larger than a value may be. The heavy figure, at the
// limit of the engine, runs in make stress.
func TestALongLoopOfLargeOutputsIsStoredOnce(t *testing.T) {
	coretest.Long(t)
	l := &largeRun{world: newWorld(t), attempts: 100, outputBytes: 10 << 10, valueBytes: 100 << 10}
	if os.Getenv("REFLECTORY_STRESS") != "" {
		l.attempts, l.outputBytes, l.valueBytes = 1000, 100<<10, 0
	}
	l.stopAt = l.attempts / 2
	run := l.goOn()
	var cut core.LoopResult
	if err := json.Unmarshal(run.Result, &cut); err != nil || run.Status != core.StatusCancelled {
		t.Fatalf("stopped: %s, %v", run.Status, err)
	}
	l.checkHistory("stopped", cut.History, l.stopAt)

	l.stopAt, l.failAfter = 0, true
	if run = l.goOn(); run.Status != core.StatusError || run.Error.Code != "not_yet" {
		t.Fatalf("failed: %s, %+v", run.Status, run.Error)
	}
	l.failAfter = false
	if run = l.goOn(); run.Status != core.StatusPassed {
		t.Fatalf("ended: %s, %+v", run.Status, run.Error)
	}
	if want := fmt.Sprintf(`{"seen":%d,"first":%q}`, l.attempts, l.output(1)); l.seen != want {
		t.Errorf("the node after the loop got %.60s", l.seen)
	}
	l.checkShown()
}

// checkShown checks what runs show says about the run.
func (l *largeRun) checkShown() {
	l.t.Helper()
	code, out, errs := l.run(l.t.Context(), "runs", "show", l.id, "--json")
	var shown struct {
		Result struct {
			Nodes struct{ Work core.LoopResult }
		}
		Loops []run.VisitAttempts
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != exitPassed || len(shown.Loops) != 1 {
		l.t.Fatalf("runs show: exit %d, %v: %s", code, err, errs)
	}
	work := shown.Result.Nodes.Work
	l.checkHistory("shown", work.History, l.attempts)
	if work.Iteration != l.best() || work.Best.Iteration != l.best() || work.StopReason != core.StopMaxIterations {
		l.t.Errorf("the loop ended with iteration %d by %s, want the best, %d", work.Iteration, work.StopReason, l.best())
	}
	if attempts := shown.Loops[0].Attempts; len(attempts) != l.attempts {
		l.t.Errorf("%d attempts are shown", len(attempts))
	}
	if code, out, _ := l.run(l.t.Context(), "runs", "show", l.id); code != exitPassed || strings.Count(out, ", by generate") != l.attempts {
		l.t.Errorf("runs show, for people: exit %d, %d bytes", code, len(out))
	}
}
