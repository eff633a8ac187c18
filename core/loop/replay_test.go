package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

func TestReplayJudgesRecordedAttemptsAgain(t *testing.T) {
	record := &tape{}
	if _, err := runTaped(t, &world{fail: map[string]bool{"run/2/generate": true}}, loop.Limits{MaxIterations: 4}, record, nil); err != nil {
		t.Fatal(err)
	}
	attempts := slices.Clone(record.attempts)
	w := &world{}
	same, err := loop.Replay(t.Context(), &loop.ReplayOptions{
		Evaluator: w.options(loop.Limits{}).Evaluator, State: json.RawMessage(`{"a":1}`), Attempts: attempts,
	})
	if err != nil || len(same) != 4 {
		t.Fatalf("got %v, %v", same, err)
	}
	for _, r := range same {
		if r.Changed {
			t.Errorf("the recorded evaluator changed its mind: %+v", r)
		}
	}
	if w.generated != 0 {
		t.Error("a replay called the generator")
	}
	strict, err := loop.Replay(t.Context(), &loop.ReplayOptions{
		Evaluator: w.options(loop.Limits{}).Evaluator, Limits: loop.Limits{Accept: scoreRule("0.3")}, State: json.RawMessage(`{"a":1}`), Attempts: attempts,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range strict {
		if want := i >= 2; r.Now.Accepted != want || r.Changed != want {
			t.Errorf("attempt %d: %+v", i+1, r)
		}
	}
}

func TestAReplayCountsAnEvaluatorsFailureAsTheLoopDid(t *testing.T) {
	broken := sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		return nil, sdk.Errorf(sdk.Invalid, "broken", "can't judge")
	})
	attempts := []core.Attempt{{Iteration: 1, Role: sdk.RoleGenerate, Judged: true, Output: json.RawMessage(`1`),
		Errors: []sdk.Finding{{Message: "can't judge", Code: "broken", Type: sdk.TypeEvaluatorError}}}}
	o := &loop.ReplayOptions{Evaluator: broken, Attempts: attempts}
	if _, err := loop.Replay(t.Context(), o); sdk.ReasonOf(err) != "broken" {
		t.Errorf("by default: %v", err)
	}
	o.Limits.OnEvaluatorError = loop.EvaluatorErrorFail
	got, err := loop.Replay(t.Context(), o)
	if err != nil || len(got) != 1 || got[0].Changed {
		t.Errorf("with fail_attempt: %+v, %v", got, err)
	}
}

// attempt is one that a loop recorded.
func attempt(n int, score float64, errors ...sdk.Finding) core.Attempt {
	return core.Attempt{Iteration: n, Role: sdk.RoleGenerate, Judged: true, Output: json.RawMessage(`1`), Score: score, Errors: errors}
}

func TestAReplayJudgesWhatWasJudgedAndNothingElse(t *testing.T) {
	unjudged := core.Attempt{Iteration: 3, Role: sdk.RoleGenerate, Output: json.RawMessage(`1`)}
	attempts := []core.Attempt{
		attempt(1, 0, sdk.Finding{Type: sdk.TypeGeneratorError, Message: "no output"}), attempt(2, 0.5), unjudged,
	}
	var judged []int
	evaluator := sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		judged = append(judged, req.Iteration)
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: 0.5}}, nil
	})
	got, err := loop.Replay(t.Context(), &loop.ReplayOptions{Evaluator: evaluator, Attempts: attempts})
	if err != nil || len(got) != 2 || got[0].Changed || got[1].Changed || !slices.Equal(judged, []int{2}) {
		t.Errorf("it judged %v: %+v, %v", judged, got, err)
	}
}

func TestAReplayShowsEachWayToBeJudgedOtherwise(t *testing.T) {
	for name, now := range map[string]sdk.Verdict{
		"the score":  {Score: 0.6, Errors: []sdk.Finding{{Message: "bad"}}},
		"the errors": {Score: 0.5, Errors: []sdk.Finding{{Message: "worse"}}},
		"valid":      {Score: 0.5, Valid: true, Errors: []sdk.Finding{{Message: "bad"}}},
		"":           {Score: 0.5, Errors: []sdk.Finding{{Message: "bad"}}},
	} {
		evaluator := sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: now}, nil
		})
		got, err := loop.Replay(t.Context(), &loop.ReplayOptions{Evaluator: evaluator, Attempts: []core.Attempt{attempt(1, 0.5, sdk.Finding{Message: "bad"})}})
		if err != nil || got[0].Changed != (name != "") || got[0].Was.Score != 0.5 || got[0].Now.Score != now.Score {
			t.Errorf("another %q: %+v, %v", name, got, err)
		}
	}
}

func TestAReplayRetriesAsTheLoopDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for retries, want := range map[int]int{0: 3, -1: 1, 4: 5} {
			calls := 0
			evaluator := sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				calls++
				return nil, errGone
			})
			o := &loop.ReplayOptions{Evaluator: evaluator, Attempts: []core.Attempt{attempt(1, 0.5)}, Limits: loop.Limits{EvaluatorRetries: retries}}
			if _, err := loop.Replay(t.Context(), o); !errors.Is(err, errGone) || calls != want {
				t.Errorf("with %d retries %d calls, want %d: %v", retries, calls, want, err)
			}
		}
	})
}

var errGone = sdk.Errorf(sdk.Unavailable, "plugin_exited", "gone")
