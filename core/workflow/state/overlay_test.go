package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

func TestOverlay_LaysItsPartsInOrder(t *testing.T) {
	o := state.Overlay{
		State: json.RawMessage(`{"a":{"x":1},"input":"of the state"}`), Input: json.RawMessage(`{"in":1}`),
		Set: []state.Value{{Path: "input.in", Value: json.RawMessage(`2`)}, {Path: "n", Value: json.RawMessage(`3`)}, {Path: "n", Value: json.RawMessage(`4`)}},
	}
	got, err := o.Apply(json.RawMessage(`{"a":{"y":1},"own":true}`))
	if want := `{"a":{"x":1},"input":{"in":2},"n":4,"own":true}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err = (&state.Overlay{}).Apply(json.RawMessage(`{"own":true}`)); string(got) != `{"own":true}` || err != nil {
		t.Errorf("nothing over it: %s, %v", got, err)
	}
}

func TestOverlay_NamesThePartThatIsWrong(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", state.MaxInput) + `"`)
	one := json.RawMessage(`1`)
	for name, test := range map[string]struct {
		overlay       state.Overlay
		field, reason string
	}{
		"no object":          {state.Overlay{State: json.RawMessage(`[1]`)}, "state", "state_invalid"},
		"a reserved key":     {state.Overlay{State: json.RawMessage(`{"reflection_x":1}`)}, "state", "state_key_invalid"},
		"a large state":      {state.Overlay{State: large}, "state", "input_too_large"},
		"an input no JSON":   {state.Overlay{Input: json.RawMessage(`{`)}, "input", "json_invalid"},
		"a large input":      {state.Overlay{Input: large}, "input", "input_too_large"},
		"no path":            {state.Overlay{Set: []state.Value{{Value: one}}}, "set", "state_key_invalid"},
		"a path through one": {state.Overlay{Set: []state.Value{{Path: "own.a", Value: one}}}, "set", "state_key_invalid"},
		"a value no JSON":    {state.Overlay{Set: []state.Value{{Path: "a"}}}, "set", "json_invalid"},
		"a large value":      {state.Overlay{Set: []state.Value{{Path: "a", Value: large}}}, "set", "input_too_large"},
		"many values":        {state.Overlay{Set: make([]state.Value, state.MaxSet+1)}, "set", "set_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.overlay.Apply(json.RawMessage(`{"own":1}`))
			if got != nil || sdk.ReasonOf(err) != test.reason || sdk.AsError(err).Details["field"] != test.field {
				t.Errorf("got %s, %v, details %v", got, err, sdk.AsError(err).Details)
			}
		})
	}
}
