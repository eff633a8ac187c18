package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/workflow/action"
)

func TestAWeightedCompositeIsValidFromTheThresholdOfTheSpec(t *testing.T) {
	p, err := load(node("reflection.evaluate", "evaluator: {type: weighted, evaluators: [{name: a, run: x}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator.Composite; c.Threshold != 0.7 || c.FailFast || !cmp.Equal(c.Weights, []float64{1}) {
		t.Errorf("got %+v", c)
	}
}

func TestEveryKeyOfAJudgeReachesItsConfig(t *testing.T) {
	p, err := load("settings: {llm: {provider: ollama, model: llama, base_url: 'http://h'}}\n" + node("reflection.evaluate", `evaluator:
  type: llm
  model: other
  prompt: "Is {{output.a}} right for {{state.task}}, given {{context.rule}}?"
  system: Be kind.
  context: {rule: "no {{state.word}}"}
  examples: [{output: {b: 1}, pass: true, score: 0.9}, {output: "{{state.word}}", pass: false, feedback: rude}]
  temperature: 0.5
  max_tokens: 9
  llm: {timeout: 5s}`))
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator.Config, action.Variables{
		State: json.RawMessage(`{"task":"cooking","word":"ouch"}`), Output: json.RawMessage(`{"a":7}`),
	})
	want := `{"context":{"rule":"no ouch"},"examples":[{"output":{"b":1},"pass":true,"score":0.9},{"output":"ouch","pass":false,"feedback":"rude"}],` +
		`"model":"other","prompt":"Is 7 right for cooking, given no ouch?","system":"Be kind.","temperature":0.5,"max_tokens":9,` +
		`"llm":{"base_url":"http://h","model":"llama","provider":"ollama","timeout":"5s"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
