package policy

import (
	"context"
	"errors"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// expression is a compiled condition.
type expression struct {
	condition *program.Condition
	source    string
}

var _ core.Expression = (*expression)(nil)

// Eval implements [core.Expression]. Errors are sdk.Invalid, reason
// "expression_failed", but for one that costs too much: sdk.Exhausted, reason
// "expression_too_dear".
func (e *expression) Eval(ctx context.Context, vars map[string]any) (bool, error) {
	decided, err := e.condition.Eval(ctx, vars)
	switch {
	case err == nil:
		return decided, nil
	case ctx.Err() != nil:
		return false, sdk.Wrap("decide "+e.source, ctx.Err())
	case errors.Is(err, program.ErrTooLong):
		return false, sdk.Errorf(sdk.Exhausted, "expression_too_dear", "the condition %q was stopped: %w", e.source, err).
			WithHint("look at fewer elements: some 10,000 are no trouble")
	case errors.Is(err, program.ErrTooDear):
		return false, sdk.Errorf(sdk.Exhausted, "expression_too_dear", "the condition %q was stopped: %w", e.source, err).
			WithHint("look at fewer elements, or at one level of nesting less")
	}
	return false, sdk.Errorf(sdk.Invalid, "expression_failed", "the condition %q failed: %w", e.source, err).
		WithHint("where a key may be missing, ask first: has(state.x) && …")
}
