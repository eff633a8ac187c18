package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// MaxSourceBytes bounds an expression's source: 16 KiB, some 200 lines.
const MaxSourceBytes = 16 << 10

// Bounds of the parser, so that a hostile source can't exhaust the stack.
const (
	maxNesting     = 100 // levels of brackets and operators
	maxParseErrors = 20  // problems reported before the parser gives up
)

// expressions compiles against one environment per point. It is immutable.
type expressions struct {
	points map[core.Point]*cel.Env
}

// NewExpressions returns the compiler of a workflow's conditions. It is safe
// for concurrent use.
//
// Numbers of different types compare by value (1 == 1.0 == 1u), integers stay
// exact, and a key that is missing is an error, which has() avoids. An
// expression must decide yes or no: one whose type is known to be another
// doesn't compile, and one whose type shows only at run time is checked there.
func NewExpressions() core.Expressions {
	e := &expressions{points: map[core.Point]*cel.Env{}}
	for point, variables := range pointVariables() {
		options := []cel.EnvOption{
			cel.CrossTypeNumericComparisons(true),
			cel.DefaultUTCTimeZone(true),
			cel.ParserExpressionSizeLimit(MaxSourceBytes),
			cel.ParserRecursionLimit(maxNesting),
			cel.ParserErrorRecoveryLimit(maxParseErrors),
		}
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			options = append(options, cel.Variable(name, variables[name]))
		}
		env, err := cel.NewEnv(options...)
		if err != nil {
			panic(fmt.Sprintf("policy: environment of point %s: %v", point, err)) // the table below is wrong
		}
		e.points[point] = env
	}
	return e
}

// pointVariables is the table of policy points: what an expression may name.
func pointVariables() map[core.Point]map[string]*cel.Type {
	object := cel.MapType(cel.StringType, cel.DynType)
	list := cel.ListType(cel.DynType)
	return map[core.Point]map[string]*cel.Type{
		core.PointWhen: {"state": object},
		core.PointAccept: {
			"valid": cel.BoolType, "score": cel.DoubleType, "errors": list,
			"output": cel.DynType, "iteration": cel.IntType,
		},
		core.PointStop: {
			"iteration": cel.IntType, "score": cel.DoubleType, "best_score": cel.DoubleType,
			"errors": list, "history": list, "usage": object,
		},
	}
}

// Compile implements [core.Expressions]. The error's details also hold
// "problems": every problem, as maps of line, column, message and hint.
func (e *expressions) Compile(point core.Point, source string) (core.Expression, error) {
	env, ok := e.points[point]
	if !ok {
		return nil, sdk.Errorf(sdk.Internal, "policy_point_unknown", "there is no policy point %q", point)
	}
	if len(source) > MaxSourceBytes {
		return nil, invalid(source, []problem{{line: 1, column: 1,
			message: fmt.Sprintf("the expression has %d bytes, more than %d", len(source), MaxSourceBytes)}})
	}
	if strings.TrimSpace(source) == "" {
		return nil, invalid(source, []problem{{line: 1, column: 1, message: "the expression is empty"}})
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, invalid(source, problemsOf(issues, nil, env))
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, invalid(source, problemsOf(issues, parsed.NativeRep(), env))
	}
	if out := checked.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, invalid(source, []problem{{line: 1, column: 1,
			message: fmt.Sprintf("the expression gives %s, and a condition must give bool", out),
			hint:    `compare it with something, as in "size(errors) == 0"`}})
	}
	return newExpression(env, checked, source)
}

// problemsOf turns cel-go's issues into ours. The parsed expression, where
// there is one, tells which of them are names that nobody declared.
func problemsOf(issues *cel.Issues, parsed *ast.AST, env *cel.Env) []problem {
	var declared []string
	for _, v := range env.Variables() {
		declared = append(declared, v.Name())
	}
	slices.Sort(declared)
	var problems []problem
	for _, issue := range issues.Errors() {
		p := problem{
			line:    max(1, issue.Location.Line()), // the parser's own limits have no place
			column:  max(1, issue.Location.Column()+1),
			message: issue.Message,
		}
		if name := nameAt(parsed, issue.ExprID); name != "" && !slices.Contains(declared, name) {
			p.message = fmt.Sprintf("nothing here is named %q", name)
			p.hint = "the names are " + strings.Join(declared, ", ")
			if near := core.Nearest(name, declared); near != "" {
				p.hint = fmt.Sprintf("did you mean %q?", near)
			}
		}
		problems = append(problems, p)
	}
	return problems
}

// nameAt returns the identifier at an expression id, or "".
func nameAt(parsed *ast.AST, id int64) string {
	if parsed == nil {
		return ""
	}
	found := ast.MatchDescendants(ast.NavigateAST(parsed), func(e ast.NavigableExpr) bool {
		return e.ID() == id && e.Kind() == ast.IdentKind
	})
	if len(found) == 0 {
		return ""
	}
	return found[0].AsIdent()
}
