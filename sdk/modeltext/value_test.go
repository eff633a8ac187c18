package modeltext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

func TestValue_IsTheOneInTheText(t *testing.T) {
	tests := []struct{ name, text, value, note string }{
		{"object alone", " {\"a\": 1}\n", `{"a": 1}`, ""},
		{"scalar alone", "12.50", `12.50`, ""},
		{"string alone", `"hé\u00e9"`, `"hé\u00e9"`, ""},
		{"a tiny number", `[1e-999]`, `[1e-999]`, ""},
		{"big integer stays as written", `[123456789012345678901234567890]`, `[123456789012345678901234567890]`, ""},
		{"byte order mark", "\ufeff[1]", `[1]`, ""},
		{"json fence", "```json\n{\"a\": 1}\n```", `{"a": 1}`, modeltext.NoteFence},
		{"JSON fence in capitals", "```JSON\n[]\n```\n", `[]`, modeltext.NoteFence},
		{"unclosed json fence", "```json\n[1]\n", `[1]`, modeltext.NoteFence},
		{"json fence on one line", "```json {\"a\":1} ```", `{"a":1}`, modeltext.NoteFence},
		{"scalar in a json fence", "```json\n5\n```", `5`, modeltext.NoteFence},
		{"marks inside a string", "```json\n{\"a\": \"```x```\"}\n```", "{\"a\": \"```x```\"}", modeltext.NoteFence},
		{"unmarked fence", "```\n{\"a\": 1}\n```", `{"a": 1}`, modeltext.NoteFence},
		{"fence and prose", "Here:\n```json\n{\"a\": 1}\n```\nDone.", `{"a": 1}`, modeltext.NoteBoth},
		{"json fence wins over prose", "Not {\"b\": 2} but\n```json\n{\"a\": 1}\n```", `{"a": 1}`, modeltext.NoteBoth},
		{"json fence after another", "```go\nx := []int{1}\n```\n```json\n[2]\n```", `[2]`, modeltext.NoteBoth},
		{"prose", `The answer is {"a": [1, 2]}. I hope it helps!`, `{"a": [1, 2]}`, modeltext.NoteProse},
		{"brackets in prose that are not JSON", `As [said] {here}: {"a": 1}`, `{"a": 1}`, modeltext.NoteProse},
		{"empty object in prose", `Nothing: {}`, `{}`, modeltext.NoteProse},
		{"a thought before it", "<think>{\"a\": 1}?</think>\n{\"b\": 2}", `{"b": 2}`, modeltext.NoteProse},
		{"a scalar after a thought", " <think>5? [6]?</think> 7", `7`, modeltext.NoteProse},
		{"a thought with a fence", "<think>\n```json\n{}\n```\n</think>\n```json\n[1]\n```", `[1]`, modeltext.NoteFence},
		{"many open braces", strings.Repeat("{", 1000) + "{}", `{}`, modeltext.NoteProse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, note, err := modeltext.Value(tt.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(value) != tt.value || note != tt.note {
				t.Errorf("got %s, note %q; want %s, note %q", value, note, tt.value, tt.note)
			}
		})
	}
}

func TestValue_ErrorsNameThePlace(t *testing.T) {
	tests := []struct{ name, text, reason, message string }{
		{"empty", "", "json_not_found", "line 1, column 1: no JSON value in the text"},
		{"prose only", "I can't do that.", "json_not_found", "no JSON value"},
		{"bare words", "yes", "json_not_found", "no JSON value"},
		{"truncated", "{\"a\": [1,\n 2", "json_invalid", "line 2, column 3: the text ends where ',' or ']' is expected"},
		{"trailing comma", "{\"a\": 1,}", "json_invalid", "line 1, column 9: found '}' where a member name"},
		{"single quotes", "{'a': 1}", "json_invalid", `line 1, column 2: found '\'' where a member name in double quotes is expected`},
		{"part of a broken value is not taken", `Result: {"a": {"b": 1}, c}`, "json_invalid", "column 25"},
		{"broken next to a whole one", `{"a": 1, b} {"c": 1}`, "json_invalid", "column 10"},
		{"column counts characters", `{"é": é}`, "json_invalid", "line 1, column 7: found 'é'"},
		{"raw line break in a string", "{\"a\": \"x\ny\"}", "json_invalid", "raw control character"},
		{"bad escape", `{"a": "\x"}`, "json_invalid", "column 9: found 'x' where an escape"},
		{"bad unicode escape", `{"a": "\u12g4"}`, "json_invalid", "hexadecimal digit"},
		{"leading zero", `{"a": 01}`, "json_invalid", "column 8"},
		{"a number out of range", `{"a": 1, "b": -1e999}`, "json_invalid", "line 1, column 15: the number -1e999 is out of range"},
		{"a number of many digits", "[" + strings.Repeat("9", 400) + "]", "json_invalid", "column 2: the number 99999999999999999999 is out of range"},
		{"number without digits", `{"a": -}`, "json_invalid", "a digit"},
		{"two values", `{"a": 1} and {"b": 2}`, "json_ambiguous", "line 1, column 14: a second JSON value"},
		{"two values after a thought", "<think>{}\né</think>{} {}", "json_ambiguous", "line 2, column 13: a second JSON value"},
		{"a thought without end", `<think> {"a": 1}`, "json_not_found", "no JSON value"},
		{"two json fences", "```json\n1\n```\n```json\n2\n```", "json_ambiguous", "line 5, column 1: a second JSON value"},
		{"broken json fence", "{\"a\": 1}\n```json\n{\"a\" 1}\n```", "json_invalid", "line 3, column 6: found '1' where ':'"},
		{"text after the value in a fence", "```json\n{} x\n```", "json_invalid", "line 2, column 4: more text after"},
		{"too deep", strings.Repeat("[", 300) + strings.Repeat("]", 300), "json_too_deep", "nested deeper than 256 levels"},
		{"too large", strings.Repeat(" ", modeltext.MaxBytes+1), "json_too_large", "(limit 8388608)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, _, err := modeltext.Value(tt.text, nil)
			if err == nil {
				t.Fatalf("got %s, want an error", value)
			}
			if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != tt.reason {
				t.Errorf("got %s/%s, want invalid/%s", sdk.CodeOf(err), sdk.ReasonOf(err), tt.reason)
			}
			if !strings.Contains(err.Error(), tt.message) {
				t.Errorf("message %q doesn't contain %q", err, tt.message)
			}
		})
	}
}

func TestValue_CitationsAreNoValues(t *testing.T) {
	tests := []struct{ name, text, value, reason string }{
		{"a citation before it", `As in [1]: {"a": [2]}`, `{"a": [2]}`, ""},
		{"a citation after it", "{\"a\": 1}\n\nReferences: [1]", `{"a": 1}`, ""},
		{"several", `[1] {"a": 1} [2, 3] [10]`, `{"a": 1}`, ""},
		{"next to a list of texts", `["a"], see [1]`, `["a"]`, ""},
		{"nested", `{"a": 1} [[1], [2]]`, `{"a": 1}`, ""},
		{"a list alone", `the list [1]`, `[1]`, ""},
		{"two lists", `[1] and [2]`, "", "json_ambiguous"},
		{"an empty list is a value", `[] {"a": 1}`, "", "json_ambiguous"},
		{"two objects", `{"a": 1} [1] {"b": 2}`, "", "json_ambiguous"},
		{"a list that holds an object", `[{"a": 1}] {"b": 2}`, "", "json_ambiguous"},
		{"a broken list of objects", `[{"a": 1}, {"b" {"c": 3}`, "", "json_invalid"},
		{"fractions", `[1.5] {"b": 2}`, "", "json_ambiguous"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, _, err := modeltext.Value(tt.text, nil)
			if string(value) != tt.value || sdk.ReasonOf(err) != tt.reason {
				t.Errorf("got %s, %v; want %s, reason %q", value, err, tt.value, tt.reason)
			}
		})
	}
}

func TestValue_DeepestAllowedNesting(t *testing.T) {
	text := strings.Repeat("[", modeltext.MaxDepth) + strings.Repeat("]", modeltext.MaxDepth)
	if _, _, err := modeltext.Value(text, nil); err != nil {
		t.Fatal(err)
	}
}

// A quadratic reader would read 10^11 bytes for one of these, and the test wouldn't
// finish.
func TestValue_HostileTextInLinearTime(t *testing.T) {
	for _, piece := range []string{"{", "[", "[[1,", `{"a`, `{"`, "```json\n", "```", "\n```x", `["\u00`, "{}", `[1,{"`} {
		t.Run(fmt.Sprintf("%q", piece), func(t *testing.T) {
			text := strings.Repeat(piece, (1<<20)/len(piece))
			if value, _, err := modeltext.Value(text, nil); err == nil {
				t.Errorf("got a value of %d bytes, want an error", len(value))
			}
		})
	}
}

func FuzzValue(f *testing.F) {
	for _, seed := range []string{`{"a": 1}`, "```json\n[1]\n```", "x {\"a\": \"}\"} y", "{{{{", "[1] [2]", `"\ud800"`, "```\n{}", "1e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, _, err := modeltext.Value(text, nil)
		if err != nil {
			if sdk.CodeOf(err) != sdk.Invalid || value != nil {
				t.Fatalf("error %v of class %s with value %s", err, sdk.CodeOf(err), value)
			}
			if json.Valid([]byte(text)) && sdk.ReasonOf(err) != "json_too_deep" && !strings.Contains(err.Error(), "is out of range") {
				t.Fatalf("valid JSON is refused: %v", err)
			}
			return
		}
		if !json.Valid(value) {
			t.Fatalf("returned %q, which isn't JSON", value)
		}
		if !strings.Contains(text, string(value)) {
			t.Fatalf("returned %q, which isn't in the text", value)
		}
	})
}
