package program

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// Explanation names a match's explanation for [Program.Reads].
const Explanation = "explanation"

// reads lists the paths into the inputs on which a checked expression depends: the paths that it
// names itself, and the paths of the variables that it names. A name in a comprehension that is
// also an input's name counts as the input.
func (c *compiler) reads(s *scope, checked *cel.Ast) []string {
	var paths []string
	idents := ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.KindMatcher(ast.IdentKind))
	for _, e := range idents {
		slot, known := s.slots[e.AsIdent()]
		switch own := slot - len(c.env.variables); {
		case !known: // a name of a comprehension
		case own < 0:
			paths = append(paths, pathFrom(e))
		case c.variables[own].expression != nil:
			paths = append(paths, c.variables[own].expression.reads...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// pathFrom is a name with the fields selected from it.
func pathFrom(e ast.NavigableExpr) string {
	path := e.AsIdent()
	for {
		parent, ok := e.Parent()
		if !ok || parent.Kind() != ast.SelectKind {
			return path
		}
		path += "." + parent.AsSelect().FieldName()
		e = parent
	}
}

// Reads reports whether a part of a match depends on an input or a path into one: a field
// of its output, by the field's name, or its [Explanation]. A missing part depends on
// nothing.
func (p *Program) Reads(match, part, path string) bool {
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.match.Path == match })
	if i < 0 {
		return false
	}
	s := &p.steps[i]
	if part == Explanation {
		return s.explanation.dependsOn(path)
	}
	field := slices.IndexFunc(p.env.fields, func(f Field) bool { return f.Name == part })
	return field >= 0 && s.output != nil && s.output.fields[field].dependsOn(path)
}

// Inputs lists the paths into the inputs on which any part of a match depends, sorted.
func (p *Program) Inputs(match string) (paths []string) {
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.match.Path == match })
	if i < 0 {
		return nil
	}
	s := &p.steps[i]
	parts := []*expression{s.condition, s.explanation}
	if s.output != nil {
		parts = append(append(parts, s.output.value), s.output.fields...)
	}
	for _, x := range parts {
		if x != nil {
			paths = append(paths, x.reads...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Names reports whether any part of the policy depends on an input or a path into one.
func (p *Program) Names(path string) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool {
		if s.condition.dependsOn(path) || s.explanation.dependsOn(path) {
			return true
		}
		return s.output != nil && (s.output.value.dependsOn(path) ||
			slices.ContainsFunc(s.output.fields, func(x *expression) bool { return x.dependsOn(path) }))
	})
}

// dependsOn reports whether an expression, which may be nil, reads the value at a path,
// something in it, or something that contains it.
func (x *expression) dependsOn(path string) bool {
	return x != nil && slices.ContainsFunc(x.reads, func(read string) bool {
		return strings.HasPrefix(read+".", path+".") || strings.HasPrefix(path+".", read+".")
	})
}
