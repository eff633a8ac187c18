package state_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

func TestState_KeepsBothFormsUntilAKeyChanges(t *testing.T) {
	s, err := state.New(json.RawMessage(`{"b":9007199254740993,"a":null}`))
	if err != nil {
		t.Fatal(err)
	}
	encoded := s.JSON()
	if string(encoded) != `{"a":null,"b":9007199254740993}` || &s.JSON()[0] != &encoded[0] {
		t.Errorf("encoded again: %s, %s", encoded, s.JSON())
	}
	want := map[string]any{"state": map[string]any{"a": nil, "b": int64(9007199254740993)}}
	if got, err := s.Vars(); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	s.Set("c", json.RawMessage(`[1]`))
	want["state"].(map[string]any)["c"] = []any{int64(1)}
	if got, err := s.Vars(); err != nil || !cmp.Equal(got, want) || string(s.JSON()) != `{"a":null,"b":9007199254740993,"c":[1]}` {
		t.Errorf("after a change: %v, %v, %s", got, err, s.JSON())
	}
	if string(encoded) != `{"a":null,"b":9007199254740993}` {
		t.Errorf("what was given out changed: %s", encoded)
	}
}

func TestState_RefusesWhatNoWorkflowHas(t *testing.T) {
	for object, reason := range map[string]string{`[1]`: "state_invalid", `{"reflection_x":1}`: "state_key_invalid", `{`: "json_invalid"} {
		if _, err := state.New(json.RawMessage(object)); sdk.ReasonOf(err) != reason {
			t.Errorf("%s: got %v", object, err)
		}
	}
	if s, err := state.New(nil); err != nil || string(s.JSON()) != `{}` {
		t.Errorf("nothing: %v", err)
	}
}
