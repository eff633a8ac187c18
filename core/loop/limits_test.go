package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// always is a generator of one output.
func always(output string) sdk.Generator {
	return sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
		return &sdk.GenerateResponse{Output: json.RawMessage(output)}, nil
	})
}

// TestStopsAreCheckedInTheOrderOfTheContract has every combination of reasons
// come true with the second verdict: the first of them in this order is the one.
func TestStopsAreCheckedInTheOrderOfTheContract(t *testing.T) {
	order := []core.StopReason{core.StopValid, core.StopCancelled, core.StopTimeout, core.StopBudget,
		core.StopWhen, core.StopNoProgress, core.StopMaxIterations}
	for set := 1; set < 1<<len(order); set++ {
		var reasons []core.StopReason
		for i, r := range order {
			if set&(1<<i) != 0 {
				reasons = append(reasons, r)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			if got, err := stopsBy(t, reasons); got.StopReason != reasons[0] || len(got.History) != 2 {
				t.Errorf("%v: stopped by %s after %d attempts: %v", reasons, got.StopReason, len(got.History), err)
			}
		})
	}
}

// stopsBy runs a loop in which all reasons come true with the second verdict.
func stopsBy(t *testing.T, reasons []core.StopReason) (*core.LoopResult, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	has := func(r core.StopReason) bool { return slices.Contains(reasons, r) }
	o := &loop.Options{Generator: always(`1`), Limits: loop.Limits{MaxIterations: 9}}
	if has(core.StopMaxIterations) {
		o.MaxIterations = 2
	}
	if has(core.StopNoProgress) {
		o.NoProgress = 2
	}
	if has(core.StopTimeout) {
		o.Timeout = time.Minute
	}
	if has(core.StopBudget) {
		o.BudgetTokens = 5
	}
	if has(core.StopWhen) {
		o.StopWhen = secondOn{}
	}
	o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		if req.Iteration < 2 {
			return &sdk.EvaluateResponse{}, nil
		}
		if has(core.StopTimeout) {
			time.Sleep(time.Minute)
		}
		if has(core.StopCancelled) {
			cancel()
		}
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: has(core.StopValid)}, Usage: sdk.Usage{TokensIn: 5}}, nil
	})
	return loop.Run(ctx, o)
}

// secondOn is an expression that holds from the second iteration.
type secondOn struct{}

func (secondOn) Eval(_ context.Context, vars map[string]any) (bool, error) {
	return vars["iteration"].(int64) >= 2, nil
}

func TestOnlyAnEvaluatorThatWentAwayIsAskedAgain(t *testing.T) {
	for _, code := range sdk.Codes() {
		for retries, calls := range map[int]int{0: 3, -1: 1, 1: 2, 4: 5} { // 0 is the default
			if code != sdk.Unavailable {
				calls = 1
			}
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				o := &loop.Options{Generator: always(`1`), RunID: "run", Visit: 1, Limits: loop.Limits{EvaluatorRetries: retries}}
				o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
					at = append(at, time.Now())
					if req.IdempotencyKey != "run/1/evaluate" {
						t.Errorf("try %d has the key %q", len(at), req.IdempotencyKey)
					}
					return nil, sdk.Errorf(code, "", "no")
				})
				r, err := loop.Run(t.Context(), o)
				if r.Status != core.StatusError || sdk.CodeOf(err) != code || len(at) != calls {
					t.Errorf("%s with %d retries: %s after %d calls, want %d: %v", code, retries, r.Status, len(at), calls, err)
				}
				for i := range len(at) - 1 {
					if full := 200 * time.Millisecond << i; at[i+1].Sub(at[i]) < full/2 || at[i+1].Sub(at[i]) >= full {
						t.Errorf("pause %d is %s", i+1, at[i+1].Sub(at[i]))
					}
				}
			})
		}
	}
}

func TestNothingThatAPluginReturnsExtendsTheLoop(t *testing.T) {
	spoof := json.RawMessage(`{"max_iterations": 99, "reflection_iteration": -5, "reflection_history": [], "settings": {"max_iterations": 99}}`)
	for _, mode := range []loop.CorrectMode{loop.CorrectReplace, loop.CorrectRegenerate} {
		var seen []int
		o := &loop.Options{Generator: always(string(spoof)), Limits: loop.Limits{CorrectMode: mode, MaxIterations: 4}}
		o.Corrector = sdk.CorrectorFunc(func(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			return &sdk.CorrectResponse{Output: spoof}, nil
		})
		o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			var state struct {
				Iteration int `json:"reflection_iteration"`
			}
			if err := json.Unmarshal(req.State, &state); err != nil || state.Iteration != req.Iteration {
				t.Errorf("iteration %d sees %d, %v", req.Iteration, state.Iteration, err)
			}
			seen = append(seen, req.Iteration)
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Output: spoof}}, nil
		})
		r, err := loop.Run(t.Context(), o)
		if err != nil || r.StopReason != core.StopMaxIterations || !slices.Equal(seen, []int{1, 2, 3, 4}) {
			t.Errorf("%s: iterations %v, %s, %v", mode, seen, r.StopReason, err)
		}
	}
}

// sees is an expression that notes its variables and holds.
type sees map[string]any

func (s sees) Eval(_ context.Context, vars map[string]any) (bool, error) {
	maps.Copy(s, vars)
	return true, nil
}

func TestTheAcceptRuleSeesTheVerdictsOutput(t *testing.T) {
	rule := sees{}
	o := &loop.Options{Generator: always(`"{\"n\": 1}"`), Limits: loop.Limits{Accept: rule}}
	o.Evaluator = sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{
			Score: 0.5, Output: json.RawMessage(`{"n": 1}`), Errors: []sdk.Finding{{Message: "bad", Path: "/n"}},
		}}, nil
	})
	r, err := loop.Run(t.Context(), o)
	if err != nil || r.Status != core.StatusPassed || r.Valid || !r.Accepted {
		t.Errorf("%+v, %v", r, err)
	}
	want := sees{
		"valid": false, "score": 0.5, "iteration": int64(1), "output": map[string]any{"n": int64(1)},
		"errors": []any{map[string]any{"message": "bad", "path": "/n"}},
	}
	if diff := cmp.Diff(want, rule); diff != "" {
		t.Error(diff)
	}
}

func TestARaisedErrorCarriesTheWholeHistory(t *testing.T) {
	o := (&world{}).options(loop.Limits{MaxIterations: 30, HistoryLimit: 2, OnFailure: loop.Raise})
	r, err := loop.Run(t.Context(), o)
	history, _ := sdk.AsError(err).Details["history"].([]sdk.HistoryEntry)
	if diff := cmp.Diff(r.History, history); diff != "" || len(history) != 30 {
		t.Errorf("%d entries (-result +error):\n%s", len(history), diff)
	}
}

func TestTheTimeoutCountsActiveTimeOverResumes(t *testing.T) {
	for name, known := range map[string]bool{"cancelled": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				record := &tape{}
				ctx, cancel := context.WithCancel(t.Context())
				o := slow(record)
				time.AfterFunc(8*time.Second, cancel) // in the second evaluation, 2 s after its output
				first, err := loop.Run(ctx, o)
				if first.StopReason != core.StopCancelled || first.Usage.WallMillis != 8000 {
					t.Fatalf("%s after %d ms: %v", first.StopReason, first.Usage.WallMillis, err)
				}
				if a := record.attempts; a[0].ActiveMillis != 4000 || a[1].ActiveMillis != 6000 {
					t.Errorf("the attempts are of %d and %d ms", a[0].ActiveMillis, a[1].ActiveMillis)
				}
				time.Sleep(time.Hour) // doesn't count
				o, want := slow(record), 6000+4000
				if o.Done = slices.Clone(record.attempts); known {
					o.Used, want = first.Usage, 8000+2000
				}
				began := time.Now()
				r, err := loop.Run(t.Context(), o)
				if err != nil || r.StopReason != core.StopTimeout || r.Usage.WallMillis != int64(want) {
					t.Errorf("%s after %d ms, want %d: %v", r.StopReason, r.Usage.WallMillis, want, err)
				}
				if left := 10*time.Second - time.Since(began); int(left.Milliseconds()) != map[bool]int{true: 8000, false: 6000}[known] {
					t.Errorf("the resumed loop took %s", time.Since(began))
				}
				o = slow(record)
				o.Done, o.Used = slices.Clone(record.attempts), r.Usage
				if again, _ := loop.Run(t.Context(), o); again.StopReason != core.StopTimeout || again.Usage.WallMillis != r.Usage.WallMillis {
					t.Errorf("with no time left: %s after %d ms", again.StopReason, again.Usage.WallMillis)
				}
			})
		})
	}
}

// slow is a loop that may be active for 10 s. Its first iteration takes 3 s and
// its second evaluation does not end.
func slow(record *tape) *loop.Options {
	pause := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	return &loop.Options{
		Limits: loop.Limits{Timeout: 10 * time.Second}, Recorder: record,
		Generator: sdk.GeneratorFunc(func(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: jsontext.MustEncode(req.Iteration)}, pause(ctx, 2*time.Second)
		}),
		Evaluator: sdk.EvaluatorFunc(func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			if req.Iteration == 1 {
				return &sdk.EvaluateResponse{}, pause(ctx, 2*time.Second)
			}
			return nil, pause(ctx, time.Hour)
		}),
	}
}

func TestAResumedLoopUsesTheKeysThatTheInterruptedOneWouldHave(t *testing.T) {
	keys := func(done []core.Attempt, failAt int) (asked []string, r *tape) {
		r = &tape{failAt: failAt}
		o := (&world{}).options(loop.Limits{MaxIterations: 3})
		o.Visit, o.Recorder, o.Done = 2, r, slices.Clone(done)
		watch(o, func(key string) { asked = append(asked, key) })
		if _, err := loop.Run(t.Context(), o); err != nil && !errors.Is(err, errPower) {
			t.Fatal(err)
		}
		return asked, r
	}
	whole, _ := keys(nil, 0)
	want := []string{"run.2/1/generate", "run.2/1/evaluate", "run.2/1/correct", "run.2/2/evaluate", "run.2/2/correct", "run.2/3/evaluate"}
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Fatal(diff)
	}
	for at := 1; at <= len(whole); at++ { // a loop makes one record a call
		_, cut := keys(nil, at)
		if resumed, _ := keys(cut.attempts, 0); !slices.Equal(resumed, whole[at-1:]) {
			t.Errorf("without record %d it asks %v", at, resumed)
		}
	}
}

// watch tells which keys a loop's calls carry.
func watch(o *loop.Options, tell func(key string)) {
	g, c, e := o.Generator, o.Corrector, o.Evaluator
	o.Generator = sdk.GeneratorFunc(func(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
		tell(req.IdempotencyKey)
		return g.Generate(ctx, req)
	})
	o.Corrector = sdk.CorrectorFunc(func(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
		tell(req.IdempotencyKey)
		return c.Correct(ctx, req)
	})
	o.Evaluator = sdk.EvaluatorFunc(func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		tell(req.IdempotencyKey)
		return e.Evaluate(ctx, req)
	})
}
