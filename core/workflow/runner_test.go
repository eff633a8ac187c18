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
		case 'k': // a loop that may be exhausted
			action, with = "reflection.loop", "{generator: {run: x}, evaluator: {run: x}, on_exhausted: continue}"
		case 'o':
			action, with = "memory.observe", "{content: x}"
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
		"on after an exhausted loop":                           {[]string{"l", "b"}, map[string]any{"l": loopResult("exhausted")}, "l→b b→", "exhausted", ""},
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

// loopEnded is the result of a loop, with a score by which the run shows which loop it means.
func loopEnded(status core.Status, score float64) *core.LoopResult {
	r := loopResult(status)
	r.Score, r.Best, r.Exhausted = score, core.Best{Iteration: 1, Score: score}, status == core.StatusExhausted
	if r.StopReason = core.StopMaxIterations; status == core.StatusPassed {
		r.StopReason = core.StopValid
	}
	return r
}

func TestRunner_StatusIsTheWorstOfItsLoops(t *testing.T) {
	passed, exhausted := loopEnded(core.StatusPassed, 1), loopEnded(core.StatusExhausted, 0.25)
	worse := loopEnded(core.StatusExhausted, 0.125)
	valid, invalid := &action.EvaluateResult{Valid: true, Score: 1}, &action.EvaluateResult{Score: 0.5}
	for name, c := range map[string]struct {
		nodes   []string
		results map[string]any
		want    string // status, stop reason, score
		loops   string // the exhausted loops
	}{
		"a node follows":                           {[]string{"l", "a"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"several nodes follow":                     {[]string{"l", "a", "b"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"a memory's node follows":                  {[]string{"l", "o"}, map[string]any{"l": exhausted, "o": &core.Memory{ID: "m"}}, "exhausted max_iterations 0.25", "l"},
		"a node's result has a status of its own":  {[]string{"l", "o"}, map[string]any{"l": exhausted, "o": &core.ReflectResult{Status: "pending"}}, "exhausted max_iterations 0.25", "l"},
		"nodes that are skipped follow":            {[]string{"l", "a?no", "b?no"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"a goto leads on":                          {[]string{"l>b", "a", "b"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"a goto ends it":                           {[]string{"l>end", "a"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"a loop that passes follows":               {[]string{"l1", "l2"}, map[string]any{"l1": exhausted, "l2": passed}, "exhausted max_iterations 0.25", "l1"},
		"a loop that passed is before":             {[]string{"l1", "l2", "a"}, map[string]any{"l1": passed, "l2": exhausted}, "exhausted max_iterations 0.25", "l2"},
		"two, of which the worse shows":            {[]string{"l1", "l2", "a"}, map[string]any{"l1": worse, "l2": exhausted}, "exhausted max_iterations 0.12", "l1 l2"},
		"all pass":                                 {[]string{"l1", "l2", "a"}, map[string]any{"l1": passed, "l2": passed}, "passed  1.00", ""},
		"back to it, and it passes":                {[]string{"l", "a>b:has m", "m>l", "b"}, map[string]any{"l/1": exhausted, "l": passed}, "passed  1.00", ""},
		"back to it, and it is exhausted":          {[]string{"l", "a>b:has m", "m>l", "b"}, map[string]any{"l/1": passed, "l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"back to it, but it is skipped":            {[]string{"l?lacks m", "a>b:has m", "m>l", "b"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"all loops are skipped":                    {[]string{"l?no", "a"}, map[string]any{"l": exhausted}, "passed  0.00", ""},
		"a valid evaluation follows":               {[]string{"l", "e"}, map[string]any{"l": exhausted, "e": valid}, "exhausted max_iterations 0.25", "l"},
		"an evaluation that isn't valid follows":   {[]string{"l", "e"}, map[string]any{"l": passed, "e": invalid}, "exhausted  0.50", ""},
		"it ends the run":                          {[]string{"a", "l"}, map[string]any{"l": exhausted}, "exhausted max_iterations 0.25", "l"},
		"it raises":                                {[]string{"l1", "l2", "a"}, map[string]any{"l1": exhausted, "l2": loopEnded(core.StatusRaised, 0)}, "raised max_iterations 0.00", "l1"},
		"it is cancelled":                          {[]string{"l1", "l2", "a"}, map[string]any{"l1": exhausted, "l2": loopEnded(core.StatusCancelled, 0)}, "cancelled max_iterations 0.00", "l1"},
		"an error follows":                         {[]string{"l", "a"}, map[string]any{"l": exhausted, "a": errors.New("down")}, "error  0.25", "l"},
		"it may, and a node follows":               {[]string{"k", "a"}, map[string]any{"k": exhausted}, "passed  0.25", "k"},
		"it may, and ends the run":                 {[]string{"a", "k"}, map[string]any{"k": exhausted}, "passed max_iterations 0.25", "k"},
		"one may, and another may not":             {[]string{"k", "l", "a"}, map[string]any{"k": worse, "l": exhausted}, "exhausted max_iterations 0.25", "k l"},
		"it may, and an evaluation isn't valid":    {[]string{"k", "e"}, map[string]any{"k": exhausted, "e": invalid}, "exhausted  0.50", "k"},
		"it may, and passed":                       {[]string{"k", "a"}, map[string]any{"k": passed}, "passed  1.00", ""},
		"it may, and its later visit is exhausted": {[]string{"k", "a>b:has m", "m>k", "b"}, map[string]any{"k/1": passed, "k": exhausted}, "passed  0.25", "k"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := &recorder{}
			run := &core.Run{ID: "r1", State: json.RawMessage(`{"start":1}`)}
			r := workflow.Runner{Actions: &actions{results: c.results}, Recorder: whole, Clock: fixedClock{}}
			_ = r.Run(t.Context(), plan(t, 9, c.nodes...), run, core.Progress{})
			if got := fmt.Sprintf("%s %s %.2f", run.Status, run.StopReason, run.Score); got != c.want {
				t.Errorf("the run is %q, want %q", got, c.want)
			}
			if got := strings.Join(run.ExhaustedLoops, " "); got != c.loops || strings.Join(whole.end.ExhaustedLoops, " ") != c.loops {
				t.Errorf("exhausted are %q, want %q", got, c.loops)
			}
			var result struct {
				Status         core.Status `json:"status"`
				Exhausted      *bool       `json:"exhausted"`
				ExhaustedLoops []string    `json:"exhausted_loops"`
			}
			if run.Result != nil {
				if err := json.Unmarshal(run.Result, &result); err != nil {
					t.Fatalf("%v: %s", err, run.Result)
				}
				if result.Status != run.Status || strings.Join(result.ExhaustedLoops, " ") != c.loops {
					t.Errorf("the result is %s", run.Result)
				}
				if run.Status == core.StatusExhausted && result.Exhausted != nil && !*result.Exhausted {
					t.Errorf("the result of an exhausted run says that it isn't: %s", run.Result)
				}
			}
			if run.Status.Resumable() {
				return
			}
			for n := range whole.visits { // a resume comes to the same end
				again := &core.Run{ID: "r1", State: json.RawMessage(`{"start":1}`), ExhaustedLoops: []string{"old"}}
				r := workflow.Runner{Actions: &actions{results: c.results}, Recorder: &recorder{}, Clock: fixedClock{}}
				if err := r.Run(t.Context(), plan(t, 9, c.nodes...), again, core.Progress{Visits: whole.visits[:n]}); err != nil {
					t.Fatal(err)
				}
				if again.Status != run.Status || again.StopReason != run.StopReason || string(again.Result) != string(run.Result) {
					t.Errorf("resumed after visit %d it is %s %s: %s", n, again.Status, again.StopReason, again.Result)
				}
			}
		})
	}
}

func TestRun_ResultComesFromTheLastNode(t *testing.T) {
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
