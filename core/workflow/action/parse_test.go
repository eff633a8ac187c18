package action_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// shown judges by a plugin that says what it was shown: its output and the output of
// the state.
func shown(t *testing.T, step action.Step, output string) *sdk.EvaluateResponse {
	t.Helper()
	plugins := &coretest.Plugins{EvaluateFn: func(_ context.Context, _ core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
		var state map[string]json.RawMessage
		if err := json.Unmarshal(reqs[0].State, &state); err != nil {
			return nil, err
		}
		feedback := fmt.Sprintf("%s %s", reqs[0].Output, state["reflection_output"])
		return []sdk.EvaluateResult{{Response: &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1, Feedback: feedback}}}}, nil
	}}
	ev, err := action.NewEvaluator(plugins, step, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ev.Evaluate(t.Context(), &sdk.EvaluateRequest{
		State: json.RawMessage(`{"reflection_output":` + output + `}`), Output: json.RawMessage(output),
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestParseShowsEvaluatorsTheValueInAText(t *testing.T) {
	one := action.Step{Plugin: "echo"}
	composite := action.Step{Composite: &action.Composite{Kind: loop.CompositeAll, Children: []action.Step{{Name: "a", Plugin: "echo"}, {Name: "b", Plugin: "echo"}}}}
	for _, c := range []struct{ output, feedback, replaced string }{
		{`"Sure: {\"n\": 1} there"`, `{"n": 1} {"n": 1}`, `{"n": 1}`},
		{`"[1, 2]"`, `[1, 2] [1, 2]`, `[1, 2]`},
		{`{"n":1}`, `{"n":1} {"n":1}`, ``},
		{`null`, `null null`, ``},
	} {
		for _, step := range []action.Step{one, composite} {
			loopSpec := &action.LoopSpec{Evaluator: step, Parse: true}
			parsed := step
			parsed.Parse = true
			for _, s := range []action.Step{parsed, loopSpec.Judge()} {
				v := shown(t, s, c.output).Verdict
				feedback, _, _ := strings.Cut(strings.TrimPrefix(v.Feedback, "a: "), "\n")
				if strings.ReplaceAll(feedback, " ", "") != strings.ReplaceAll(c.feedback, " ", "") || string(v.Output) != c.replaced || !v.Valid {
					t.Errorf("%s: saw %q, became %s, valid %t", c.output, v.Feedback, v.Output, v.Valid)
				}
			}
		}
	}
}

func TestATextThatCannotBeParsedIsAVerdict(t *testing.T) {
	v := shown(t, action.Step{Plugin: "echo", Parse: true}, `"no JSON,\n{\"n\": } here"`).Verdict
	if v.Valid || v.Score != 0 || len(v.Errors) != 1 || v.Output != nil {
		t.Fatalf("%+v", v)
	}
	if f := v.Errors[0]; !strings.Contains(f.Message, "line 2, column 7") || f.Code != "json_invalid" {
		t.Errorf("%+v", f)
	}
}
