package loop_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// policyFunc is a loop policy.
type policyFunc func(in *policypoint.LoopInput) policypoint.LoopOutcome

func (f policyFunc) Loop(_ context.Context, in *policypoint.LoopInput) policypoint.LoopOutcome {
	return f(in)
}

// accepting is a rule for passing.
type accepting bool

func (a accepting) Eval(context.Context, map[string]any) (bool, error) { return bool(a), nil }

// judgedBy is a loop whose evaluator gives these verdicts, one after the other.
func judgedBy(verdicts ...sdk.Verdict) *loop.Options {
	return &loop.Options{
		Namespace: "a/b", Workflow: "w", RunID: "r", Visit: 1, Node: "n",
		Generator: sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: jsontext.MustEncode(req.Iteration), Usage: sdk.Usage{TokensIn: 1}}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: verdicts[min(len(verdicts), req.Iteration)-1], Usage: sdk.Usage{TokensIn: 2}}, nil
		}),
	}
}

func TestThePolicyHasTheLastWordOnAnAttempt(t *testing.T) {
	policyFailure := policypoint.LoopOutcome{Stop: true, Decision: policypoint.Decision{File: "loop/a.yaml", Failure: &core.ErrorInfo{Code: "policy_failed", Message: "no such key"}}}
	for name, test := range map[string]struct {
		policy    policyFunc
		rule      policypoint.Expression
		verdict   sdk.Verdict
		status    core.Status
		reason    core.StopReason
		iteration int
	}{
		"it goes by the workflow": {func(in *policypoint.LoopInput) policypoint.LoopOutcome {
			return policypoint.LoopOutcome{Accept: in.Accepted}
		}, nil, sdk.Verdict{Valid: true}, core.StatusPassed, core.StopValid, 1},
		"it refuses what is valid": {func(*policypoint.LoopInput) policypoint.LoopOutcome { return policypoint.LoopOutcome{} }, nil, sdk.Verdict{Valid: true}, core.StatusExhausted, core.StopMaxIterations, 1},
		"it accepts what isn't": {func(in *policypoint.LoopInput) policypoint.LoopOutcome {
			return policypoint.LoopOutcome{Accept: in.Iteration == 2}
		}, nil, sdk.Verdict{}, core.StatusPassed, core.StopValid, 2},
		"it overrules the workflow's rule": {func(in *policypoint.LoopInput) policypoint.LoopOutcome {
			return policypoint.LoopOutcome{Accept: in.Valid}
		}, accepting(true), sdk.Verdict{}, core.StatusExhausted, core.StopMaxIterations, 1},
		"it learns of the workflow's rule": {func(in *policypoint.LoopInput) policypoint.LoopOutcome {
			return policypoint.LoopOutcome{Accept: in.Accepted}
		}, accepting(true), sdk.Verdict{}, core.StatusPassed, core.StopValid, 1},
		"it gives up": {func(in *policypoint.LoopInput) policypoint.LoopOutcome {
			return policypoint.LoopOutcome{Stop: in.Iteration == 2}
		}, nil, sdk.Verdict{}, core.StatusExhausted, core.StopPolicy, 1},
		"what passes isn't given up": {func(*policypoint.LoopInput) policypoint.LoopOutcome {
			return policypoint.LoopOutcome{Accept: true, Stop: true}
		}, nil, sdk.Verdict{}, core.StatusPassed, core.StopValid, 1},
		"one that fails ends with an error": {func(*policypoint.LoopInput) policypoint.LoopOutcome { return policyFailure }, nil, sdk.Verdict{Valid: true}, core.StatusError, core.StopEvaluatorError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := judgedBy(test.verdict)
			o.Policy, o.Accept = test.policy, test.rule
			r, _ := loop.Run(context.Background(), o)
			if r.Status != test.status || r.StopReason != test.reason || r.Iteration != test.iteration {
				t.Errorf("%s (%s) by attempt %d", r.Status, r.StopReason, r.Iteration)
			}
		})
	}
}

func TestThePolicySeesTheAttemptAsItWasJudged(t *testing.T) {
	o := judgedBy(sdk.Verdict{Score: .9, Errors: []sdk.Finding{{Message: "m"}}}, sdk.Verdict{Score: .5, Valid: true, Output: json.RawMessage(`"two"`)})
	var seen []policypoint.LoopInput
	o.Policy = policyFunc(func(in *policypoint.LoopInput) policypoint.LoopOutcome {
		seen = append(seen, *in)
		return policypoint.LoopOutcome{Accept: in.Accepted}
	})
	if _, err := loop.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		seen[i].Usage.WallMillis = 0
	}
	first := []byte(`{"iteration":1,"output":1,"score":0.9,"valid":false,"errors":[{"message":"m"}],"feedback":""}`)
	second := []byte(`{"iteration":2,"output":"two","raw":2,"score":0.5,"valid":true,"errors":[],"feedback":""}`)
	want := []policypoint.LoopInput{
		{Namespace: "a/b", Workflow: "w", Score: .9, BestScore: .9, Iteration: 1, Errors: []sdk.Finding{{Message: "m"}},
			Output: json.RawMessage("1"), History: [][]byte{first}, Usage: core.RunUsage{Usage: sdk.Usage{TokensIn: 3}}},
		{Namespace: "a/b", Workflow: "w", Valid: true, Accepted: true, Score: .5, BestScore: .9, Iteration: 2,
			Output: json.RawMessage(`"two"`), History: [][]byte{first, second}, Usage: core.RunUsage{Usage: sdk.Usage{TokensIn: 6}}},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// An attempt that nobody judged can't pass, whatever the policy says; but the policy may
// give up after it, and does so if it fails.
func TestThePolicyMayGiveUpAfterWhatNobodyJudged(t *testing.T) {
	broken := sdk.Errorf(sdk.Invalid, "broken", "broken")
	for name, breaks := range map[string]func(o *loop.Options){
		"the generator failed": func(o *loop.Options) {
			o.Generator = sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) { return nil, broken })
		},
		"the evaluator failed": func(o *loop.Options) {
			o.OnEvaluatorError = loop.EvaluatorErrorFail
			o.Evaluator = sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) { return nil, broken })
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := judgedBy(sdk.Verdict{})
			breaks(o)
			o.Policy = policyFunc(func(in *policypoint.LoopInput) policypoint.LoopOutcome {
				return policypoint.LoopOutcome{Accept: true, Stop: in.Iteration == 2, Decision: policypoint.Decision{Failure: &core.ErrorInfo{Code: "policy_failed"}}}
			})
			r, err := loop.Run(context.Background(), o)
			if err != nil || r.StopReason != core.StopPolicy || len(r.History) != 2 || r.Accepted {
				t.Errorf("%s after %d attempts, accepted %t: %v", r.StopReason, len(r.History), r.Accepted, err)
			}
		})
	}
}

// If the policy fails, the attempt is unjudged as if it had not been evaluated, and a
// resumed loop judges it.
func TestAnAttemptWhosePolicyFailedIsJudgedWhenResumed(t *testing.T) {
	o, record := judgedBy(sdk.Verdict{Valid: true}), &keeping{}
	o.Recorder = record
	o.Policy = policyFunc(func(*policypoint.LoopInput) policypoint.LoopOutcome {
		return policypoint.LoopOutcome{Stop: true, Decision: policypoint.Decision{Failure: &core.ErrorInfo{Code: "policy_failed"}}}
	})
	r, err := loop.Run(context.Background(), o)
	if sdk.ReasonOf(err) != "policy_failed" || sdk.AsError(err).Hint == "" || r.Usage.TokensIn != 3 {
		t.Fatalf("usage %+v, error %v", r.Usage, err)
	}
	if len(record.attempts) != 1 || record.attempts[0].Judged || r.Best.Iteration != 0 {
		t.Fatalf("recorded %+v, best %+v", record.attempts, r.Best)
	}
	o.Done, o.Used, o.Policy = record.attempts, r.Usage, nil
	if r, err = loop.Run(context.Background(), o); err != nil || r.Status != core.StatusPassed || r.Iteration != 1 || r.Usage.TokensIn != 5 {
		t.Errorf("resumed: %s, attempt %d, %+v, %v", r.Status, r.Iteration, r.Usage, err)
	}
}

// keeping records in memory.
type keeping struct{ attempts []core.Attempt }

func (k *keeping) RecordOutput(_ context.Context, a *core.Attempt) error {
	k.attempts = append(k.attempts, *a)
	return nil
}

func (k *keeping) RecordVerdict(_ context.Context, a *core.Attempt) error {
	k.attempts = append(k.attempts[:a.Iteration-1], *a)
	return nil
}

// What the policy said of the last attempt isn't recorded, so a resumed loop asks
// it again, and doesn't ask of what has passed.
func TestAResumedLoopAsksThePolicyAgain(t *testing.T) {
	done := []core.Attempt{{Iteration: 1, Output: json.RawMessage("1"), Role: sdk.RoleGenerate, Judged: true}}
	asked := 0
	stops := policyFunc(func(*policypoint.LoopInput) policypoint.LoopOutcome {
		asked++
		return policypoint.LoopOutcome{Stop: true}
	})
	o := judgedBy(sdk.Verdict{})
	o.Done, o.Policy = done, stops
	if r, err := loop.Run(context.Background(), o); err != nil || r.StopReason != core.StopPolicy || len(r.History) != 1 || asked != 1 {
		t.Errorf("%s after %d attempts, asked %d times: %v", r.StopReason, len(r.History), asked, err)
	}
	done[0].Accepted = true
	if r, err := loop.Run(context.Background(), o); err != nil || r.Status != core.StatusPassed || asked != 1 {
		t.Errorf("%s, asked %d times: %v", r.Status, asked, err)
	}
}

func TestAReplayAsksThePolicy(t *testing.T) {
	attempts := []core.Attempt{
		{Iteration: 1, Output: json.RawMessage("1"), Judged: true, Score: .5},
		{Iteration: 2, Output: json.RawMessage("2"), Judged: true, Score: .5, Valid: true, Accepted: true},
	}
	o := judgedBy(sdk.Verdict{Score: .5}, sdk.Verdict{Score: .5, Valid: true})
	history := []int{}
	got, err := loop.Replay(context.Background(), &loop.ReplayOptions{
		Evaluator: o.Evaluator, Attempts: attempts, Namespace: "a", Policy: policyFunc(func(in *policypoint.LoopInput) policypoint.LoopOutcome {
			history = append(history, len(in.History))
			return policypoint.LoopOutcome{Accept: in.Namespace == "a" && !in.Accepted}
		}),
	})
	if err != nil || len(got) != 2 || !got[0].Now.Accepted || got[1].Now.Accepted || !got[0].Changed || !got[1].Changed {
		t.Errorf("got %+v, %v", got, err)
	}
	if diff := cmp.Diff([]int{1, 2}, history); diff != "" {
		t.Error(diff)
	}
}
