package action_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// asking is a plugin that reports what it sent to a model: its role, the iteration and the plugin.
func asking() *coretest.Plugins {
	sent := func(role sdk.Role, plugin string, iteration int) map[string]string {
		return map[string]string{sdk.MetadataPrompt: sdk.EncodePrompt([]sdk.PromptMessage{{Role: "user", Content: fmt.Sprint(role, " ", plugin, " ", iteration)}})}
	}
	return &coretest.Plugins{
		DescribeFn: func(_ context.Context, plugin string) (*sdk.Manifest, error) {
			return &sdk.Manifest{Version: "1.0.0"}, nil
		},
		GenerateFn: func(_ context.Context, to core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: json.RawMessage(`1`), Metadata: sent(sdk.RoleGenerate, to.Plugin, reqs[0].Iteration)}}}, nil
		},
		CorrectFn: func(_ context.Context, to core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
			return []sdk.CorrectResult{{Response: &sdk.CorrectResponse{Output: json.RawMessage(`2`), Metadata: sent(sdk.RoleCorrect, to.Plugin, reqs[0].Iteration)}}}, nil
		},
		EvaluateFn: func(_ context.Context, to core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
			v := sdk.Verdict{Valid: reqs[0].Iteration >= 2}
			return []sdk.EvaluateResult{{Response: &sdk.EvaluateResponse{Verdict: v, Metadata: sent(sdk.RoleEvaluate, to.Plugin, reqs[0].Iteration)}}}, nil
		},
	}
}

// recording collects the prompts that attempts are recorded with.
type recording struct{ prompts []string }

func (r *recording) take(what string, a *core.Attempt) {
	for _, p := range a.Prompts {
		r.prompts = append(r.prompts, fmt.Sprintf("%s %d: %s%s (%s)", what, a.Iteration, p.Messages[0].Text, p.Withheld, strings.Join(p.Memories, ",")))
	}
}

func (r *recording) RecordOutput(_ context.Context, a *core.Attempt) error {
	r.take("output", a)
	return nil
}

func (r *recording) RecordVerdict(_ context.Context, a *core.Attempt) error {
	r.take("verdict", a)
	return nil
}

// TestLoop_RecordsItsPromptsWithItsAttempts, each once, also after a resume.
func TestLoop_RecordsItsPromptsWithItsAttempts(t *testing.T) {
	judges := action.Step{Composite: &action.Composite{Kind: loop.CompositeAll, Children: []action.Step{{Name: "a", Plugin: "one"}, {Name: "b", Plugin: "two"}}}}
	corrector := action.Step{Plugin: "fixer"}
	spec := &action.LoopSpec{Generator: action.Step{Plugin: "maker"}, Corrector: &corrector, Evaluator: judges}
	open := []core.Attempt{{Iteration: 1, Role: sdk.RoleGenerate, Output: json.RawMessage(`1`)}}
	all := []string{
		"output 1: generate maker 1 (m)", "verdict 1: evaluate one 1 (m)", "verdict 1: evaluate two 1 (m)",
		"output 2: correct fixer 1 (m)", "verdict 2: evaluate one 2 (m)", "verdict 2: evaluate two 2 (m)",
	}
	for name, c := range map[string]struct {
		done     []core.Attempt
		withhold string
		want     []string
	}{
		"from the start":     {nil, "", all},
		"an interrupted run": {open, "", all[1:]},
		"only digests":       {nil, core.PromptDigests, []string{"output 1: digests (m)", "verdict 1: digests (m)", "verdict 1: digests (m)", "output 2: digests (m)", "verdict 2: digests (m)", "verdict 2: digests (m)"}},
	} {
		r := &recording{}
		outside := 0
		_, err := (&action.Actions{Plugins: asking()}).Act(t.Context(), &action.Request{
			RunID: "run", Visit: 1, Node: "n", Action: spec, Done: c.done, Attempts: r, Memories: []string{"m"}, Withhold: c.withhold,
			Prompt: func(core.Prompt) { outside++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(r.prompts, strings.Compare)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(r.prompts, want) || outside > 0 {
			t.Errorf("%s: %d outside, and\n%s", name, outside, strings.Join(r.prompts, "\n"))
		}
	}
}

// TestNodes_ReportTheirPrompts outside loops, without what a plugin doesn't report.
func TestNodes_ReportTheirPrompts(t *testing.T) {
	for name, spec := range map[string]action.Spec{
		"generate maker 1": &action.CallSpec{Step: action.Step{Plugin: "maker"}},
		"evaluate judge 1": &action.EvaluateSpec{Evaluator: action.Step{Plugin: "judge"}, Data: action.Constant(`1`)},
		"correct fixer 1":  &action.CorrectSpec{Corrector: action.Step{Plugin: "fixer"}, Data: action.Constant(`1`), Errors: action.Constant(`[]`)},
	} {
		for _, withhold := range []string{"", core.PromptDigests, core.PromptSession} {
			var got []core.Prompt
			_, err := (&action.Actions{Plugins: asking()}).Act(t.Context(), &action.Request{
				RunID: "run", Visit: 1, Node: "n", Action: spec, State: json.RawMessage(`{}`), Withhold: withhold, Prompt: func(p core.Prompt) { got = append(got, p) },
			})
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			m := got[0].Messages[0]
			if m.Bytes != len(name) || (m.Text == name) != (withhold == "") || (m.Digest == "") != (withhold == core.PromptSession) || got[0].Withheld != withhold {
				t.Errorf("%s, %q: %+v", name, withhold, got[0])
			}
		}
	}
}

// failing is a plugin whose calls for some roles fail after they asked a model.
func failing(cause *sdk.Error, roles ...sdk.Role) *coretest.Plugins {
	p := asking()
	fail := func(role sdk.Role, plugin string, iteration int) error {
		if !slices.Contains(roles, role) {
			return nil
		}
		return sdk.WithPrompt(cause, []sdk.PromptMessage{{Role: "user", Content: fmt.Sprint(role, " ", plugin, " ", iteration)}})
	}
	generate, correct, evaluate := p.GenerateFn, p.CorrectFn, p.EvaluateFn
	p.GenerateFn = func(ctx context.Context, to core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
		if err := fail(sdk.RoleGenerate, to.Plugin, reqs[0].Iteration); err != nil {
			return []sdk.GenerateResult{{Err: err}}, nil
		}
		return generate(ctx, to, reqs)
	}
	p.CorrectFn = func(ctx context.Context, to core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
		if err := fail(sdk.RoleCorrect, to.Plugin, reqs[0].Iteration); err != nil {
			return nil, err // the whole call failed
		}
		return correct(ctx, to, reqs)
	}
	p.EvaluateFn = func(ctx context.Context, to core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
		if err := fail(sdk.RoleEvaluate, to.Plugin, reqs[0].Iteration); err != nil {
			return []sdk.EvaluateResult{{Err: err}}, nil
		}
		return evaluate(ctx, to, reqs)
	}
	return p
}

// TestPrompts_OfNodesThatFail are reported like the prompts of replies, and aren't in the error.
func TestPrompts_OfNodesThatFail(t *testing.T) {
	for name, spec := range map[string]action.Spec{
		"generate maker 1": &action.CallSpec{Step: action.Step{Plugin: "maker"}},
		"evaluate judge 1": &action.EvaluateSpec{Evaluator: action.Step{Plugin: "judge"}, Data: action.Constant(`1`)},
		"correct fixer 1":  &action.CorrectSpec{Corrector: action.Step{Plugin: "fixer"}, Data: action.Constant(`1`), Errors: action.Constant(`[]`)},
	} {
		for _, reason := range []string{"llm_reply_cut", "llm_refused", "llm_reply_not_json", "llm_reply_invalid", "llm_unavailable"} {
			for _, withhold := range []string{"", core.PromptDigests, core.PromptSession} {
				cause := sdk.Errorf(sdk.Invalid, reason, "it failed").WithDetail(sdk.UsageDetail, sdk.Usage{TokensIn: 7})
				var got []core.Prompt
				_, err := (&action.Actions{Plugins: failing(cause, sdk.RoleGenerate, sdk.RoleEvaluate, sdk.RoleCorrect)}).Act(t.Context(), &action.Request{
					RunID: "run", Visit: 1, Node: "n", Action: spec, State: json.RawMessage(`{}`), Withhold: withhold, Memories: []string{"m"}, Prompt: func(p core.Prompt) { got = append(got, p) },
				})
				if sdk.ReasonOf(err) != reason || sdk.PromptOf(err) != "" || sdk.UsageOf(err).TokensIn != 7 {
					t.Errorf("%s, %s: %v, %v", name, reason, err, sdk.AsError(err).Details)
				}
				if len(got) != 1 {
					t.Fatalf("%s, %s: prompts %+v", name, reason, got)
				}
				m := got[0].Messages[0]
				if m.Bytes != len(name) || (m.Text == name) != (withhold == "") || (m.Digest == "") != (withhold == core.PromptSession) || got[0].Withheld != withhold || !slices.Equal(got[0].Memories, []string{"m"}) {
					t.Errorf("%s, %q: %+v", name, withhold, got[0])
				}
			}
		}
	}
}

// TestPrompts_OfLoopsThatFail are recorded with the attempt that the call made or judged, or
// with the visit if the loop ended without one.
func TestPrompts_OfLoopsThatFail(t *testing.T) {
	corrector := action.Step{Plugin: "fixer"}
	for name, c := range map[string]struct {
		cause     *sdk.Error
		role      sdk.Role
		want, out string
	}{
		"a reply that is no output": {sdk.Errorf(sdk.Invalid, "llm_reply_not_json", "no"), sdk.RoleGenerate, "verdict 1: generate maker 1", ""},
		"a dead endpoint":           {sdk.Errorf(sdk.Invalid, "llm_key_rejected", "no").WithDetail(sdk.PermanentDetail, true), sdk.RoleGenerate, "", "generate maker 1"},
		"a judge":                   {sdk.Errorf(sdk.Invalid, "llm_key_rejected", "no").WithDetail(sdk.PermanentDetail, true), sdk.RoleEvaluate, "output 1: generate maker 1", "evaluate judge 1"},
		"a corrector":               {sdk.Errorf(sdk.Invalid, "llm_key_rejected", "no").WithDetail(sdk.PermanentDetail, true), sdk.RoleCorrect, "output 2: correct fixer", ""},
	} {
		r := &recording{}
		var outside []string
		_, err := (&action.Actions{Plugins: failing(c.cause, c.role)}).Act(t.Context(), &action.Request{
			RunID: "run", Visit: 1, Node: "n", Attempts: r, Memories: []string{"m"},
			Action: &action.LoopSpec{Generator: action.Step{Plugin: "maker"}, Corrector: &corrector, Evaluator: action.Step{Plugin: "judge"}},
			Prompt: func(p core.Prompt) { outside = append(outside, p.Messages[0].Text) },
		})
		if err != nil {
			t.Fatal(err)
		}
		inside := strings.Join(r.prompts, "\n")
		if !strings.Contains(inside, c.want) || strings.Join(outside, ",") != c.out || c.out != "" && strings.Contains(inside, c.out) {
			t.Errorf("%s: outside %q, and\n%s", name, outside, inside)
		}
	}
}

// TestLoop_SaysWhichVersionsMadeItsAttempts, and that a resumed run goes on with others.
func TestLoop_SaysWhichVersionsMadeItsAttempts(t *testing.T) {
	spec := &action.LoopSpec{Generator: action.Step{Plugin: "maker"}, Evaluator: action.Step{Plugin: "judge"}, Limits: loop.Limits{MaxIterations: 2}}
	var said []core.Event
	r := &versioned{}
	_, err := (&action.Actions{Plugins: asking(), Events: func(e core.Event) {
		if c, is := e.(core.PluginChanged); is {
			said = append(said, c)
		}
	}}).Act(t.Context(), &action.Request{
		RunID: "run", Visit: 1, Node: "n", Action: spec, Attempts: r,
		Done: []core.Attempt{{Iteration: 1, Role: sdk.RoleGenerate, Output: json.RawMessage(`1`), Judged: true, Plugins: map[string]string{"maker": "1.0.0", "judge": "0.9.0", "gone": "1.0.0"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]core.Event{core.PluginChanged{Node: "n", Plugin: "judge", Was: "0.9.0", Now: "1.0.0"}}, said); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]map[string]string{{"maker": "1.0.0", "judge": "1.0.0"}, {"maker": "1.0.0", "judge": "1.0.0"}}, r.plugins); diff != "" {
		t.Error(diff)
	}
}

// versioned notes the plugins of the attempts that it records.
type versioned struct{ plugins []map[string]string }

func (v *versioned) RecordOutput(_ context.Context, a *core.Attempt) error {
	v.plugins = append(v.plugins, a.Plugins)
	return nil
}

func (v *versioned) RecordVerdict(ctx context.Context, a *core.Attempt) error {
	return v.RecordOutput(ctx, a)
}
