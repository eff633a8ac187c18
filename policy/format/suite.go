package format

import (
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Bounds of a suite.
const (
	maxSections = 1000
	maxCases    = 10_000
	maxInputs   = 100
)

// Suite is a file of test cases next to a policy, in cel-go's format:
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

// ParseSuite reads a file of test cases. file is its name, for problems only.
func ParseSuite(file string, text []byte) (*Suite, *Problems) {
	suite := &Suite{File: file}
	r := &reader{found: newProblems(file, string(text))}
	root := r.parse(string(text))
	if root == nil {
		return suite, r.found
	}
	m := r.mapping(root, "a suite")
	suite.Description = m.text("description")
	m.text("name")
	m.Need("section")
	count := 0
	for _, item := range m.list("section", maxSections) {
		suite.Sections = append(suite.Sections, r.section(item, &count))
	}
	m.Done()
	return suite, r.found
}

func (r *reader) section(n *document.Node, count *int) Section {
	m := r.mapping(n, "a section")
	m.Need("name")
	s := Section{Name: m.text("name")}
	m.text("description")
	m.Need("tests")
	for _, item := range m.list("tests", maxCases) {
		if *count++; *count > maxCases {
			r.found.Add(item.At, "split the file", "the suite has more than %d cases", maxCases)
			break
		}
		s.Cases = append(s.Cases, r.testCase(item))
	}
	m.Done()
	return s
}

func (r *reader) testCase(n *document.Node) Case {
	m := r.mapping(n, "a test")
	m.Need("name")
	c := Case{At: n.FirstKey(), Name: m.text("name")}
	m.text("description")
	for i, e := range r.inputs(m.Get("input")) {
		if i == maxInputs {
			r.found.Add(m.Get("input").FirstKey(), "", "the case has more than %d inputs", maxInputs)
			break
		}
		c.Inputs = append(c.Inputs, CaseInput{Name: e.Key, At: e.At, Given: r.given(e.Value)})
	}
	if n := m.Need("output"); n != nil {
		c.Output = r.given(n)
		if n.Kind == document.Text { // the older format
			source, _ := scalar(n, r.found.Lines)
			c.Output = Given{Expr: source}
		}
	}
	m.Done()
	return c
}

// inputs are the entries of a case's input.
func (r *reader) inputs(n *document.Node) []document.Entry {
	if n == nil {
		return nil
	}
	return r.mapping(n, "input").Node.Entries
}

// given reads a value, which may be wrapped in value: or expr:.
func (r *reader) given(n *document.Node) Given {
	var key string
	var value *document.Node
	if len(n.Entries) == 1 {
		key, value = n.Entries[0].Key, n.Entries[0].Value
	}
	switch key {
	case "value":
		return Given{Value: r.value(value)}
	case "expr":
		text, ok := scalar(value, r.found.Lines)
		if !ok || len(text.Value) > MaxExpressionBytes {
			r.found.Add(text.At, "", "expr must be a CEL expression (limit %d bytes)", MaxExpressionBytes)
			return Given{}
		}
		return Given{Expr: text}
	}
	return Given{Value: r.value(n)}
}

// value reads a value as JSON would represent it.
func (r *reader) value(n *document.Node) any {
	v, err := jsontext.Decode(n.JSON(nil))
	if err != nil {
		r.found.Add(n.At, "", "this value can't be used here: %v", err)
	}
	return v
}
