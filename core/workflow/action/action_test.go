package action_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// plugins serves "echo", whose generator and corrector return the config's
// output and whose evaluator compares with it.
func plugins(calls *[]string) *coretest.Plugins {
	output := func(t core.Target) json.RawMessage {
		var config struct{ Output json.RawMessage }
		_ = json.Unmarshal(t.Config, &config)
		return config.Output
	}
	usage := func(t core.Target) sdk.Usage {
		var config struct{ Tokens int64 }
		_ = json.Unmarshal(t.Config, &config)
		return sdk.Usage{TokensIn: config.Tokens}
	}
	saw := func(c sdk.Call, t core.Target, state json.RawMessage) {
		*calls = append(*calls, strings.Join([]string{c.IdempotencyKey, t.Plugin, string(t.Config), string(state)}, " "))
	}
	return &coretest.Plugins{
		GenerateFn: func(_ context.Context, t core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			saw(reqs[0].Call, t, reqs[0].State)
			return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: output(t), Usage: usage(t)}}}, nil
		},
		CorrectFn: func(_ context.Context, t core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
			saw(reqs[0].Call, t, reqs[0].State)
			return []sdk.CorrectResult{{Response: &sdk.CorrectResponse{Output: output(t), Usage: usage(t)}}}, nil
		},
		EvaluateFn: func(_ context.Context, t core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
			saw(reqs[0].Call, t, reqs[0].State)
			v := sdk.Verdict{Valid: string(output(t)) == string(reqs[0].Output), Score: 0.5}
			return []sdk.EvaluateResult{{Response: &sdk.EvaluateResponse{Verdict: v, Usage: usage(t)}}}, nil
		},
	}
}

func echo(output string) action.Step {
	return action.Step{Plugin: "echo", Config: action.Constant(`{"output":` + output + `}`)}
}

func act(t *testing.T, req *action.Request) (any, []string, error) {
	t.Helper()
	var calls []string
	a := &action.Actions{Plugins: plugins(&calls)}
	req.RunID, req.Node = "run", "node"
	result, err := a.Act(t.Context(), req)
	return result, calls, err
}

func TestALoopActionRunsOnPlugins(t *testing.T) {
	corrector := echo(`2`)
	result, calls, err := act(t, &action.Request{Visit: 2, Action: &action.LoopSpec{
		Generator: echo(`1`), Evaluator: echo(`2`), Corrector: &corrector,
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := result.(*core.LoopResult)
	if r.Status != core.StatusPassed || r.Iteration != 2 || string(r.Output) != "2" {
		t.Errorf("got %+v", r)
	}
	var keys []string
	for _, c := range calls {
		key, _, _ := strings.Cut(c, " ")
		keys = append(keys, key)
	}
	want := []string{"run.2/1/generate", "run.2/1/evaluate", "run.2/1/correct", "run.2/2/evaluate"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Whether somebody watches is asked as each call begins, and each piece says where it is in its text.
func TestPiecesAreAskedForWhereSomebodySeesThem(t *testing.T) {
	for _, seen := range []bool{false, true} {
		var calls []string
		p := plugins(&calls)
		generate := p.GenerateFn
		p.GenerateFn = func(ctx context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			if emit := reqs[0].Emit; emit != nil {
				emit("añy ")
				emit("piece")
			}
			return generate(ctx, target, reqs)
		}
		var pieces []core.OutputChunk
		comes := false // who watches
		a := &action.Actions{Plugins: p, Pieces: func() bool { return comes }, Events: func(e core.Event) {
			switch e := e.(type) {
			case core.OutputChunk:
				pieces = append(pieces, e)
			case core.AttemptJudged:
				comes = seen
			}
		}}
		for _, spec := range []action.Spec{
			&action.LoopSpec{Generator: echo(`1`), Evaluator: echo(`2`), Limits: loop.Limits{MaxIterations: 2}}, &action.CallSpec{Step: echo(`1`)},
		} {
			if _, err := a.Act(t.Context(), &action.Request{RunID: "run", Visit: 3, Node: "n", Action: spec}); err != nil {
				t.Fatal(err)
			}
		}
		var want []core.OutputChunk
		if seen {
			for _, iteration := range []int{2, 1} {
				first := core.OutputChunk{Visit: 3, Node: "n", Iteration: iteration, Text: "añy "}
				second := first
				second.Offset, second.Text = 4, "piece"
				want = append(want, first, second)
			}
		}
		if diff := cmp.Diff(want, pieces); diff != "" {
			t.Errorf("seen %v (-want +got):\n%s", seen, diff)
		}
	}
}

func TestEvaluateWorksOnItsDataThenReflectionOutputThenOutput(t *testing.T) {
	cases := []struct {
		name, state string
		data        action.Value
		want        string
	}{
		{"data", `{"reflection_output":1,"output":2}`, action.Constant(`3`), "3"},
		{"reflection_output", `{"reflection_output":1,"output":2}`, nil, "1"},
		{"output", `{"output":2}`, nil, "2"},
		{"null is data too", `{"output":null}`, nil, "null"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result, calls, err := act(t, &action.Request{
				Visit: 1, State: json.RawMessage(c.state), Action: &action.EvaluateSpec{Evaluator: echo(c.want), Data: c.data},
			})
			if err != nil || !result.(*action.EvaluateResult).Valid {
				t.Errorf("got %+v, %v", result, err)
			}
			if !strings.Contains(calls[0], `"reflection_output":`+c.want) {
				t.Errorf("the plugin saw %s", calls[0])
			}
		})
	}
	_, _, err := act(t, &action.Request{Visit: 1, State: json.RawMessage(`{}`), Action: &action.EvaluateSpec{Evaluator: echo(`1`)}})
	if sdk.ReasonOf(err) != "data_missing" || sdk.AsError(err).Hint == "" {
		t.Errorf("without any data: %v", err)
	}
}

func TestEvaluateShowsTheHistoryOfARecordedState(t *testing.T) {
	_, calls, err := act(t, &action.Request{
		Visit: 1, Action: &action.EvaluateSpec{Evaluator: echo(`3`), Data: action.Constant(`3`)},
		State: json.RawMessage(`{"a":1,"reflection_output":1,"reflection_iteration":4,"reflection_history":[{"iteration":3}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"a":1`, `"reflection_output":3`, `"reflection_iteration":4`, `"reflection_history":[{"iteration":3}]`, `"reflection_errors":[]`} {
		if !strings.Contains(calls[0], want) {
			t.Errorf("no %s in what the plugin saw: %s", want, calls[0])
		}
	}
}

func TestCorrectSaysWhetherItChangedTheData(t *testing.T) {
	for output, changed := range map[string]bool{`{"a":1,"b":2}`: false, `{"b":2, "a":1}`: false, `{"a":1}`: true} {
		result, _, err := act(t, &action.Request{Visit: 1, Action: &action.CorrectSpec{
			Corrector: echo(output), Data: action.Constant(`{"a":1,"b":2}`), Errors: action.Constant(`["a text",{"message":"m","path":"/a"}]`),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if r := result.(*action.CorrectResult); r.Changed != changed || string(r.Output) != output {
			t.Errorf("%s: got %+v", output, r)
		}
	}
}

func TestCorrect_RefusesErrorsThatAreNoFindings(t *testing.T) {
	correct := func(errors string) error {
		_, _, err := act(t, &action.Request{Visit: 1, Action: &action.CorrectSpec{
			Corrector: echo(`1`), Data: action.Constant(`1`), Errors: action.Constant(errors),
		}})
		return err
	}
	for _, bad := range []string{`{"message":"m"}`, `[1]`, `[{}]`, `"text"`, `[{"message":3}]`} {
		if err := correct(bad); sdk.ReasonOf(err) != "errors_invalid" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := correct("null"); err != nil {
		t.Errorf("null: %v", err)
	}
}

func TestAResultHoldsTheUsageThatWasReported(t *testing.T) {
	paid, free := action.Step{Plugin: "echo", Config: action.Constant(`{"output":1,"tokens":7}`)}, echo(`1`)
	one := action.Constant(`1`)
	none, some := "", `"usage":{"tokens_in":7,"tokens_out":0,"cost_usd":0}`
	cases := []struct {
		name   string
		action action.Spec
		want   string
	}{
		{"evaluate", &action.EvaluateSpec{Evaluator: paid, Data: one}, some},
		{"evaluate for nothing", &action.EvaluateSpec{Evaluator: free, Data: one}, none},
		{"correct", &action.CorrectSpec{Corrector: paid, Data: one}, some},
		{"correct for nothing", &action.CorrectSpec{Corrector: free, Data: one}, none},
		{"a call", &action.CallSpec{Step: paid}, some},
		{"a call for nothing", &action.CallSpec{Step: free}, none},
		{"a call that promises usage", &action.CallSpec{Step: free, WithUsage: true}, `"usage":{"tokens_in":0,"tokens_out":0,"cost_usd":0}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result, _, err := act(t, &action.Request{Visit: 1, Action: c.action})
			if err != nil {
				t.Fatal(err)
			}
			got := string(jsontext.MustEncode(result))
			if strings.Contains(got, `"usage"`) != (c.want != none) || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// upper is a value that depends on its scope.
type upper struct{}

func (upper) Constant() bool { return false }
func (upper) Render(s action.Variables) (json.RawMessage, error) {
	return json.RawMessage(`{"output":` + string(s.Output) + `}`), nil
}

func TestAConfigWithTemplatesIsRenderedForEachCall(t *testing.T) {
	result, _, err := act(t, &action.Request{Visit: 1, Action: &action.EvaluateSpec{
		Evaluator: action.Step{Plugin: "echo", Config: upper{}}, Data: action.Constant(`17`),
	}})
	if err != nil || !result.(*action.EvaluateResult).Valid {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestEveryCallHasItsStepsTimeoutAndItsOwnKey(t *testing.T) {
	timeouts := map[string]time.Duration{}
	p := plugins(new([]string))
	evaluate, generate, correct := p.EvaluateFn, p.GenerateFn, p.CorrectFn
	var mu sync.Mutex
	p.EvaluateFn = func(ctx context.Context, t core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
		mu.Lock()
		defer mu.Unlock()
		timeouts[reqs[0].IdempotencyKey] = t.Timeout
		return evaluate(ctx, t, reqs)
	}
	p.GenerateFn = func(ctx context.Context, t core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
		timeouts[reqs[0].IdempotencyKey] = t.Timeout
		return generate(ctx, t, reqs)
	}
	p.CorrectFn = func(ctx context.Context, t core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
		timeouts[reqs[0].IdempotencyKey] = t.Timeout
		return correct(ctx, t, reqs)
	}
	step := func(seconds int) action.Step {
		return action.Step{Plugin: "echo", Timeout: time.Duration(seconds) * time.Second, Config: action.Constant(`{"output":1}`)}
	}
	child := func(name string, seconds int) action.Step { s := step(seconds); s.Name = name; return s }
	corrector := step(2)
	spec := &action.LoopSpec{
		Generator: step(1), Corrector: &corrector, Limits: loop.Limits{MaxIterations: 2, Accept: never{}},
		Evaluator: action.Step{Composite: &action.Composite{Kind: loop.CompositeAll, Children: []action.Step{child("a", 3), child("b", 4)}}},
	}
	if _, err := (&action.Actions{Plugins: p}).Act(t.Context(), &action.Request{RunID: "run", Visit: 1, Action: spec}); err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Duration{
		"run/1/generate": time.Second, "run/1/correct": 2 * time.Second,
		"run/1/evaluate/a": 3 * time.Second, "run/1/evaluate/b": 4 * time.Second,
		"run/2/evaluate/a": 3 * time.Second, "run/2/evaluate/b": 4 * time.Second,
	}
	if diff := cmp.Diff(want, timeouts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrepareAsksEveryPluginOfAnAction(t *testing.T) {
	corrector := echo(`3`)
	spec := &action.LoopSpec{Generator: echo(`1`), Corrector: &corrector, Evaluator: action.Step{Composite: &action.Composite{
		Kind: loop.CompositeAll, Children: []action.Step{{Name: "a", Plugin: "echo"}, {Name: "b", Plugin: "other", Config: upper{}}},
	}}}
	a := &action.Actions{Plugins: &coretest.Plugins{
		PrepareFn: func(_ context.Context, kind sdk.Kind, target core.Target) error {
			return sdk.Errorf(sdk.Invalid, "config_invalid", "%s %s %s", kind, target.Plugin, target.Config)
		},
		DescribeFn: func(context.Context, string) (*sdk.Manifest, error) {
			return &sdk.Manifest{Name: "other", Kinds: []sdk.Kind{sdk.KindGenerator}}, nil
		},
	}}
	refused, broken := a.Prepare(t.Context(), spec)
	got := strings.Split(core.JoinErrors(append(refused, broken...)...).Error(), "\n")
	want := []string{
		`generator: generator echo {"output":1}`,
		`evaluator a: evaluator echo {}`,
		`evaluator b: plugin other doesn't have the kind evaluator, only [generator]`,
		`corrector: corrector echo {"output":3}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sampled has templates that give texts.
type sampled struct{ upper }

func (sampled) Sample() json.RawMessage { return json.RawMessage(`{"sample":"…"}`) }

func TestPrepareChecksASampleOfATemplatedConfig(t *testing.T) {
	a := &action.Actions{Plugins: &coretest.Plugins{
		PrepareFn: func(_ context.Context, _ sdk.Kind, target core.Target) error {
			return sdk.Errorf(sdk.Invalid, "key_missing", "no key for %s", target.Config)
		},
		DescribeFn: func(context.Context, string) (*sdk.Manifest, error) {
			return &sdk.Manifest{Name: "other", Kinds: []sdk.Kind{sdk.KindGenerator}}, nil
		},
	}}
	got, broken := a.Prepare(t.Context(), &action.CallSpec{Step: action.Step{Plugin: "other", Config: sampled{}}})
	if len(broken) > 0 || len(got) != 1 || !strings.Contains(got[0].Error(), `no key for {"sample":"…"}`) {
		t.Errorf("%v", got)
	}
}

// What is wrong with a workflow is refused before it runs; what is wrong with a plugin
// is for the run to tell.
func TestPrepareDistinguishesWrongConfigsFromBrokenPlugins(t *testing.T) {
	for code, want := range map[sdk.Code]struct{ start, config string }{
		sdk.Invalid: {"broken", "refused"}, sdk.Incompatible: {"broken", "refused"}, sdk.Internal: {"broken", "refused"},
		sdk.Exhausted: {"broken", "broken"}, sdk.Timeout: {"broken", "broken"}, sdk.Unavailable: {"broken", "broken"},
		sdk.NotFound: {"refused", "refused"}, sdk.Denied: {"refused", "refused"}, sdk.Cancelled: {"refused", "refused"},
	} {
		failure := sdk.Errorf(code, "", "no")
		start := &coretest.Plugins{DescribeFn: func(context.Context, string) (*sdk.Manifest, error) { return nil, failure }}
		config := &coretest.Plugins{
			DescribeFn: func(context.Context, string) (*sdk.Manifest, error) { return &sdk.Manifest{}, nil },
			PrepareFn:  func(context.Context, sdk.Kind, core.Target) error { return failure },
		}
		for plugins, want := range map[*coretest.Plugins]string{start: want.start, config: want.config} {
			refused, broken := (&action.Actions{Plugins: plugins}).Prepare(t.Context(), &action.CallSpec{Step: echo(`1`)})
			got := map[bool]string{true: "refused", false: "broken"}[len(refused) == 1]
			if len(refused)+len(broken) != 1 || got != want {
				t.Errorf("%s: refused %v, broken %v, want %s", code, refused, broken, want)
			}
		}
	}
}

// A template that can't be rendered is wrong in the next attempt too: the run ends
// before it costs one.
func TestAGeneratorWhoseTemplateFailsEndsTheRun(t *testing.T) {
	generator := action.Step{Plugin: "echo", Config: unrenderable{}}
	result, calls, err := act(t, &action.Request{Visit: 1, State: json.RawMessage(`{}`), Action: &action.LoopSpec{
		Generator: generator, Evaluator: echo(`1`), Limits: loop.Limits{MaxIterations: 50},
	}})
	r := result.(*core.LoopResult)
	if err != nil || r.Status != core.StatusError || r.StopReason != core.StopGeneratorError || len(r.History) != 0 || len(calls) != 0 || r.Error.Code != "template_failed" {
		t.Errorf("%+v after the calls %q: %v", result, calls, err)
	}
}

// unrenderable is the value of a template that names what isn't there.
type unrenderable struct{}

func (unrenderable) Constant() bool { return false }

func (unrenderable) Render(action.Variables) (json.RawMessage, error) {
	return nil, sdk.Errorf(sdk.Invalid, "template_failed", "nothing here is named x")
}

// never accepts no attempt.
type never struct{}

func (never) Eval(context.Context, map[string]any) (bool, error) { return false, nil }
