package format_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reflectory/reflectory/policy/format"
)

// A file beyond a bound is refused, and says by how much.
func TestBounds(t *testing.T) {
	deep := func(n int) string {
		text := "rule: "
		for range n {
			text += "{match: [{rule: "
		}
		return text + "{match: [{output: '1'}]}" + strings.Repeat("}]}", n)
	}
	variables := "rule:\n  variables:\n"
	for i := range format.MaxNested + 1 {
		variables += fmt.Sprintf("    - {name: v%d, expression: '1'}\n", i)
	}
	for name, test := range map[string]struct{ text, want string }{
		"bytes":      {"#" + strings.Repeat(" ", format.MaxFileBytes), "the file has more than 262144 bytes"},
		"depth":      {deep(format.MaxRuleDepth), "rules nest deeper than 20"},
		"YAML depth": {"rule: " + strings.Repeat("[", 5000), "nested deeper than 64"},
		"matches":    {"rule:\n  match:\n" + strings.Repeat("    - {output: '1'}\n", format.MaxMatches+1), "match has more than 1000 elements"},
		"variables":  {variables + "  match: [{output: '1'}]\n", "variables has more than 100 elements"},
		"expression": {"rule: {match: [{output: '" + strings.Repeat(" ", format.MaxExpressionBytes) + "1'}]}", "output has 16385 bytes, more than 16384"},
		"characters": {"rule: \x1b", "control character U+001B"},
		"encoding":   {"rule: \xff", "isn't UTF-8"},
		"masks":      {"mask: [" + strings.Repeat("a,", format.MaxList+1) + "]\nrule: {match: [{output: '1'}]}", "mask has more than 100 elements"},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := format.Parse("p.yaml", []byte(test.text))
			if err := found.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.200v", err)
			}
		})
	}
	if _, found := format.Parse("p.yaml", []byte(deep(format.MaxRuleDepth-1))); found.Err() != nil {
		t.Error(found.Err())
	}
}

// Places are found through every way to write a text, beyond ASCII too.
func TestPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		yaml         string
		line, column int // in the expression
		want         format.Pos
	}{
		"plain":           {"rule: {match: [{output: 1 + 2}]}", 1, 5, format.Pos{Line: 1, Column: 29}},
		"single quoted":   {"rule: {match: [{output: '''a'' + b'}]}", 1, 7, format.Pos{Line: 1, Column: 34}},
		"double quoted":   {"rule: {match: [{output: \"'ä' + \\\"b\\\" + c\"}]}", 1, 13, format.Pos{Line: 1, Column: 40}},
		"folded plain":    {"rule:\n  match:\n  - output: a &&\n      b", 1, 6, format.Pos{Line: 4, Column: 7}},
		"literal block":   {"rule:\n  match:\n  - output: |\n      'ä' +\n        b", 2, 9, format.Pos{Line: 5, Column: 9}},
		"folded block":    {"rule:\n  match:\n  - output: >-\n\n      a +\n      b", 2, 7, format.Pos{Line: 6, Column: 7}},
		"Windows' line":   {"rule:\r\n  match:\r\n  - output: |\r\n      a +\r\n      b\r\n", 2, 7, format.Pos{Line: 5, Column: 7}},
		"byte order mark": {"\ufeffrule: {match: [{output: abc}]}", 1, 1, format.Pos{Line: 1, Column: 25}},
	} {
		t.Run(name, func(t *testing.T) {
			p, found := format.Parse("p.yaml", []byte(test.yaml))
			if found.Err() != nil {
				t.Fatal(found.Err())
			}
			if got := p.Rule.Matches[0].Output.Place(test.line, test.column); got != test.want {
				t.Errorf("%q: got %v, want %v", p.Rule.Matches[0].Output.Value, got, test.want)
			}
		})
	}
}

func TestASuiteKeepsValuesAndExpressions(t *testing.T) {
	suite, found := format.ParseSuite("s.yaml", []byte(`
description: all forms
section:
  - name: forms
    tests:
      - name: one
        input:
          plain: [1, 2.5, true, null, text, {a: 1}]
          said: {value: {value: 1}}
          made: {expr: 1 + 1}
          two: {value: 1, expr: 2}
        output: "'older'"
      - name: two
        output: {value: {verdict: keep}}
`))
	if found.Err() != nil {
		t.Fatal(found.Err())
	}
	first := suite.Sections[0].Cases[0]
	values := map[string]any{}
	for _, in := range first.Inputs {
		values[in.Name] = in.Value
		if in.Expr != nil {
			values[in.Name] = "= " + in.Expr.Value
		}
	}
	want := map[string]any{
		"plain": []any{int64(1), 2.5, true, nil, "text", map[string]any{"a": int64(1)}}, "said": map[string]any{"value": int64(1)},
		"made": "= 1 + 1", "two": map[string]any{"value": int64(1), "expr": int64(2)},
	}
	if diff := cmp.Diff(want, values); diff != "" || first.Output.Expr.Value != "'older'" || first.At.Line != 6 {
		t.Errorf("line %d, output %+v\n%s", first.At.Line, first.Output, diff)
	}
	if diff := cmp.Diff(map[string]any{"verdict": "keep"}, suite.Sections[0].Cases[1].Output.Value); diff != "" {
		t.Error(diff)
	}
}

func TestASuiteReportsAllThatIsWrong(t *testing.T) {
	_, found := format.ParseSuite("s.yaml", []byte("sections: []\nsection:\n  - tests: [{nme: a}, {name: b, output: {expr: [1]}}]\n"))
	var got []string
	for _, p := range found.List() {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message))
	}
	want := []string{
		`1:1 a suite has no key "sections"`, `3:5 a section needs the key "name"`, `3:14 a test needs the key "name"`, `3:14 a test needs the key "output"`,
		`3:14 a test has no key "nme"`, `3:48 expr must be a CEL expression (limit 16384 bytes)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The schema for editors takes what the parser takes, and refuses its mistakes.
func TestSchemaAgreesWithTheParser(t *testing.T) {
	text, err := json.Marshal(format.Schema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("policy.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{ // JSON is YAML
		`{"name": "a", "namespace": "a/**", "shadow": true, "mask": ["a.b"], "imports": [{"name": "a.B"}], "rule": {"id": "r", "variables": [{"name": "v", "expression": "1"}], "match": [{"condition": "true", "output": "1", "explanation": "'x'"}]}}`: true,
		`{"rule": {"match": [{"rule": {"match": [{"output": true}]}}]}}`:                  true,
		`{"rule": {"match": [{"output": "1", "rule": {"match": [{"output": "1"}]}}]}}`:    false,
		`{"rule": {"match": [{"condition": "true"}]}}`:                                    false,
		`{"rule": {"match": []}}`:                                                         false,
		`{"rule": {"match": [{"rule": {"match": [{"output": 1}]}, "explanation": "x"}]}}`: false,
		`{"rules": {}}`: false,
		`{"namespace": "/a", "rule": {"match": [{"output": 1}]}}`:                               false,
		`{"mask": ["1"], "rule": {"match": [{"output": 1}]}}`:                                   false,
		`{"rule": {"variables": [{"name": "1", "expression": "1"}], "match": [{"output": 1}]}}`: false,
		`{"shadow": "yes", "rule": {"match": [{"output": 1}]}}`:                                 false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		_, found := format.Parse("p.yaml", []byte(text))
		if bySchema, byParser := schema.Validate(value) == nil, found.Err() == nil; bySchema != valid || byParser != valid {
			t.Errorf("%s: schema %v, parser %v, want %v", text, bySchema, byParser, valid)
		}
	}
}

// TestAPatternNamesWhatCanBeANamespace: a policy that no namespace can have would
// hold nowhere.
func TestAPatternNamesWhatCanBeANamespace(t *testing.T) {
	for pattern, valid := range map[string]bool{
		"**": true, "a": true, "a/**": true, "café/x/**": true,
		"caf\u00ad/**": false, "secure\u200b": false, "cafe\u0301/**": false, "a/../b": false, "a/.": false,
	} {
		_, found := format.Parse("p.yaml", []byte(`{"namespace": "`+pattern+`", "rule": {"match": [{"output": 1}]}}`))
		if got := found.Err() == nil; got != valid {
			t.Errorf("%q: %v", pattern, found.Err())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"rule: {match: [{output: '1'}]}", "name: a\nrule:\n  match:\n    - condition: |\n        x\n      output: >-\n        y\n", "mask: [a.b]", "rule: &a *a", "- - -", "a: 'b''c'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, found := format.Parse("p.yaml", []byte(text))
		if p.Rule == nil {
			t.Fatal("no rule")
		}
		lines := strings.Count(text, "\n") + 1
		for _, problem := range found.List() {
			if problem.Line < 1 || problem.Column < 1 || problem.Line > lines+1 || strings.Contains(problem.Source, "\n") {
				t.Fatalf("%q: %+v", text, problem)
			}
		}
		for _, m := range p.Rule.Matches {
			if m.Output != nil {
				if at := m.Output.Place(1+len(m.Output.Value)/2, 3); at.Line < 1 || at.Column < 1 {
					t.Fatalf("%q: %v", text, at)
				}
			}
		}
	})
}

func FuzzParseSuite(f *testing.F) {
	f.Add("section: [{name: a, tests: [{name: b, input: {x: {value: 1}}, output: {expr: '1'}}]}]")
	f.Add("section:\n  - name: a\n    tests: [{name: b, output: |\n  x}]")
	f.Fuzz(func(t *testing.T, text string) {
		suite, found := format.ParseSuite("s.yaml", []byte(text))
		if suite == nil || found == nil {
			t.Fatal("nothing")
		}
	})
}
