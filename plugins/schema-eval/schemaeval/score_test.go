package schemaeval_test

import "testing"

const sixMembers = `{"type": "object", "required": ["a", "b", "c", "d", "e", "f"],
	"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}, "d": {"type": "string"}, "e": {"type": "string"}, "f": {"type": "string"}}}`

// An object with few mistakes scores better than a nearly empty one; otherwise {} would
// be the best attempt of a loop.
func TestScoreCountsMembersThatAreMissingOrNotAllowed(t *testing.T) {
	for _, c := range []struct {
		schema, output string
		score          float64
		findings       int
	}{
		{sixMembers, `{}`, 0, 1},
		{sixMembers, `{"a": "", "b": "", "c": "", "d": ""}`, 0.6, 1},
		{sixMembers, `{"a": "", "b": "", "c": "", "d": "", "e": 1}`, 0.6, 2},
		{sixMembers, `{"a": "", "b": "", "c": "", "d": "", "e": 1, "f": 2}`, 0.6, 2},
		{`{"additionalProperties": false, "properties": {"a": {}}}`, `{"a": 1, "x": 1, "y": 2, "z": 3}`, 0.4, 1},
		{`{"dependencies": {"a": ["b", "c"]}}`, `{"a": 1}`, 0.6, 1},
		{`{"$schema": "https://json-schema.org/draft/2020-12/schema", "dependentRequired": {"a": ["b", "c"]}}`, `{"a": 1}`, 0.6, 1},
		{`{"$schema": "https://json-schema.org/draft/2020-12/schema", "unevaluatedProperties": false}`, `{"x": 1, "y": 2}`, 0.6, 2},
		{`{"properties": {"x": false, "y": false}}`, `{"x": 1, "y": 2}`, 0.6, 2},
		// The same assertion reached in two ways counts once.
		{`{"definitions": {"r": {"required": ["a", "b"]}}, "allOf": [{"$ref": "#/definitions/r"}, {"$ref": "#/definitions/r"}]}`, `{}`, 0.6, 1},
		// No single alternative is required: they are one assertion together.
		{`{"anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}]}`, `{}`, 0.8, 1},
	} {
		for _, schema := range []string{c.schema, detour(t, c.schema)} { // one for each engine
			v := evaluate(t, `{"schema": `+schema+`}`, c.output).Verdict
			if v.Score != c.score || len(v.Errors) != c.findings || v.Valid {
				t.Errorf("%s: score %g with %d errors, want %g with %d: %v", c.output, v.Score, len(v.Errors), c.score, c.findings, v.Errors)
			}
		}
	}
	strict := evaluate(t, `{"scoring": "strict", "schema": `+sixMembers+`}`, `{"a": "", "b": "", "c": "", "d": "", "e": ""}`).Verdict
	if strict.Score != 0 {
		t.Errorf("strict: score %g", strict.Score)
	}
}
