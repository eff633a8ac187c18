package workflow_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/workflow/action"
)

// A step that reads the state as a whole, or by a computed name, may read any recall.
func TestWhatAStepReadsFromTheState(t *testing.T) {
	const lua, llm = "- {name: n, action: lua.run, with: {code: %q}}\n", "- {name: n, action: llm.call, with: {prompt: %q}}\n"
	for _, c := range []struct {
		kind, text string
		want       []string
	}{
		{lua, `return state.tips.memories[1]`, []string{"tips"}},
		{lua, `return state["tips"] or state['more']`, []string{"more", "tips"}},
		{lua, `local s = state return s.tips`, []string{"*"}},
		{lua, `for k, v in pairs(state) do end`, []string{"*"}},
		{lua, `if state[name] then return state.tips end`, []string{"*", "tips"}},
		{lua, "-- the state is of no use here\nerror('bad state')", nil},
		{lua, `local state = 1 return x.state`, nil},
		{llm, `Use {{ state.tips.memories | json }} in this state.`, []string{"tips"}},
		{llm, `All that is known: {{ state | json }}`, []string{"*"}},
		{llm, `{% for name, value in state.items() %}{{ value }}{% endfor %}`, []string{"*", "items"}},
		{llm, `{{ state[state.kind] }}`, []string{"*", "kind"}},
		{llm, `Describe the state of {{ "a state" }}`, nil},
	} {
		plan, err := load("settings: {llm: {provider: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}\nnodes:\n" + fmt.Sprintf(c.kind, c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Nodes[0].Action.(*action.CallSpec).Step.Refers; !slices.Equal(got, c.want) {
			t.Errorf("%s reads %q, want %q", c.text, got, c.want)
		}
	}
}
