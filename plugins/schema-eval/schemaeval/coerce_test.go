package schemaeval_test

import (
	"strings"
	"testing"
)

func TestCoercionConvertsWhatTheSchemaDemands(t *testing.T) {
	tests := []struct {
		name, schema, output, want string
		valid                      bool
	}{
		{"numbers and booleans", `{"properties": {"i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}}}`,
			`{"b": "True", "i": "12345678901234567890", "n": " -1.50 "}`, `{"b":true,"i":12345678901234567890,"n":-1.50}`, true},
		{"a whole number written as a fraction", `{"items": {"type": "integer"}}`, `["2.0", "1e3"]`, `[2.0,1e3]`, true},
		{"only where it is demanded", `{"properties": {"s": {"type": "string"}, "i": {"type": "integer"}}}`, `{"s": "1", "i": "1", "x": "1"}`, `{"i":1,"s":"1","x":"1"}`, true},
		{"a matching string stays", `{"type": ["string", "integer"]}`, `"a5"`, ``, true},
		{"what is no number stays", `{"items": {"type": "integer"}}`, `["007", "0x7", "1.5", "", "1e999"]`, ``, false},
		{"a converted value is judged", `{"items": {"type": "integer", "maximum": 10}}`, `["150"]`, `[150]`, false},
		{"through a then", `{"properties": {"k": {"type": "integer"}}, "if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"v": {"type": "boolean"}}}}`,
			`{"k": "1", "v": "false"}`, `{"k":1,"v":false}`, true},
		{"through a reference and an allOf", `{"$ref": "#/definitions/d", "definitions": {"d": {"allOf": [{"properties": {"a": {"type": "integer"}}}]}}}`, `{"a": "1"}`, `{"a":1}`, true},
		{"through a reference in an alternative", `{"anyOf": [{"$ref": "#/definitions/d"}], "definitions": {"d": {"properties": {"a": {"type": "integer"}}}}}`, `{"a": "1"}`, `{"a":1}`, true},
		{"through an allOf in an alternative", `{"anyOf": [{"allOf": [{"properties": {"a": {"type": "integer"}}}]}]}`, `{"a": "1"}`, `{"a":1}`, true},
		{"the alternative that then passes", `{"anyOf": [{"required": ["z"], "properties": {"a": {"type": "boolean"}}}, {"properties": {"a": {"type": "integer"}, "b": {"type": "number"}}}]}`,
			`{"a": "1", "b": "2"}`, `{"a":1,"b":2}`, true},
		{"no alternative passes, nothing changes", `{"oneOf": [{"properties": {"a": {"type": "integer"}}, "required": ["z"]}]}`, `{"a": "1"}`, ``, false},
		{"every item of a long list", `{"items": {"anyOf": [{"type": "boolean"}, {"type": "integer"}, {"type": "null"}]}}`,
			`[` + strings.Repeat(`"1","true",`, 500) + `null]`, `[` + strings.Repeat(`1,true,`, 500) + `null]`, true},
		{"in a text", `{"type": "object", "properties": {"a": {"type": "integer"}}}`, `"{\"a\": \"1\"}"`, `{"a":1}`, true},
		{"a text itself", `{"type": "integer"}`, `"\"5\""`, `5`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evaluate(t, `{"coerce": true, "schema": `+tt.schema+`}`, tt.output).Verdict
			if got.Valid != tt.valid || string(got.Output) != tt.want {
				t.Errorf("got valid %v, output %s; want %v, %s (%v)", got.Valid, got.Output, tt.valid, tt.want, got.Errors)
			}
			if (tt.want != "") != strings.Contains(got.Feedback, "converted ") {
				t.Errorf("feedback %q", got.Feedback)
			}
			if off := evaluate(t, `{"schema": `+tt.schema+`}`, tt.output).Verdict; tt.want != "" && off.Valid {
				t.Error("without coerce it is valid")
			}
		})
	}
}
