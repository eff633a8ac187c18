package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// CheapCost is the static upper bound up to which an expression runs without
	// tracking, in cel-go's cost units (spec 7).
	CheapCost = 10_000
	// CostLimit stops any other expression at run time, about 0.1 s of work
	// (spec 7).
	CostLimit = 1_000_000
	// MaxTime stops an expression that is dear to the tracking rather than to its
	// cost: cel-go's time for that is quadratic in the steps of a comprehension,
	// 0.15 s for 10,000 elements and 15 s for 100,000.
	MaxTime = time.Second
	// interruptEvery is how many steps of a comprehension pass between two looks
	// at the context.
	interruptEvery = 100
)

// expression is a compiled condition.
type expression struct {
	program cel.Program
	// tracked is whether cost and cancellation are watched.
	tracked bool
	source  string
}

func newExpression(env *cel.Env, checked *cel.Ast, source string) (core.Expression, error) {
	cost, err := env.EstimateCost(checked, noSizes{})
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "expression_cost", "estimate the cost of %q: %w", source, err)
	}
	e := &expression{tracked: cost.Max > CheapCost, source: source}
	if cost.Min > CostLimit {
		return nil, invalid(source, []problem{{line: 1, column: 1,
			message: fmt.Sprintf("the expression costs at least %d units, more than %d", cost.Min, CostLimit)}})
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if e.tracked {
		options = append(options, cel.CostLimit(CostLimit), cel.InterruptCheckFrequency(interruptEvery))
	}
	if e.program, err = env.Program(checked, options...); err != nil {
		// Constant parts are computed here, so a bad regular expression shows here.
		return nil, invalid(source, []problem{{line: 1, column: 1, message: err.Error()}})
	}
	return e, nil
}

// Eval implements [core.Expression]. Errors are sdk.Invalid, reason
// "expression_failed", but for one that costs too much: sdk.Exhausted, reason
// "expression_too_dear".
func (e *expression) Eval(ctx context.Context, vars map[string]any) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, sdk.Wrap("decide "+e.source, err)
	}
	value, err := e.run(ctx, vars)
	if err != nil {
		return false, e.failure(ctx, err)
	}
	decided, ok := value.(types.Bool)
	if !ok {
		return false, sdk.Errorf(sdk.Invalid, "expression_failed",
			"the condition %q gave %s, not bool", e.source, value.Type().TypeName()).
			WithHint("compare the value with something, so that the answer is yes or no")
	}
	return bool(decided), nil
}

func (e *expression) run(ctx context.Context, vars map[string]any) (value ref.Val, err error) {
	if !e.tracked {
		value, _, err = e.program.Eval(vars)
		return value, err
	}
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	value, _, err = e.program.ContextEval(ctx, vars)
	return value, err
}

func (e *expression) failure(ctx context.Context, err error) error {
	var stopped interpreter.EvalCancelledError
	switch {
	case ctx.Err() != nil:
		return sdk.Wrap("decide "+e.source, ctx.Err())
	case errors.Is(err, interpreter.InterruptError{}):
		return sdk.Errorf(sdk.Exhausted, "expression_too_dear", "the condition %q took longer than %s", e.source, MaxTime).
			WithHint("look at fewer elements: some 10,000 are no trouble")
	case errors.As(err, &stopped) && stopped.Cause == interpreter.CostLimitExceeded:
		return sdk.Errorf(sdk.Exhausted, "expression_too_dear",
			"the condition %q took more than %d units of work", e.source, CostLimit).
			WithHint("look at fewer elements, or at one level of nesting less")
	}
	return sdk.Errorf(sdk.Invalid, "expression_failed", "the condition %q failed: %w", e.source, err).
		WithHint("where a key may be missing, ask first: has(state.x) && …")
}

// noSizes is the estimator of an expression about whose values nothing is
// known: the sizes of strings, lists and maps are unbounded.
type noSizes struct{}

func (noSizes) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }

func (noSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
