package policy

import (
	"fmt"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// MaxSourceBytes bounds an expression's source: 16 KiB, some 200 lines.
const MaxSourceBytes = format.MaxExpressionBytes

// expressions compiles against one environment per point. It is immutable.
type expressions struct {
	points map[policypoint.Point]*program.Env
}

// NewExpressions returns the compiler of a workflow's conditions. It is safe
// for concurrent use.
//
// Numbers of different types are compared by value (1 == 1.0 == 1u), integers stay exact,
// and a missing key is an error, which has() avoids. An expression must give a bool: an
// expression that is known to have another type doesn't compile, and an expression whose
// type is only known at run time is checked at run time.
func NewExpressions() policypoint.Expressions { return environments() }

// NewValueExpressions returns the compiler of expressions that give a value, such as a
// verdict made from a plug-in's output. It is safe for concurrent use.
func NewValueExpressions() policypoint.ValueExpressions { return environments() }

// environments makes the environments once, since that takes milliseconds, and every workflow that
// is read needs them.
var environments = sync.OnceValue(newExpressions)

func newExpressions() *expressions {
	e := &expressions{points: map[policypoint.Point]*program.Env{}}
	for point, variables := range pointVariables() {
		env, err := program.NewEnv(program.Options{Variables: variables})
		if err != nil {
			panic(fmt.Sprintf("policy: environment of point %s: %v", point, err)) // the table below is wrong
		}
		e.points[point] = env
	}
	return e
}

// pointVariables is the table of the points of expressions, and the variables of each.
func pointVariables() map[policypoint.Point][]program.Variable {
	const object, list = "map(string, dyn)", "list(dyn)"
	return map[policypoint.Point][]program.Variable{
		policypoint.When:    {{Name: "state", Type: object, Doc: "the state, including the result of each node that ran before"}},
		policypoint.Verdict: {{Name: "output", Type: "dyn", Doc: "what the function returned: its JSON, else its text"}},
		policypoint.Accept: {
			{Name: "valid", Type: "bool", Doc: "whether the verdict is valid"},
			{Name: "score", Type: "double", Doc: "the verdict's score, 0 to 1"},
			{Name: "errors", Type: list, Doc: "the verdict's findings"},
			{Name: "output", Type: "dyn", Doc: "the attempt's output"},
			{Name: "iteration", Type: "int", Doc: "the attempt's number, from 1"},
		},
		policypoint.Stop: {
			{Name: "iteration", Type: "int", Doc: "the attempt's number, from 1"},
			{Name: "score", Type: "double", Doc: "the attempt's score"},
			{Name: "best_score", Type: "double", Doc: "the best attempt's score"},
			{Name: "errors", Type: list, Doc: "the attempt's findings"},
			{Name: "history", Type: list, Doc: "the attempts so far, the oldest first, as many as history_limit allows"},
			{Name: "usage", Type: object, Doc: "what the loop consumed: tokens_in, tokens_out, tokens, cost_usd, wall_ms"},
		},
	}
}

// ExpressionVariables are what the expressions of a point may name; none if policies
// decide.
func ExpressionVariables(point policypoint.Point) []program.Variable { return pointVariables()[point] }

// Compile implements [policypoint.Expressions]. The error's details also hold
// "problems": every problem, as maps of line, column, message and hint.
func (e *expressions) Compile(point policypoint.Point, source string) (policypoint.Expression, error) {
	x := &expression{source: source}
	err := e.compile(point, source, func(env *program.Env, text *format.Text, found *format.Problems) {
		x.condition = program.CompileCondition(env, text, found)
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// CompileValue implements [policypoint.ValueExpressions], with the same errors.
func (e *expressions) CompileValue(point policypoint.Point, source string) (policypoint.ValueExpression, error) {
	x := &valueExpression{source: source}
	err := e.compile(point, source, func(env *program.Env, text *format.Text, found *format.Problems) {
		x.formula = program.CompileFormula(env, text, found)
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (e *expressions) compile(point policypoint.Point, source string, compile func(*program.Env, *format.Text, *format.Problems)) error {
	env, ok := e.points[point]
	if !ok {
		return sdk.Errorf(sdk.Internal, "policy_point_unknown", "there is no policy point %q", point)
	}
	text, found := format.Source(source)
	begin := format.Pos{Line: 1, Column: 1}
	switch {
	case len(source) > MaxSourceBytes:
		found.Add(begin, "", "the expression has %d bytes, more than %d", len(source), MaxSourceBytes)
	case strings.TrimSpace(source) == "":
		found.Add(begin, "", "the expression is empty")
	default:
		compile(env, text, found)
	}
	if found.Len() > 0 {
		return invalid(found.List())
	}
	return nil
}

// invalid makes the one error that reports every problem of an expression.
func invalid(problems []format.Problem) error {
	lines := make([]string, len(problems))
	list := make([]map[string]any, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
		list[i] = map[string]any{"line": p.Line, "column": p.Column, "message": p.Message}
		if p.Hint != "" {
			list[i]["hint"] = p.Hint
		}
	}
	err := sdk.Errorf(sdk.Invalid, "expression_invalid", "%s", strings.Join(lines, "\n"))
	err.Hint = problems[0].Hint
	return err.WithDetail("line", problems[0].Line).
		WithDetail("column", problems[0].Column).
		WithDetail("problems", list)
}
