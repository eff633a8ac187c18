package policypoint

import "context"

// The points at which expressions of a workflow decide, with their variables.
const (
	// When decides whether a node runs and where goto leads: state.
	When Point = "when"
	// Accept decides whether an attempt passes: valid, score, errors,
	// output, iteration.
	Accept Point = "accept"
	// Stop decides whether a loop gives up: iteration, score, best_score,
	// errors, history, usage.
	Stop Point = "stop"
	// Verdict makes a verdict from the output of a plug-in that wasn't written for
	// this host: output.
	Verdict Point = "verdict"
)

// Expressions compiles conditions. If one is invalid, the error is sdk.Invalid, reason
// "expression_invalid", with details line and column (from 1, within the source) of its
// first problem.
type Expressions interface {
	Compile(point Point, source string) (Expression, error)
}

// Expression is a compiled condition. It is safe for concurrent use.
type Expression interface {
	// Eval decides. vars are the variables of the expression's point, as encoding/json
	// and DecodeJSON make them. A missing key is an error.
	Eval(ctx context.Context, vars map[string]any) (bool, error)
}

// ValueExpressions compiles expressions that give a value of any type. Its errors are
// the same as [Expressions]'s.
type ValueExpressions interface {
	CompileValue(point Point, source string) (ValueExpression, error)
}

// ValueExpression is a compiled expression. It is safe for concurrent use.
type ValueExpression interface {
	// Value returns the expression's value, as encoding/json would have it: nil, bool, a
	// number, string, []any or map[string]any. vars are the variables of its point.
	Value(ctx context.Context, vars map[string]any) (any, error)
}
