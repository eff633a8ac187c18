package program

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A reader of a decision asks how close it was: which number was compared with which limit.
// Conditions are free expressions, but almost all of them compare an input or a variable with
// a constant, or with another input. Those comparisons are found when a policy is compiled, so
// that no display needs a copy of a policy's limits.

// Comparison is a comparison of two numbers in a condition.
type Comparison struct {
	// Name is the path of an input, or a variable of the policy after [VariablePrefix].
	Name string
	// Op is <, <=, >, >=, == or !=.
	Op string
	// With is the name with which it is compared, and Limit the constant if With is "".
	With  string
	Limit float64
}

// comparing is how a function compares, and how it does with its sides exchanged; "" if it
// doesn't compare.
func comparing(function string) (op, exchanged string) {
	switch function {
	case operators.Less:
		return "<", ">"
	case operators.LessEquals:
		return "<=", ">="
	case operators.Greater:
		return ">", "<"
	case operators.GreaterEquals:
		return ">=", "<="
	case operators.Equals:
		return "==", "=="
	case operators.NotEquals:
		return "!=", "!="
	}
	return "", ""
}

// Comparisons lists the comparisons of numbers in the condition of a match, in its order. A
// comparison with anything but a constant or a name isn't listed.
func (p *Program) Comparisons(match string) []Comparison {
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.match.Path == match })
	if i < 0 || p.steps[i].condition == nil {
		return nil
	}
	return p.steps[i].condition.comparisons
}

// comparisons are the comparisons of a checked expression.
func (s *scope) comparisons(checked *cel.Ast) (list []Comparison) {
	tree := checked.NativeRep()
	for _, e := range ast.MatchDescendants(ast.NavigateAST(tree), ast.KindMatcher(ast.CallKind)) {
		op, exchanged := comparing(e.AsCall().FunctionName())
		if op == "" {
			continue
		}
		left, right := e.AsCall().Args()[0], e.AsCall().Args()[1]
		if left.Kind() == ast.LiteralKind {
			left, right, op = right, left, exchanged
		}
		c := Comparison{Name: s.pathOf(left), Op: op}
		if c.Name == "" || !numeric(tree.GetType(left.ID())) {
			continue
		}
		if limit, constant := constantOf(right); constant {
			c.Limit = limit
		} else if c.With = s.pathOf(right); c.With == "" || !numeric(tree.GetType(right.ID())) {
			continue
		}
		list = append(list, c)
	}
	return list
}

// pathOf is the name that an expression consists of, with the fields selected from it; "" if
// it is something else, or a name of a comprehension.
func (s *scope) pathOf(e ast.Expr) string {
	fields := ""
	for ; e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly(); e = e.AsSelect().Operand() {
		fields = "." + e.AsSelect().FieldName() + fields
	}
	if e.Kind() != ast.IdentKind {
		return ""
	}
	if _, known := s.slots[e.AsIdent()]; !known {
		return ""
	}
	return e.AsIdent() + fields
}

// numeric reports whether values of a type are numbers, or may be.
func numeric(t *types.Type) bool {
	switch t.Kind() {
	case types.IntKind, types.UintKind, types.DoubleKind, types.DynKind:
		return true
	}
	return false
}

// constantOf is the value of an expression that is a number.
func constantOf(e ast.Expr) (float64, bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	switch v := e.AsLiteral().(type) {
	case types.Int:
		return float64(v), true
	case types.Uint:
		return float64(v), true
	case types.Double:
		return float64(v), true
	}
	return 0, false
}
