package template

import (
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of a template and its rendering.
const (
	// MaxSource bounds a template's text: 256 KiB holds a long prompt with its
	// examples.
	MaxSource = 256 << 10
	// MaxOutput bounds what a template writes, and any text on the way: 4 MiB,
	// the size of a file that a workflow may name.
	MaxOutput = 4 << 20
	// maxWork bounds a rendering, in steps of the evaluator and blocks of 64
	// bytes handled: less than a second.
	maxWork = 2_000_000
	// maxBrackets bounds the nesting of brackets, and maxBlocks the nesting of blocks,
	// since both are parsed by recursion.
	maxBrackets = 50
	maxBlocks   = 50
	// maxProblems bounds how many problems are looked for in one template, as many as an
	// error lists: each wrong name is compared with all that exist.
	maxProblems = 100
	// maxValueDepth bounds the nesting of values that a template builds.
	maxValueDepth = 256
)

// Is reports whether a text contains template syntax.
func Is(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	nodes []nodes.Node
	// single is the one {{ expr }} that the template consists of, or nil.
	single *nodes.Output
	macros map[string]*macroTag
}

// Problem is one thing wrong with a template.
type Problem struct {
	// Offset is where, in bytes from the template's beginning.
	Offset  int
	Message string
	// Hint describes what to do about it, if that is known.
	Hint string
}

// Compile parses and checks a template. names are the variables that it may use. It
// returns all problems that it finds, at most 100, or none.
func Compile(source string, names []string) (*Template, []Problem) {
	if len(source) > MaxSource {
		return nil, []Problem{{Message: fmt.Sprintf("the template has %d bytes, more than %d", len(source), MaxSource)}}
	}
	tree, problem := parse(source)
	if problem != nil {
		return nil, withRaw(source, []Problem{*problem})
	}
	macros, problems := check(tree, names)
	if len(problems) > 0 {
		return nil, withRaw(source, problems)
	}
	t := &Template{nodes: tree, macros: macros}
	if len(tree) == 1 && strings.HasPrefix(source, "{{") && strings.HasSuffix(source, "}}") {
		t.single, _ = tree[0].(*nodes.Output)
	}
	return t, nil
}

// withRaw adds to the problems of a text that may not be meant as a template, such as
// JSON or a set in braces, how to write it as text.
func withRaw(source string, problems []Problem) []Problem {
	const raw = "put text that has {{ or {# in it between {% raw %} and {% endraw %}"
	for i, p := range problems {
		before := source[:min(p.Offset+1, len(source))]
		begin := max(strings.LastIndex(before, "{{"), strings.LastIndex(before, "{#"))
		if begin < 0 || begin+2 >= len(source) || strings.ContainsRune(" -\n", rune(source[begin+2])) {
			continue
		}
		if p.Hint != "" {
			problems[i].Hint += "; "
		}
		problems[i].Hint += raw
	}
	return problems
}

// Single reports whether the template is exactly one {{ expr }}, so that its
// value has a type.
func (t *Template) Single() bool { return t.single != nil }

// Text renders the template as text. The variables are as jsontext.Decode makes
// them. Errors are sdk.Invalid, reason "template_failed" or "template_undefined",
// or sdk.Exhausted, reason "template_too_large".
func (t *Template) Text(vars map[string]any) (string, error) {
	r := t.render(vars)
	if err := r.nodes(t.nodes); err != nil {
		return "", err
	}
	return r.out.String(), nil
}

// JSON renders a single {{ expr }} as its value's JSON, and any other template
// as text in JSON. Object keys are sorted.
func (t *Template) JSON(vars map[string]any) ([]byte, error) {
	r := t.render(vars)
	var value any
	var err error
	if t.single != nil {
		value, err = r.output(t.single)
	} else if err = r.nodes(t.nodes); err == nil {
		value = r.out.String()
	}
	if err != nil {
		return nil, err
	}
	return r.encode(nil, value, 0)
}

func (t *Template) render(vars map[string]any) *render {
	return &render{given: vars, vars: vars, macros: t.macros, filters: filters}
}

// failed is the error of an expression that has no value.
func failed(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "template_failed", format, args...)
}
