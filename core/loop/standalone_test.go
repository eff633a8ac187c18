package loop_test

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// A plugin outside a loop sees what it would see in the first iteration of one.
func TestStandaloneState_IsTheStateOfAFirstIteration(t *testing.T) {
	got, err := loop.StandaloneState(json.RawMessage(`{"a":1,"reflection_best":2}`), json.RawMessage(`3`), []sdk.Finding{{Message: "m"}})
	want := `{"a":1,"reflection_best":null,"reflection_best_score":0,"reflection_errors":[{"message":"m"}],"reflection_feedback":"",` +
		`"reflection_history":[],"reflection_iteration":1,"reflection_output":3}`
	if string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := loop.StandaloneState(json.RawMessage(`[]`), nil, nil); sdk.ReasonOf(err) != "state_invalid" {
		t.Errorf("a list: %v", err)
	}
}

func TestRecordedState_KeepsTheHistoryAndJudgesTheOutputAtHand(t *testing.T) {
	recorded := `{"a":1,"reflection_history":[{"iteration":3}],"reflection_iteration":4,"reflection_output":1}`
	got, iteration, err := loop.RecordedState(json.RawMessage(recorded), json.RawMessage(`3`))
	var keys map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(got, &keys)
	}
	if err != nil || iteration != 4 || string(keys["reflection_output"]) != "3" || string(keys["reflection_history"]) != `[{"iteration":3}]` || string(keys["reflection_errors"]) != "[]" {
		t.Errorf("got %s of iteration %d, %v", got, iteration, err)
	}
	if _, iteration, err := loop.RecordedState(json.RawMessage(`{"a":1}`), json.RawMessage(`3`)); iteration != 1 || err != nil {
		t.Errorf("a workflow's own state: iteration %d, %v", iteration, err)
	}
	if _, _, err := loop.RecordedState(json.RawMessage(`{"reflection_iteration":"x"}`), json.RawMessage(`3`)); sdk.ReasonOf(err) != "state_invalid" {
		t.Errorf("an iteration that isn't a number: %v", err)
	}
}

func TestCall_NamesLaterVisitsInItsKey(t *testing.T) {
	for visit, want := range map[int]string{1: "run/2/evaluate", 3: "run.3/2/evaluate"} {
		if got := loop.Call("run", visit, "n", 2, sdk.RoleEvaluate); got.IdempotencyKey != want || got.Node != "n" || got.Iteration != 2 {
			t.Errorf("visit %d: got %+v", visit, got)
		}
	}
	if got := loop.Call("", 1, "n", 1, sdk.RoleEvaluate); got.IdempotencyKey != "" {
		t.Errorf("without a run: %+v", got)
	}
}
