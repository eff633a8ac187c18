package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/reflectory/reflectory/policy/format"
)

// output is the result of a match: a value, or the fields of a record.
type output struct {
	value *expression
	// fields are in the order of the environment's fields; nil means that a field is left
	// out.
	fields []*expression
}

// output compiles an output. The costs of outputs aren't added, because only one is
// evaluated.
func (c *compiler) output(s *scope, text *format.Text) *output {
	if len(c.env.fields) > 0 {
		return c.record(s, text)
	}
	x := c.compile(s, text)
	if x == nil {
		return nil
	}
	c.agree(x)
	c.costliest(x.costs)
	return &output{value: x}
}

func (c *compiler) costliest(o costs) {
	c.outputs.proven = max(c.outputs.proven, o.proven)
	c.outputs.assumed = max(c.outputs.assumed, o.assumed)
}

// agree checks that all outputs have the same type.
func (c *compiler) agree(x *expression) {
	if c.first == nil {
		c.first = x.kind
		return
	}
	if !c.first.IsAssignableType(x.kind) && !x.kind.IsAssignableType(c.first) {
		c.found.Add(x.text.Place(firstLine(x.text.Value)), "all outputs of a policy are of one type",
			"the output is %s, and an earlier one %s", x.kind, c.first)
	}
}

// record compiles an output that is a map literal, field by field: so each field has its
// own type, and no map is allocated when it runs.
func (c *compiler) record(s *scope, text *format.Text) *output {
	checked := c.check(s, text)
	if checked == nil {
		return nil
	}
	root := checked.NativeRep().Expr()
	at := text.Place(firstLine(text.Value))
	if root.Kind() != ast.MapKind {
		c.found.Add(at, "write it as a literal: "+c.example(), "the output must be a record of %s", c.fieldNames())
		return nil
	}
	out, total := &output{fields: make([]*expression, len(c.env.fields))}, costs{}
	for i, entry := range root.AsMap().Entries() {
		if x := c.field(s, text, checked, i, entry.AsMapEntry(), out); x != nil {
			total = total.plus(x.costs)
		}
	}
	for i, f := range c.env.fields {
		if out.fields[i] == nil && !f.Optional && !c.named(root, f.Name) {
			c.found.Add(at, f.Doc, "the output needs the field %q", f.Name)
		}
	}
	c.costliest(total)
	return out
}

// field compiles one entry of a record.
func (c *compiler) field(s *scope, text *format.Text, checked *cel.Ast, index int, entry ast.MapEntry, out *output) *expression {
	at := place(text, checked, entry.Key())
	name, ok := constantText(entry.Key())
	if !ok {
		c.found.Add(at, "write the field's name in quotes", "a field's name must be a constant")
		return nil
	}
	i := slices.IndexFunc(c.env.fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range c.env.fields {
			names = append(names, f.Name)
		}
		c.found.Add(at, nearest(name, names, ""), "the output has no field %q", name)
		return nil
	}
	if out.fields[i] != nil {
		c.found.Add(at, "remove one of them", "the field %q is there twice", name)
		return nil
	}
	optimizer, err := cel.NewStaticOptimizer(entryOf{index})
	if err != nil {
		panic(err) // the only option is an optimizer
	}
	value, issues := optimizer.Optimize(s.cel, checked)
	if issues.Err() != nil {
		c.found.Add(at, "", "the field %q doesn't compile: %v", name, issues.Err())
		return nil
	}
	x := c.expression(s, text, value)
	if x != nil {
		c.checkField(i, x, place(text, checked, entry.Value()))
		c.checkLiterals(i, text, checked, entry.Value())
		out.fields[i] = x
	}
	return x
}

// checkField checks a field's type.
func (c *compiler) checkField(i int, x *expression, at format.Pos) {
	f, want := c.env.fields[i], c.env.types[i]
	if !want.IsAssignableType(x.kind) && !x.kind.IsExactType(cel.DynType) {
		hint := ""
		if want == cel.DoubleType && x.kind == cel.IntType {
			hint = "write the number with a point: 1.0"
		}
		c.found.Add(at, hint, "%s must be %s, not %s", f.Name, f.Type, x.kind)
	}
}

func (c *compiler) named(root ast.Expr, field string) bool {
	return slices.ContainsFunc(root.AsMap().Entries(), func(e ast.EntryExpr) bool {
		name, ok := constantText(e.AsMapEntry().Key())
		return ok && name == field
	})
}

func (c *compiler) fieldNames() string {
	var names []string
	for _, f := range c.env.fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// example is a record as it would be written.
func (c *compiler) example() string {
	var entries []string
	for _, f := range c.env.fields {
		if !f.Optional {
			entries = append(entries, fmt.Sprintf("%q: …", f.Name))
		}
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// checkMask notes a mask that names no input.
func (c *compiler) checkMask(mask *format.Text) {
	name, _, _ := strings.Cut(mask.Value, ".")
	var names []string
	for _, v := range c.env.variables {
		names = append(names, v.Name)
	}
	if !slices.Contains(names, name) {
		c.found.Add(mask.At, nearest(name, names, ""), "there is no input %q to mask", name)
	}
}

// entryOf extracts the value of one entry from a map literal.
type entryOf struct{ index int }

// Optimize implements cel.ASTOptimizer.
func (e entryOf) Optimize(ctx *cel.OptimizerContext, a *ast.AST) *ast.AST {
	return ctx.NewAST(a.Expr().AsMap().Entries()[e.index].AsMapEntry().Value())
}

// place is the position of an expression in the file.
func place(text *format.Text, checked *cel.Ast, e ast.Expr) format.Pos {
	location := checked.NativeRep().SourceInfo().GetStartLocation(e.ID())
	return text.Place(max(1, location.Line()), max(1, location.Column()+1))
}

func constantText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// oneLine is an expression on one line.
func oneLine(source string) string { return strings.Join(strings.Fields(source), " ") }
