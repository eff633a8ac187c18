package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/reflectory/reflectory/policy/celcost"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// VariablePrefix is the prefix of the names of a policy's own variables.
const VariablePrefix = "variables."

// scope is what an expression can name: the inputs, and the variables before it. It is
// immutable.
type scope struct {
	cel *cel.Env
	// bare is cel without the variables, whose types are in kinds.
	bare  *cel.Env
	kinds map[string]*cel.Type
	// slots are the indices of inputs and variables in a run's values.
	slots map[string]int
}

// with returns the scope with one more variable. A variable may hide one of another type,
// which cel-go refuses within one environment, so in that case a new environment is made.
func (s *scope) with(name string, kind *cel.Type) (*scope, error) {
	inner := &scope{bare: s.bare, kinds: maps.Clone(s.kinds), slots: maps.Clone(s.slots)}
	_, hides := inner.kinds[name]
	inner.kinds[name] = kind
	if !hides {
		var err error
		inner.cel, err = s.cel.Extend(cel.Variable(name, kind))
		return inner, err
	}
	var all []cel.EnvOption
	for _, name := range slices.Sorted(maps.Keys(inner.kinds)) {
		all = append(all, cel.Variable(name, inner.kinds[name]))
	}
	var err error
	inner.cel, err = s.bare.Extend(all...)
	return inner, err
}

// expression is a compiled expression.
type expression struct {
	text    *format.Text
	kind    *cel.Type
	program cel.Program
	scope   *scope
	costs   costs
	// tracked is whether cost and cancellation are checked while it runs.
	tracked bool
	// constant is the expression's value if it is constant, else nil.
	constant ref.Val
	// literal is the constant as a Go value.
	literal any
	// reads are the paths into the inputs on which it depends, such as "output.name",
	// sorted.
	reads []string
	// comparisons are the comparisons in a condition.
	comparisons []Comparison
}

// always reports whether a condition is the literal true.
func (x *expression) always() bool { return x == nil || x.constant == types.True }

// compile compiles the source of an expression, or notes the problems.
func (c *compiler) compile(s *scope, text *format.Text) *expression {
	checked := c.check(s, text)
	if checked == nil {
		return nil
	}
	return c.expression(s, text, checked)
}

// check parses and type-checks an expression, or notes its problems.
func (c *compiler) check(s *scope, text *format.Text) *cel.Ast {
	parsed, issues := s.cel.Parse(text.Value)
	if issues.Err() == nil {
		var checked *cel.Ast
		if checked, issues = s.cel.Check(parsed); issues.Err() == nil {
			c.checkDivisions(text, checked)
			return checked
		}
		c.note(issues, parsed.NativeRep(), s, text)
		return nil
	}
	c.note(issues, nil, s, text)
	return nil
}

// expression makes a checked expression runnable.
func (c *compiler) expression(s *scope, text *format.Text, checked *cel.Ast) *expression {
	x := &expression{text: text, kind: checked.OutputType(), scope: s}
	if e := checked.NativeRep().Expr(); e.Kind() == ast.LiteralKind {
		x.constant = e.AsLiteral()
		x.literal = scalar(x.constant)
		return x
	}
	x.reads = c.reads(s, checked)
	if x.kind.IsExactType(cel.BoolType) {
		x.comparisons = s.comparisons(checked)
	}
	var err error
	if x.costs, err = c.env.costsOf(s.cel, checked); err != nil {
		c.found.Add(text.Place(1, 1), "", "the cost can't be estimated: %v", err)
		return nil
	}
	x.tracked = c.track || x.costs.proven > CheapCost
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(steppedMatches)}
	if !x.tracked {
		options = append(options, cel.CustomDecoratorV2(s.bySlot), cel.CustomDecoratorV2(newDoubles(checked).decorate))
	} else {
		options = append(options, celcost.Options(CostLimit, newEstimator(nil, 0))...)
	}
	if x.program, err = s.cel.Program(checked, options...); err != nil {
		// Constant parts are evaluated here, so a bad regular expression is reported
		// here.
		c.found.Add(text.Place(firstLine(text.Value)), "", "%v", err)
		return nil
	}
	return x
}

// note turns cel-go's issues into problems of the file. parsed, if not nil, shows which
// of them are undeclared names.
func (c *compiler) note(issues *cel.Issues, parsed *ast.AST, s *scope, text *format.Text) {
	names := s.names()
	for _, issue := range issues.Errors() {
		at := text.Place(max(1, issue.Location.Line()), max(1, issue.Location.Column()+1))
		if issue.Location.Line() < 1 { // the parser's own limits have no place
			at = text.Place(firstLine(text.Value))
		}
		if called := c.unknownFunction(parsed, issue.ExprID); called != "" {
			c.found.Add(at, c.env.functionHint(called), "there is no function %q", called)
			continue
		}
		name := nameAt(parsed, issue.ExprID)
		if name == "" || slices.Contains(names, name) {
			hint := ""
			if issue.Message == "reserved identifier: namespace" && slices.Contains(names, "ns") {
				hint = "CEL keeps the word; the input is called ns"
			}
			c.found.Add(at, hint, "%s", issue.Message)
			continue
		}
		if short, isVariable := strings.CutPrefix(name, VariablePrefix); isVariable {
			c.found.Add(at, nearest(short, s.variables(), "it must stand before what names it"), "there is no variable %q here", short)
			continue
		}
		c.found.Add(at, nearest(name, names, ""), "nothing here is named %q", name)
	}
}

// nearest is a hint that names the nearest of the known names, or lists them.
func nearest(word string, known []string, fallback string) string {
	if fallback == "" && len(known) > 0 {
		fallback = "the names are " + strings.Join(known, ", ")
	}
	return sdk.DidYouMean(word, known, fallback)
}

// names lists the inputs, sorted.
func (s *scope) names() []string {
	var names []string
	for name := range s.slots {
		if !strings.HasPrefix(name, VariablePrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// variables lists the policy's own variables without their prefix, sorted.
func (s *scope) variables() []string {
	var names []string
	for name := range s.slots {
		if short, ok := strings.CutPrefix(name, VariablePrefix); ok {
			names = append(names, short)
		}
	}
	slices.Sort(names)
	return names
}

// nameAt returns the identifier with an expression id, or "". For the policy's own
// variables it is "variables.name".
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
	name := found[0].AsIdent()
	if parent, ok := found[0].Parent(); ok && name+"." == VariablePrefix && parent.Kind() == ast.SelectKind {
		return VariablePrefix + parent.AsSelect().FieldName()
	}
	return name
}

// firstLine is the position at which the text of an expression begins.
func firstLine(source string) (line, column int) {
	before := source[:len(source)-len(strings.TrimLeft(source, " \t\n"))]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + len(before) - (strings.LastIndexByte(before, '\n') + 1)
}
