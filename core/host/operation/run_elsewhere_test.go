package operation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

func madeElsewhere(passes bool) *operation.RunStart {
	half := .5
	return &operation.RunStart{Namespace: here, Name: "my-loop", Attempts: []operation.MadeAttempt{
		{Output: json.RawMessage(`"draft"`), Score: &half, Errors: []sdk.Finding{{Message: "too short"}}, Feedback: "Say more.", Usage: sdk.Usage{TokensIn: 10, TokensOut: 5, CostUSD: .01}},
		{Output: json.RawMessage(`{"text": "long"}`), Valid: passes, Usage: sdk.Usage{TokensIn: 20}},
	}}
}

// TestRunStart_RecordsAttemptsFromElsewhere as a run like any other, which the counts have too.
func TestRunStart_RecordsAttemptsFromElsewhere(t *testing.T) {
	w := operationtest.New(t)
	me := core.Operator("tester")
	for _, passes := range []bool{true, false} {
		out, err := w.Do(me, "run_start", madeElsewhere(passes))
		if err != nil {
			t.Fatal(err)
		}
		id := out.(*operation.RunEnded).ID
		shown, err := w.Do(me, "run_get", &operation.RunGet{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		r := shown.(*operation.Run)
		want := core.Run{ID: id, Workflow: "my-loop", Namespace: here, Status: core.StatusExhausted, StopReason: core.StopMaxIterations, Score: .5, Iterations: 1}
		if passes {
			want.Status, want.StopReason, want.Score, want.Iterations = core.StatusPassed, core.StopValid, 1, 2
		}
		if r.Status != want.Status || r.StopReason != want.StopReason || r.Score != want.Score || r.Workflow != want.Workflow || r.Namespace != here || r.Usage.TokensIn != 30 || r.Usage.CostUSD != .01 {
			t.Errorf("%+v, want %+v", r.Run, want)
		}
		attempts := r.Loops[0].Attempts
		if len(attempts) != 2 || attempts[0].Feedback != "Say more." || attempts[0].Errors[0].Message != "too short" || string(attempts[1].Output) != `{"text":"long"}` || attempts[1].Valid != passes {
			t.Errorf("%+v", attempts)
		}
		for name, in := range map[string]any{"run_resume": &operation.RunResume{ID: id}, "run_replay": &operation.RunReplay{ID: id}} {
			if _, err := w.Do(me, name, in); sdk.CodeOf(err) != sdk.Conflict {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	passed, exhausted := int64(0), int64(0)
	now := w.Config.Clock.Now()
	err := w.Host.Runs.Hours(w.Ctx, now.Add(-time.Hour), now.Add(time.Hour), func(string) bool { return true }, func(h *run.HourCounts) {
		if h.Workflow == "my-loop" {
			passed, exhausted = passed+h.Passed, exhausted+h.Exhausted
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if passed != 1 || exhausted != 1 {
		t.Errorf("%d passed and %d are exhausted", passed, exhausted)
	}
}

func TestRunStart_RefusesAttemptsThatCannotBe(t *testing.T) {
	w := operationtest.New(t)
	for says, change := range map[string]func(*operation.RunStart){
		"neither a workflow nor a state":  func(in *operation.RunStart) { in.Workflow = operationtest.LostYAML },
		"name must be":                    func(in *operation.RunStart) { in.Name = "" },
		"which isn't reserved":            func(in *operation.RunStart) { in.Name = core.RequestPrefix + "m" },
		"attempt 1 is valid, but another": func(in *operation.RunStart) { in.Attempts[0].Valid = true },
		"score of attempt 2 isn't from 0": func(in *operation.RunStart) { in.Attempts[1].Score = new(float64); *in.Attempts[1].Score = 1.5 },
		"there are 1001 attempts (limit":  func(in *operation.RunStart) { in.Attempts = make([]operation.MadeAttempt, 1001) },
	} {
		in := madeElsewhere(true)
		change(in)
		if _, err := w.Do(core.Operator("tester"), "run_start", in); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
