package format

import (
	"math"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Bounds of a suite.
const (
	maxSections = 1000
	maxCases    = 10_000
	maxInputs   = 100
)

// Suite is a file of test cases beside a policy, in cel-go's format:
//
//	description: …
//	section:
//	  - name: promotion
//	    tests:
//	      - name: a proven memory
//	        input:
//	          uses: 5                        # a value as it is
//	          tags: {value: [a, b]}          # the same, said so
//	          limit: {expr: 2.0 * 3.0}       # a CEL expression without names
//	        output: {value: {verdict: promote}}
//
// An output is {value: …}, {expr: …}, or a text, which is an expression.
type Suite struct {
	File        string
	Description string
	Sections    []Section
}

// Section is a named group of cases.
type Section struct {
	Name  string
	Cases []Case
}

// Case is one test of a policy.
type Case struct {
	At     Pos
	Name   string
	Inputs []CaseInput
	Output Given
}

// CaseInput is a named input of a case.
type CaseInput struct {
	Name string
	At   Pos
	Given
}

// Given is a value of a case: a CEL expression, or a value as JSON holds it.
type Given struct {
	Expr  *Text
	Value any
}

// ParseSuite reads a file of test cases. The name is for problems only.
func ParseSuite(file string, text []byte) (*Suite, *Problems) {
	suite := &Suite{File: file}
	r := &reader{found: newProblems(file, string(text))}
	root := tree(strings.TrimPrefix(string(text), "\ufeff"), r.found)
	if root == nil {
		return suite, r.found
	}
	m := r.mapping(root, "a suite")
	suite.Description = m.text("description")
	m.text("name")
	m.need("section")
	count := 0
	for _, item := range m.list("section", maxSections) {
		suite.Sections = append(suite.Sections, r.section(item, &count))
	}
	m.done()
	return suite, r.found
}

func (r *reader) section(n ast.Node, count *int) Section {
	m := r.mapping(n, "a section")
	m.need("name")
	s := Section{Name: m.text("name")}
	m.text("description")
	m.need("tests")
	for _, item := range m.list("tests", maxCases) {
		if *count++; *count > maxCases {
			r.found.Add(position(item.GetToken()), "split the file", "the suite has more than %d cases", maxCases)
			break
		}
		s.Cases = append(s.Cases, r.testCase(item))
	}
	m.done()
	return s
}

func (r *reader) testCase(n ast.Node) Case {
	m := r.mapping(n, "a test")
	m.need("name")
	c := Case{At: m.at, Name: m.text("name")}
	m.text("description")
	if n := m.get("input"); n != nil {
		inputs := r.mapping(n, "input")
		for i, v := range inputs.values {
			if i == maxInputs {
				r.found.Add(inputs.at, "", "the case has more than %d inputs", maxInputs)
				break
			}
			c.Inputs = append(c.Inputs, CaseInput{Name: v.Key.GetToken().Value, At: position(v.Key.GetToken()), Given: r.given(v.Value)})
		}
	}
	if n := m.need("output"); n != nil {
		c.Output = r.given(n)
		if text, isText := n.(*ast.StringNode); isText { // the older form
			source, _ := scalar(text, r.found.lines)
			c.Output = Given{Expr: source}
		}
		if block, isBlock := n.(*ast.LiteralNode); isBlock {
			source, _ := scalar(block, r.found.lines)
			c.Output = Given{Expr: source}
		}
	}
	m.done()
	return c
}

// given reads a value, which may say what it is.
func (r *reader) given(n ast.Node) Given {
	var key string
	var value ast.Node
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) == 1 {
			key, value = n.Values[0].Key.GetToken().Value, n.Values[0].Value
		}
	case *ast.MappingValueNode:
		key, value = n.Key.GetToken().Value, n.Value
	}
	switch key {
	case "value":
		return Given{Value: r.value(value, 0)}
	case "expr":
		text, ok := scalar(value, r.found.lines)
		if !ok || len(text.Value) > MaxExpressionBytes {
			r.found.Add(text.At, "", "expr must be a CEL expression of at most %d bytes", MaxExpressionBytes)
			return Given{}
		}
		return Given{Expr: text}
	}
	return Given{Value: r.value(n, 0)}
}

// value reads a value as JSON would hold it.
func (r *reader) value(n ast.Node, depth int) any {
	if depth > maxDepth {
		r.found.Add(position(n.GetToken()), "", "the YAML is nested deeper than %d levels", maxDepth)
		return nil
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.IntegerNode:
		return integer(n.Value)
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.SequenceNode:
		list := []any{}
		for _, v := range n.Values {
			list = append(list, r.value(v, depth+1))
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		object := map[string]any{}
		for _, v := range r.mapping(n, "a value").values {
			object[v.Key.GetToken().Value] = r.value(v.Value, depth+1)
		}
		return object
	}
	r.found.Add(position(n.GetToken()), "", "this value can't be used here: JSON has no such number or type")
	return nil
}

// integer is a whole number as core.DecodeJSON makes it.
func integer(v any) any {
	switch v := v.(type) {
	case int64:
		return v
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	}
	return v
}
