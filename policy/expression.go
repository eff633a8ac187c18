package policy

import (
	"context"
	"errors"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// expression is a compiled condition.
type expression struct {
	condition *program.Condition
	source    string
}

var _ policypoint.Expression = (*expression)(nil)

// Eval implements [policypoint.Expression]. Errors are sdk.Invalid, reason
// "expression_failed". For an expression that costs too much, the error is
// sdk.Exhausted, reason "expression_too_dear".
func (e *expression) Eval(ctx context.Context, vars map[string]any) (bool, error) {
	decided, err := e.condition.Eval(ctx, vars)
	return decided, failed(ctx, "condition", e.source, err)
}

// valueExpression is a compiled expression that gives a value.
type valueExpression struct {
	formula *program.Formula
	source  string
}

var _ policypoint.ValueExpression = (*valueExpression)(nil)

// Value implements [policypoint.ValueExpression]. Its errors are the same as Eval's.
func (e *valueExpression) Value(ctx context.Context, vars map[string]any) (any, error) {
	value, err := e.formula.Value(ctx, vars)
	return value, failed(ctx, "expression", e.source, err)
}

// failed describes why an evaluation failed, if it did.
func failed(ctx context.Context, what, source string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return sdk.Wrap("decide "+source, ctx.Err())
	case errors.Is(err, program.ErrTooLong):
		return sdk.Errorf(sdk.Exhausted, "expression_too_dear", "the %s %q was stopped: %w", what, source, err).
			WithHint("look at fewer elements: some 10,000 are no trouble")
	case errors.Is(err, program.ErrTooDear):
		return sdk.Errorf(sdk.Exhausted, "expression_too_dear", "the %s %q was stopped: %w", what, source, err).
			WithHint("look at fewer elements, or at one level of nesting less")
	}
	return sdk.Errorf(sdk.Invalid, "expression_failed", "the %s %q failed: %w", what, source, err).
		WithHint("if a key may be missing, test for it first: has(state.x) && …")
}
