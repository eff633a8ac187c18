package core

import "context"

// The points at which expressions of a workflow decide, with their variables.
const (
	// PointWhen decides whether a node runs and where goto leads: state.
	PointWhen Point = "when"
	// PointAccept decides whether an attempt passes: valid, score, errors,
	// output, iteration.
	PointAccept Point = "accept"
	// PointStop decides whether a loop gives up: iteration, score, best_score,
	// errors, history, usage.
	PointStop Point = "stop"
	// PointVerdict makes a verdict of what a plug-in outputs that wasn't written for
	// this host: output.
	PointVerdict Point = "verdict"
)

// Expressions compiles conditions. The error of a bad one is sdk.Invalid,
// reason "expression_invalid", with details line and column (from 1, within
// the source) of its first problem.
type Expressions interface {
	Compile(point Point, source string) (Expression, error)
}

// Expression is a compiled condition. It is safe for concurrent use.
type Expression interface {
	// Eval decides. The variables are those of the expression's point, as
	// encoding/json and DecodeJSON make them. A missing key is an error.
	Eval(ctx context.Context, vars map[string]any) (bool, error)
}

// ValueExpressions compiles expressions that give a value of any type. The errors
// are those of [Expressions].
type ValueExpressions interface {
	CompileValue(point Point, source string) (ValueExpression, error)
}

// ValueExpression is a compiled one. It is safe for concurrent use.
type ValueExpression interface {
	// Value is what it gives, as encoding/json would have it: nil, bool, a number,
	// string, []any or map[string]any. The variables are those of its point.
	Value(ctx context.Context, vars map[string]any) (any, error)
}
