package program

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/reflectory/reflectory/policy/format"
)

// The value of a literal is known when a policy is loaded, so a wrong one is reported
// then: a number outside its field's range, a word that its field doesn't allow, a
// division by zero. A policy that is wrong only for some inputs fails when it gets them.

// checkLiterals checks the literals that a field's expression may return: the expression
// itself, or the branches of "condition ? a : b".
func (c *compiler) checkLiterals(i int, text *format.Text, checked *cel.Ast, e ast.Expr) {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
		branches := e.AsCall().Args()[1:]
		for _, branch := range branches {
			c.checkLiterals(i, text, checked, branch)
		}
		return
	}
	if e.Kind() != ast.LiteralKind {
		return
	}
	f, at := c.env.fields[i], place(text, checked, e)
	switch value := scalar(e.AsLiteral()).(type) {
	case string:
		if len(f.Values) > 0 && !slices.Contains(f.Values, value) {
			c.found.Add(at, nearest(value, f.Values, "it is one of "+strings.Join(f.Values, ", ")), "%s can't be %q", f.Name, value)
		}
	case float64:
		c.checkRange(f, value, at)
	case int64:
		c.checkRange(f, float64(value), at)
	}
}

func (c *compiler) checkRange(f Field, value float64, at format.Pos) {
	if f.Range.holds(value) {
		return
	}
	c.found.Add(at, "it is from "+plainNumber(f.Range.Least)+" to "+plainNumber(f.Range.Greatest), "%s can't be %s", f.Name, plainNumber(value))
}

// plainNumber is a number without an exponent.
func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// checkDivisions notes each division by a literal zero.
func (c *compiler) checkDivisions(text *format.Text, checked *cel.Ast) {
	divisions := ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), func(e ast.NavigableExpr) bool {
		if e.Kind() != ast.CallKind {
			return false
		}
		name := e.AsCall().FunctionName()
		return name == operators.Divide || name == operators.Modulo
	})
	for _, e := range divisions {
		by := e.AsCall().Args()[1]
		if by.Kind() != ast.LiteralKind {
			continue
		}
		switch by.AsLiteral() {
		case types.Int(0), types.Uint(0), types.Double(0):
			c.found.Add(place(text, checked, by), "divide by something else", "this divides by zero")
		}
	}
}
