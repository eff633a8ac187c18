package loop_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// broke is a failure of a call that used 7 tokens all the same, in the form in
// which it comes from a plugin.
func broke(code sdk.Code) error {
	return sdk.Errorf(code, "broken", "broken").WithDetail(sdk.UsageDetail, map[string]any{"tokens_in": 7.0})
}

// costly is a loop of three attempts, whose calls use a token each.
func costly(record core.AttemptRecorder) *loop.Options {
	one := sdk.Usage{TokensIn: 1}
	return &loop.Options{
		Recorder: record,
		Generator: sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: json.RawMessage(`{}`), Usage: one}, nil
		}),
		Corrector: sdk.CorrectorFunc(func(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			return &sdk.CorrectResponse{Output: json.RawMessage(`{}`), Usage: one}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Usage: one}, nil
		}),
	}
}

// failingFirst makes the evaluator fail n times before it answers.
func failingFirst(o *loop.Options, n int, code sdk.Code) {
	answer := o.Evaluator
	o.Evaluator = sdk.EvaluatorFunc(func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		if n--; n >= 0 {
			return nil, broke(code)
		}
		return answer.Evaluate(ctx, req)
	})
}

func TestTheUsageOfFailedCallsCounts(t *testing.T) {
	cases := map[string]struct {
		breaks func(o *loop.Options)
		tokens int64
	}{
		"nothing fails": {func(*loop.Options) {}, 6},
		"the generator": {func(o *loop.Options) {
			o.Generator = sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				return nil, broke(sdk.Invalid)
			})
		}, 21},
		"the generator's output is no JSON": {func(o *loop.Options) {
			o.Generator = sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				return &sdk.GenerateResponse{Output: json.RawMessage(`{`), Usage: sdk.Usage{TokensOut: 2}}, nil
			})
		}, 6},
		"the corrector": {func(o *loop.Options) {
			o.Corrector = sdk.CorrectorFunc(func(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return nil, broke(sdk.Invalid)
			})
		}, 20},
		"the corrector's patch is no object": {func(o *loop.Options) {
			o.CorrectMode = loop.CorrectRegenerate
			o.Corrector = sdk.CorrectorFunc(func(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return &sdk.CorrectResponse{Output: json.RawMessage(`1`), Usage: sdk.Usage{TokensOut: 2}}, nil
			})
		}, 10},
		"the evaluator, for a while": {func(o *loop.Options) { failingFirst(o, 2, sdk.Unavailable) }, 20},
		"the evaluator, as an attempt": {func(o *loop.Options) {
			o.OnEvaluatorError = loop.EvaluatorErrorFail
			failingFirst(o, 1, sdk.Invalid)
		}, 12},
		"one of a composite's children": {func(o *loop.Options) {
			o.OnEvaluatorError = loop.EvaluatorErrorFail
			o.Evaluator = &loop.Composite{Kind: loop.CompositeAll, FailFast: true, Children: []loop.Child{
				says("good", true, 1), failing("bad", broke(sdk.Invalid)),
			}}
		}, 27},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				record := &tape{}
				o := costly(record)
				c.breaks(o)
				r, err := loop.Run(t.Context(), o)
				if err != nil || len(r.History) != 3 || r.Usage.Tokens() != c.tokens {
					t.Errorf("%d tokens of %d attempts, want %d: %v", r.Usage.Tokens(), len(r.History), c.tokens, err)
				}
				if got := recordedTokens(record.attempts); got != c.tokens {
					t.Errorf("the records hold %d tokens, want %d", got, c.tokens)
				}
			})
		})
	}
}

func recordedTokens(attempts []core.Attempt) (sum int64) {
	for _, a := range attempts {
		sum += a.Usage.Tokens()
	}
	return sum
}

func TestAFailedCallThatCrossesTheBudgetIsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, calls := costly(&tape{}), 0
		o.BudgetTokens = 7
		o.Evaluator = sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			calls++
			return nil, broke(sdk.Unavailable)
		})
		if r, err := loop.Run(t.Context(), o); r.Status != core.StatusError || sdk.ReasonOf(err) != "broken" || calls != 1 {
			t.Errorf("%s after %d calls of the evaluator: %v", r.Status, calls, err)
		}
		o = costly(&tape{})
		o.BudgetTokens = 7
		o.Generator = sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return nil, broke(sdk.Invalid)
		})
		if r, err := loop.Run(t.Context(), o); r.StopReason != core.StopBudget || len(r.History) != 1 {
			t.Errorf("%s after %d attempts: %v", r.StopReason, len(r.History), err)
		}
	})
}

func TestWhatAnEndedLoopSpentCountsWhenItIsResumed(t *testing.T) {
	record := &tape{}
	o := costly(record)
	failingFirst(o, 1, sdk.Invalid)
	first, err := loop.Run(t.Context(), o)
	if err == nil || first.Usage.Tokens() != 8 || recordedTokens(record.attempts) != 1 {
		t.Fatalf("%d tokens, %d of them recorded: %v", first.Usage.Tokens(), recordedTokens(record.attempts), err)
	}
	o = costly(record)
	o.Done, o.Used, o.BudgetTokens = slices.Clone(record.attempts), first.Usage, 10
	r, err := loop.Run(t.Context(), o)
	if err != nil || r.StopReason != core.StopBudget || r.Usage.Tokens() != 10 || len(r.History) != 2 {
		t.Errorf("%s with %d tokens after %d attempts: %v", r.StopReason, r.Usage.Tokens(), len(r.History), err)
	}
	if got := recordedTokens(record.attempts); got != 10 {
		t.Errorf("the records hold %d tokens", got)
	}
}
