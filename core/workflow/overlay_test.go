package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

func TestOverlay_LaysItsPartsInOrder(t *testing.T) {
	o := workflow.Overlay{
		State: json.RawMessage(`{"a":{"x":1},"input":"of the state"}`), Input: json.RawMessage(`{"in":1}`),
		Set: []workflow.StateValue{{Path: "input.in", Value: json.RawMessage(`2`)}, {Path: "n", Value: json.RawMessage(`3`)}, {Path: "n", Value: json.RawMessage(`4`)}},
	}
	got, err := o.Apply(json.RawMessage(`{"a":{"y":1},"own":true}`))
	if want := `{"a":{"x":1},"input":{"in":2},"n":4,"own":true}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err = (&workflow.Overlay{}).Apply(json.RawMessage(`{"own":true}`)); string(got) != `{"own":true}` || err != nil {
		t.Errorf("nothing over it: %s, %v", got, err)
	}
}

func TestOverlay_NamesThePartThatIsWrong(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", workflow.MaxInput) + `"`)
	one := json.RawMessage(`1`)
	for name, test := range map[string]struct {
		overlay       workflow.Overlay
		field, reason string
	}{
		"no object":          {workflow.Overlay{State: json.RawMessage(`[1]`)}, "state", "state_invalid"},
		"a reserved key":     {workflow.Overlay{State: json.RawMessage(`{"reflection_x":1}`)}, "state", "state_key_invalid"},
		"a large state":      {workflow.Overlay{State: large}, "state", "input_too_large"},
		"an input no JSON":   {workflow.Overlay{Input: json.RawMessage(`{`)}, "input", "json_invalid"},
		"a large input":      {workflow.Overlay{Input: large}, "input", "input_too_large"},
		"no path":            {workflow.Overlay{Set: []workflow.StateValue{{Value: one}}}, "set", "state_key_invalid"},
		"a path through one": {workflow.Overlay{Set: []workflow.StateValue{{Path: "own.a", Value: one}}}, "set", "state_key_invalid"},
		"a value no JSON":    {workflow.Overlay{Set: []workflow.StateValue{{Path: "a"}}}, "set", "json_invalid"},
		"a large value":      {workflow.Overlay{Set: []workflow.StateValue{{Path: "a", Value: large}}}, "set", "input_too_large"},
		"many values":        {workflow.Overlay{Set: make([]workflow.StateValue, workflow.MaxSet+1)}, "set", "set_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.overlay.Apply(json.RawMessage(`{"own":1}`))
			if got != nil || sdk.ReasonOf(err) != test.reason || sdk.AsError(err).Details["field"] != test.field {
				t.Errorf("got %s, %v, details %v", got, err, sdk.AsError(err).Details)
			}
		})
	}
}
