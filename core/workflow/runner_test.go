package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// actions answers each node by its name, and by its visit if "name/visit" is there.
type actions struct {
	results map[string]any
	log     []string
	states  []string
	used    []int64 // milliseconds
}

func (a *actions) Act(_ context.Context, req *action.Request) (any, error) {
	a.log = append(a.log, fmt.Sprintf("%d %s done=%d", req.Visit, req.Node, len(req.Done)))
	a.states = append(a.states, string(req.State))
	a.used = append(a.used, req.Used.WallMillis)
	result, ok := a.results[fmt.Sprintf("%s/%d", req.Node, req.Visit)]
	if !ok {
		result = a.results[req.Node]
	}
	if err, failed := result.(error); failed {
		return nil, err
	}
	if result == nil {
		result = &action.CallResult{Output: json.RawMessage(`"` + req.Node + `"`)}
	}
	return result, nil
}

// recorder keeps what is recorded.
type recorder struct {
	visits []core.Visit
	end    *core.Run
	open   *core.Visit
	err    error
}

func (r *recorder) Attempts(int, string) core.AttemptRecorder { return nil }
func (r *recorder) RecordVisit(_ context.Context, v *core.Visit) error {
	r.visits = append(r.visits, *v)
	return r.err
}
func (r *recorder) RecordEnd(ctx context.Context, run *core.Run, open *core.Visit) error {
	copied := *run
	r.end, r.open = &copied, open
	return ctx.Err()
}

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Unix(1000, 0).UTC() }

// plan makes a plan of nodes: "name", "name?when", "name>to:when,to".
func plan(t *testing.T, limit int, nodes ...string) *workflow.Plan {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "settings: {step_limit: %d}\nstate: {start: 1}\nnodes:\n", limit)
	for _, n := range nodes {
		n, ways, _ := strings.Cut(n, ">")
		n, when, hasWhen := strings.Cut(n, "?")
		action, with := "lua.run", "{code: x}"
		switch n[0] {
		case 'l':
			action, with = "reflection.loop", "{generator: {run: x}, evaluator: {run: x}}"
		case 'e':
			action, with = "reflection.evaluate", "{evaluator: {run: x}}"
		}
		fmt.Fprintf(&text, "- {name: %s, action: %s, with: %s", n, action, with)
		if hasWhen {
			fmt.Fprintf(&text, ", when: '%s'", when)
		}
		if ways != "" {
			text.WriteString(", goto: [")
			for i, way := range strings.Split(ways, ",") {
				to, when, has := strings.Cut(way, ":")
				if i > 0 {
					text.WriteString(", ")
				}
				if has {
					fmt.Fprintf(&text, "{to: %s, when: '%s'}", to, when)
				} else {
					fmt.Fprintf(&text, "{to: %s}", to)
				}
			}
			text.WriteString("]")
		}
		text.WriteString("}\n")
	}
	p, err := load(text.String())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func loopResult(status core.Status) *core.LoopResult {
	return &core.LoopResult{
		Status: status, Score: 0.5, StopReason: "budget", Output: json.RawMessage("1"),
		History: []sdk.HistoryEntry{{}, {}}, Usage: core.RunUsage{Usage: sdk.Usage{TokensIn: 3}, WallMillis: 7},
	}
}

func TestRunnerWalks(t *testing.T) {
	failure := sdk.Errorf(sdk.Unavailable, "gone", "gone")
	for name, test := range map[string]struct {
		nodes   []string
		results map[string]any
		trail   string // visits as they were recorded, and the open one
		status  core.Status
		err     string
	}{
		"in order":                                             {[]string{"a", "b"}, nil, "a→b b→", "passed", ""},
		"past a node whose when says no":                       {[]string{"a", "b?no", "c"}, nil, "a→b -b→c c→", "passed", ""},
		"by the first goto that fits":                          {[]string{"a>c:no,c:yes,b", "b", "c"}, nil, "a→c c→", "passed", ""},
		"on when no goto fits":                                 {[]string{"a>c:no", "b", "c"}, nil, "a→b b→c c→", "passed", ""},
		"to the end":                                           {[]string{"a>end", "b"}, nil, "a→", "passed", ""},
		"not by the goto of a skipped node":                    {[]string{"a?no>a", "b"}, nil, "-a→b b→", "passed", ""},
		"by the state of finished nodes":                       {[]string{"a", "b?has a", "c?has nope"}, nil, "a→b b→c -c→", "passed", ""},
		"back, until the state says otherwise":                 {[]string{"a>c:has b", "b>a", "c"}, nil, "a→b b→a a→c c→", "passed", ""},
		"on after an exhausted loop":                           {[]string{"l", "b"}, map[string]any{"l": loopResult("exhausted")}, "l→b b→", "passed", ""},
		"to an exhausted end":                                  {[]string{"a", "l"}, map[string]any{"l": loopResult("exhausted")}, "a→l l→", "exhausted", ""},
		"no further than a loop that raises":                   {[]string{"l", "b"}, map[string]any{"l": loopResult("raised")}, "l→", "raised", ""},
		"no further than a loop that fails":                    {[]string{"a", "l", "b"}, map[string]any{"l": loopResult("error")}, "a→l (l)", "error", ""},
		"no further than a cancelled loop":                     {[]string{"a", "l", "b"}, map[string]any{"l": loopResult("cancelled")}, "a→l (l)", "cancelled", ""},
		"no further than a failed action":                      {[]string{"a", "b"}, map[string]any{"b": failure}, "a→b", "error", "node b: gone"},
		"no further than an action that says it was cancelled": {[]string{"a", "b"}, map[string]any{"b": context.Canceled}, "a→b", "error", "node b: context canceled"},
		"no further than a failed when":                        {[]string{"a", "b?fail"}, nil, "a→b", "error", "node b: when: it fails"},
		"no further than a failed goto":                        {[]string{"a>end:fail"}, nil, "", "error", "node a: goto end: it fails"},
		"to a valid evaluation":                                {[]string{"e"}, map[string]any{"e": &action.EvaluateResult{Valid: true, Score: 1}}, "e→", "passed", ""},
		"to an evaluation that isn't valid":                    {[]string{"e"}, map[string]any{"e": &action.EvaluateResult{}}, "e→", "exhausted", ""},
		"no longer than the step limit": {[]string{"start", "a", "b", "c>a"}, nil, "start→a a→b b→c c→a a→b b→c c→a", "error",
			"didn't end within 7 steps: it goes round a → b → c → a"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			r := workflow.Runner{Actions: &actions{results: test.results}, Recorder: rec, Clock: fixedClock{}}
			run := &core.Run{ID: "r1", State: json.RawMessage(`{"start":1}`)}
			err := r.Run(context.Background(), plan(t, 7, test.nodes...), run, core.Progress{})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
			var trail []string
			for _, v := range rec.visits {
				mark := ""
				if v.Skipped {
					mark = "-"
				}
				trail = append(trail, mark+v.Node+"→"+v.Next)
			}
			if rec.open != nil {
				trail = append(trail, "("+rec.open.Node+")")
			}
			if got := strings.Join(trail, " "); got != test.trail || run.Status != test.status || rec.end == nil || rec.end.Status != test.status {
				t.Errorf("got %q, %s, want %q, %s", got, run.Status, test.trail, test.status)
			}
			if (run.Error != nil) != (test.err != "") {
				t.Errorf("run.Error is %+v", run.Error)
			}
		})
	}
}

func TestRunResultIsThatOfTheLastNode(t *testing.T) {
	a := &actions{results: map[string]any{"l": loopResult("exhausted")}}
	run := &core.Run{ID: "r1", State: json.RawMessage(`{"start":1}`)}
	var events []string
	r := workflow.Runner{Actions: a, Clock: fixedClock{}, Events: func(e core.Event) { events = append(events, fmt.Sprintf("%T", e)) }}
	if err := r.Run(context.Background(), plan(t, 9, "a", "l"), run, core.Progress{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		RunID  string                     `json:"run_id"`
		Status core.Status                `json:"status"`
		Output int                        `json:"output"`
		Nodes  map[string]json.RawMessage `json:"nodes"`
	}
	if err := json.Unmarshal(run.Result, &got); err != nil {
		t.Fatalf("%s: %v", run.Result, err)
	}
	if got.RunID != "r1" || got.Status != "exhausted" || got.Output != 1 || len(got.Nodes) != 2 || string(got.Nodes["a"]) != `{"output":"a"}` {
		t.Errorf("got %s", run.Result)
	}
	if n := strings.Count(string(run.Result), `"status"`); n != 2 { // one of the result, one of nodes.l
		t.Errorf("status is there %d times: %s", n, run.Result)
	}
	if run.Score != 0.5 || run.Iterations != 2 || run.Usage.TokensIn != 3 || run.Usage.WallMillis != 7 || run.StopReason != "budget" {
		t.Errorf("got %+v", run)
	}
	if diff := cmp.Diff([]string{`{"start":1}`, `{"a":{"output":"a"},"start":1}`}, a.states); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core.NodeStarted", "core.NodeEnded", "core.NodeStarted", "core.NodeEnded"}, events); diff != "" {
		t.Error(diff)
	}

	run = &core.Run{ID: "r2"}
	if err := r.Run(context.Background(), plan(t, 9, "a"), run, core.Progress{}); err != nil || string(run.Result) != `{"run_id":"r2","status":"passed","output":"a"}` {
		t.Errorf("got %s, %v", run.Result, err)
	}
}

func TestRunnerResumes(t *testing.T) {
	rec, a := &recorder{}, &actions{results: map[string]any{"l": loopResult("passed")}}
	r := workflow.Runner{Actions: a, Recorder: rec, Clock: fixedClock{}}
	progress := core.Progress{
		Visits:   []core.Visit{{Number: 1, Node: "a", Result: json.RawMessage(`{"output":"old","usage":{"tokens_in":4}}`), Next: "b"}, {Number: 2, Node: "b", Skipped: true, Next: "l"}},
		Attempts: make([]core.Attempt, 2),
		Used:     core.RunUsage{WallMillis: 50},
	}
	run := &core.Run{ID: "r1"}
	if err := r.Run(context.Background(), plan(t, 9, "a", "b?no", "l", "c"), run, progress); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"3 l done=2", "4 c done=0"}, a.log); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{50, 0}, a.used); diff != "" { // it is the interrupted node's alone
		t.Error(diff)
	}
	if !strings.Contains(a.states[0], `"output":"old"`) || run.Usage.TokensIn != 7 {
		t.Errorf("got %s, %+v", a.states[0], run.Usage)
	}

	progress.Visits[1].Node = "gone"
	if err := r.Run(context.Background(), plan(t, 9, "a"), run, progress); sdk.ReasonOf(err) != "progress_invalid" {
		t.Errorf("got %v", err)
	}
}

func TestWhatALoopConsumedIsKeptForItsResume(t *testing.T) {
	failure := sdk.Errorf(sdk.Invalid, "config_invalid", "no config")
	for name, c := range map[string]struct {
		loop any
		want int64
	}{
		"cancelled again":       {loopResult("cancelled"), 7},
		"failed":                {loopResult("error"), 7},
		"done":                  {loopResult("passed"), 0},
		"not come to its calls": {failure, 50},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			r := workflow.Runner{Actions: &actions{results: map[string]any{"l": c.loop}}, Recorder: rec, Clock: fixedClock{}}
			progress := core.Progress{Used: core.RunUsage{WallMillis: 50}}
			if err := r.Run(context.Background(), plan(t, 9, "l"), &core.Run{ID: "r1"}, progress); err != nil && !errors.Is(err, failure) {
				t.Fatal(err)
			}
			if got := rec.end.Open.WallMillis; got != c.want {
				t.Errorf("%d ms are kept, want %d", got, c.want)
			}
		})
	}
}

func TestRunnerEndsWhenNothingCanBeRecorded(t *testing.T) {
	rec := &recorder{err: sdk.Errorf(sdk.Unavailable, "disk_full", "full")}
	run := &core.Run{ID: "r1"}
	err := (&workflow.Runner{Actions: &actions{}, Recorder: rec}).Run(context.Background(), plan(t, 9, "a", "b"), run, core.Progress{})
	if sdk.ReasonOf(err) != "disk_full" || len(rec.visits) != 1 || run.Status != core.StatusError {
		t.Errorf("got %v, %+v", err, run)
	}
}

func TestCancelledRunIsRecorded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rec := &recorder{}
	run := &core.Run{ID: "r1"}
	if err := (&workflow.Runner{Actions: &actions{}, Recorder: rec}).Run(ctx, plan(t, 9, "a"), run, core.Progress{}); err != nil {
		t.Fatal(err)
	}
	if rec.end.Status != core.StatusCancelled || rec.end.StopReason != core.StopCancelled || run.Error != nil {
		t.Errorf("got %+v", rec.end)
	}
}
