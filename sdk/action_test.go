package sdk_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestAction_IsJSONInItsOrder(t *testing.T) {
	tests := map[string]*sdk.Action{
		`{"verb":"runs list"}`:                          sdk.NewAction("runs list"),
		`{"verb":"store check","args":{"repair":true}}`: sdk.NewAction("store check", "repair", true),
		`{"verb":"memory recall","args":{"session":"a \"b\"","namespace":null,"query":"<é>"}}`: sdk.NewAction("memory recall", "session", `a "b"`, "namespace", nil, "query", "<é>"),
	}
	for want, action := range tests {
		var read sdk.Action
		if err := json.Unmarshal([]byte(want), &read); err != nil || !reflect.DeepEqual(&read, action) {
			t.Errorf("%s is read as %v: %v", want, read, err)
		}
		text, err := json.Marshal(action)
		var again sdk.Action
		if err != nil || json.Unmarshal(text, &again) != nil || !reflect.DeepEqual(&again, action) {
			t.Errorf("%v is written as %s: %v", action, text, err)
		}
	}
	if text, err := json.Marshal(sdk.NewAction("v", "z", "1", "a", nil)); err != nil || string(text) != `{"verb":"v","args":{"z":"1","a":null}}` {
		t.Errorf("%s: %v", text, err)
	}
	if read := sdk.NewAction("v"); json.Unmarshal([]byte(`{"verb":"v","args":null}`), read) != nil || len(read.Args) != 0 {
		t.Errorf("args null are read as %v", read.Args)
	}
	for _, text := range []string{`{"verb":"v","args":["a"]}`, `{"verb":"v","args":"a"}`, `{"verb":"v","args":7}`} {
		if err := json.Unmarshal([]byte(text), &sdk.Action{}); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if _, err := json.Marshal(sdk.NewAction("v", "a", func() {})); err == nil {
		t.Error("a function is taken for a value")
	}
}

func TestError_AnActionBelongsToItsHint(t *testing.T) {
	err := sdk.Errorf(sdk.NotFound, "run_not_found", "there is no run").WithHint("list the runs").WithAction("runs list")
	wrapped := sdk.AsError(sdk.Wrap("show", sdk.Wrap("read", err)))
	if want := sdk.NewAction("runs list"); !reflect.DeepEqual(wrapped.Try, want) || wrapped.Hint != "list the runs" {
		t.Errorf("wrapped: %q, %v", wrapped.Hint, wrapped.Try)
	}
	if joined := sdk.AsError(errors.Join(errors.New("first"), err)); joined.Try == nil {
		t.Error("joined, it has nothing to try")
	}
	if err := err.WithHint("wait"); err.Try != nil {
		t.Errorf("hint %q has the action of another: %v", err.Hint, err.Try)
	}
}
