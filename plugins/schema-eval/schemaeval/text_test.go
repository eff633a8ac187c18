package schemaeval_test

import (
	"encoding/json"
	"testing"
)

func TestTextIsParsedFirst(t *testing.T) {
	const object = `{"type": "object", "required": ["a"]}`
	tests := []struct {
		name, schema, text string
		valid              bool
		output, feedback   string
		first              string // message of the first finding
	}{
		{"plain JSON", object, `{"a": 12345678901234567890123}`, true, `{"a": 12345678901234567890123}`, "parsed from text", ""},
		{"code fence", object, "```json\n{\"a\": 1}\n```", true, `{"a": 1}`, "parsed from text: removed code fence", ""},
		{"prose", object, `Sure: {"a": 1}!`, true, `{"a": 1}`, "parsed from text: removed the text around the JSON value", ""},
		{"a thought", object, "<think>{\"b\": 1}</think>{\"a\": 1}", true, `{"a": 1}`, "parsed from text: removed the text around the JSON value", ""},
		{"parsed and wrong", object, `{"b": 1}`, false, `{"b": 1}`, "parsed from text", `missing property "a"`},
		{"not JSON", object, "{\"a\": 1,\n \"b\" 2}", false, "", "", "the text is not JSON: line 2, column 6: found '2' where ':' is expected"},
		{"prose only", `{"required": ["a"]}`, "I can't", false, "", "", "the text is not JSON: line 1, column 1: no JSON value in the text"},
		{"two values", object, `{"a": 1} {"a": 2}`, false, "", "", "the text is not JSON: line 1, column 10: a second JSON value"},
		{"a schema of text takes text", `{"type": "string", "minLength": 3}`, "hello there", true, "", "", ""},
		{"a schema of text takes text that is JSON", `{"type": "string"}`, "42", true, "", "", ""},
		{"a schema of text judges text", `{"type": "string", "minLength": 3}`, "no", false, "", "", "must have at least 3 characters, has 2"},
		{"a schema of text judges digits as text", `{"type": "string", "minLength": 3}`, "42", false, "", "", "must have at least 3 characters, has 2"},
		{"an enum of text takes text", `{"enum": ["yes", "no"]}`, "yes", true, "", "", ""},
		{"text or object prefers the object", `{"anyOf": [{"type": "string"}, {"type": "object"}]}`, `{"a": 1}`, true, `{"a": 1}`, "parsed from text", ""},
		{"a JSON string in the text is judged without its quotes", `{"type": "string", "maxLength": 3}`, `"four"`, false, `"four"`, "parsed from text", "must have at most 3 characters, has 4"},
		{"a JSON string in the text", `{"type": "string"}`, `"quoted"`, true, `"quoted"`, "parsed from text", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got := evaluate(t, `{"schema": `+tt.schema+`}`, string(text)).Verdict
			if got.Valid != tt.valid || string(got.Output) != tt.output || got.Feedback != tt.feedback {
				t.Errorf("got valid %v, output %s, feedback %q; want %v, %s, %q", got.Valid, got.Output, got.Feedback, tt.valid, tt.output, tt.feedback)
			}
			if tt.first != "" && (len(got.Errors) != 1 || got.Errors[0].Message != tt.first) {
				t.Errorf("got %v, want one finding %q", got.Errors, tt.first)
			}
		})
	}
}
