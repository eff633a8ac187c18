package schemaeval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// chain is a schema of n definitions, each of which refers to the one before it twice.
func chain(n int, twice string) string {
	var defs []string
	for i := 1; i <= n; i++ {
		ref := fmt.Sprintf(`{"$ref": "#/definitions/d%d"}`, i-1)
		defs = append(defs, fmt.Sprintf(`"d%d": `, i)+strings.ReplaceAll(twice, "REF", ref))
	}
	return fmt.Sprintf(`{"$ref": "#/definitions/d%d", "definitions": {"d0": {"type": "string"}, %s}}`, n, strings.Join(defs, ", "))
}

// A schema that is small to send and endless to judge is refused before it is used.
func TestSchemas_ThatGrowWithoutEndAreRefused(t *testing.T) {
	for name, twice := range map[string]string{
		"allOf":           `{"allOf": [REF, REF]}`,
		"anyOf":           `{"anyOf": [REF, REF]}`,
		"oneOf":           `{"oneOf": [REF, REF]}`,
		"not and allOf":   `{"not": REF, "allOf": [REF]}`,
		"if and then":     `{"if": REF, "then": REF}`,
		"if and else":     `{"if": REF, "else": REF}`,
		"dependencies":    `{"dependencies": {"a": REF, "b": REF}}`,
		"three of a kind": `{"allOf": [REF, {"anyOf": [REF, {"not": REF}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, draft := range []string{"draft7", "2020-12"} {
				_, err := evaluator(`{"draft": "` + draft + `", "schema": ` + chain(30, twice) + `}`)
				if sdk.ReasonOf(err) != "schema_invalid" || !strings.Contains(err.Error(), "rules to check") || !sdk.Permanent(err) {
					t.Errorf("%s: %v", draft, err)
				}
			}
			if _, err := evaluator(`{"schema": ` + chain(8, twice) + `}`); err != nil {
				t.Errorf("of eight: %v", err)
			}
		})
	}
}

// A pattern whose program is large, on a text that is long, isn't matched.
func TestPatterns_ThatCouldTakeTooLongAreNotMatched(t *testing.T) {
	text, _ := json.Marshal([]string{strings.Repeat("a", 1_000_000)})
	for name, schema := range map[string]string{
		"counted":        `{"items": {"pattern": "(a?){1000}b"}}`,
		"nested":         `{"items": {"pattern": "((a?){30}){30}b"}}`,
		"alternatives":   `{"items": {"pattern": "(a|aa|aaa){100}b"}}`,
		"classes":        `{"items": {"pattern": "([ab]{0,9}[^b]{0,9}){30}c"}}`,
		"in 2020-12":     `{"$schema": "https://json-schema.org/draft/2020-12/schema", "items": {"pattern": "(a?){1000}b"}}`,
		"below anyOf":    `{"items": {"anyOf": [{"type": "integer"}, {"pattern": "(a?){500}b"}]}}`,
		"in a reference": `{"items": {"$ref": "#/definitions/p"}, "definitions": {"p": {"pattern": "(a?){500}b"}}}`,
		"not":            `{"items": {"not": {"pattern": "(a?){500}b"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e, err := evaluator(`{"schema": ` + schema + `}`)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: text})
			if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "pattern_too_dear" || !sdk.Permanent(err) || !strings.Contains(err.Error(), "1000000 bytes") {
				t.Errorf("%v", err)
			}
			if _, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`["aaa"]`)}); err != nil {
				t.Errorf("a short text: %v", err)
			}
		})
	}
}
