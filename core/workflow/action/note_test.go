package action_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// noted runs a loop whose steps refer to the state, and returns what was noted.
func noted(t *testing.T, passesAt int, done []core.Attempt) (notes []string) {
	t.Helper()
	plugins := &coretest.Plugins{
		GenerateFn: func(_ context.Context, _ core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: json.RawMessage(`1`), Metadata: map[string]string{sdk.MetadataUsedMemories: "m1, m2"}}}}, nil
		},
		CorrectFn: func(_ context.Context, _ core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
			return []sdk.CorrectResult{{Response: &sdk.CorrectResponse{Output: json.RawMessage(`2`)}}}, nil
		},
		EvaluateFn: func(_ context.Context, _ core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
			v := sdk.Verdict{Valid: reqs[0].Iteration >= passesAt}
			return []sdk.EvaluateResult{{Response: &sdk.EvaluateResponse{Verdict: v}}}, nil
		},
	}
	step := func(refers string) action.Step { return action.Step{Plugin: "p", Refers: []string{refers}} }
	corrector := step("corrector")
	a := &action.Actions{Plugins: plugins}
	_, err := a.Act(t.Context(), &action.Request{
		RunID: "run", Visit: 1, Node: "n", Done: done,
		Action: &action.LoopSpec{Generator: step("generator"), Corrector: &corrector, Evaluator: action.Step{Composite: &action.Composite{
			Kind: loop.CompositeAll, FailFast: true, Children: []action.Step{step("judge")},
		}}},
		Note: func(refers, used []string) { notes = append(append(notes, refers...), used...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

func TestCallsNoteWhatTheyReadAndUsed(t *testing.T) {
	made := func(role sdk.Role) core.Attempt {
		return core.Attempt{Iteration: 1, Role: role, Output: json.RawMessage(`1`), Judged: true}
	}
	for name, c := range map[string]struct {
		passesAt int
		done     []core.Attempt
		want     []string
	}{
		"a corrector that isn't called reads nothing": {1, nil, []string{"generator", "m1", "m2", "judge"}},
		"one that is, does":                           {2, nil, []string{"generator", "m1", "m2", "judge", "corrector", "judge"}},
		"what an interrupted run called counts":       {2, []core.Attempt{made(sdk.RoleGenerate)}, []string{"generator", "judge", "corrector", "judge"}},
	} {
		if diff := cmp.Diff(c.want, noted(t, c.passesAt, c.done)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
