package schemaeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
)

// evaluator prepares a config: JSON text, or a value to encode.
func evaluator(config any) (sdk.Evaluator, error) {
	data, ok := config.(string)
	if !ok {
		encoded, err := json.Marshal(config)
		if err != nil {
			return nil, err
		}
		data = string(encoded)
	}
	p := schemaeval.Plugin()
	return p.Evaluator(context.Background(), json.RawMessage(data))
}

// evaluate judges one output by a config.
func evaluate(t *testing.T, config, output string) *sdk.EvaluateResponse {
	t.Helper()
	e, err := evaluator(config)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const person = `{"type": "object", "required": ["name", "email"], "additionalProperties": false, "properties": {
	"name": {"type": "string", "minLength": 2}, "email": {"type": "string", "pattern": "@"},
	"age": {"type": "integer", "minimum": 0}, "tags": {"type": "array", "items": {"type": "string"}}}}`

func finding(path, schemaPath, code, message string) sdk.Finding {
	return sdk.Finding{Path: path, SchemaPath: schemaPath, Code: code, Message: message}
}

// Each case runs on both engines: the format in an unused definition sends the same
// schema to the other one.
func TestFindingsNameThePlaceTheRuleAndTheReason(t *testing.T) {
	tests := []struct {
		name, schema, output string
		want                 []sdk.Finding
	}{
		{"every error is reported, sorted", person, `{"name": "x", "age": -1, "tags": ["a", 1, 2], "é/~": 0}`, []sdk.Finding{
			finding("", "/additionalProperties", "additionalProperties", `unexpected property "é/~"`),
			finding("", "/required", "required", `missing property "email"`),
			finding("/age", "/properties/age/minimum", "minimum", "must be at least 0, got -1"),
			finding("/name", "/properties/name/minLength", "minLength", "must have at least 2 characters, has 1"),
			finding("/tags/1", "/properties/tags/items/type", "type", "expected string, got number"),
			finding("/tags/2", "/properties/tags/items/type", "type", "expected string, got number"),
		}},
		{"required is one error of the object and names all", person, `{}`, []sdk.Finding{
			finding("", "/required", "required", `missing properties "email", "name"`)}},
		{"type, enum and const fail on their own", `{"type": "string", "enum": ["a", 1], "minLength": 3}`, `[]`, []sdk.Finding{
			finding("", "/enum", "enum", `must be one of "a", 1`),
			finding("", "/type", "type", "expected string, got array")}},
		{"pointers are escaped", `{"properties": {"a/b~": {"type": "null"}}}`, `{"a/b~": 1}`, []sdk.Finding{
			finding("/a~1b~0", "/properties/a~1b~0/type", "type", "expected null, got number")}},
		{"schema paths lead through definitions", `{"properties": {"u": {"$ref": "#/definitions/x y"}}, "definitions": {"x y": {"maximum": 1.5}}}`,
			`{"u": 2}`, []sdk.Finding{finding("/u", "/definitions/x y/maximum", "maximum", "must be at most 1.5, got 2")}},
		{"allOf counts its parts", `{"allOf": [{"minimum": 3}, {"multipleOf": 2}]}`, `1`, []sdk.Finding{
			finding("", "/allOf/0/minimum", "minimum", "must be at least 3, got 1"),
			finding("", "/allOf/1/multipleOf", "multipleOf", "must be a multiple of 2, got 1")}},
		{"anyOf is one error with its reasons", `{"anyOf": [{"type": "string"}, {"required": ["k"], "properties": {"a": {"minimum": 2}}}]}`, `{"a": 1}`, []sdk.Finding{
			finding("", "/anyOf", "anyOf", `matches none of the alternatives: (0) expected string, got object; (1) missing property "k"`)}},
		{"oneOf names the two that match", `{"oneOf": [{"type": "integer"}, {"minimum": 2}]}`, `3`, []sdk.Finding{
			finding("", "/oneOf", "oneOf", "matches the alternatives 0 and 1, but only one is allowed")}},
		{"not", `{"not": {"type": "integer"}}`, `3`, []sdk.Finding{finding("", "/not", "not", `must not match {"type":"integer"}`)}},
		{"if, then", `{"if": {"required": ["a"]}, "then": {"required": ["b"]}}`, `{"a": 1}`, []sdk.Finding{
			finding("", "/then/required", "required", `missing property "b"`)}},
		{"dependencies", `{"dependencies": {"a": ["b"]}}`, `{"a": 1}`, []sdk.Finding{
			finding("", "/dependencies/a", "dependencies", `missing property "b", which "a" needs`)}},
		{"property names are one error", `{"properties": {"o": {"propertyNames": {"maxLength": 1}}}}`, `{"o": {"bb": 1, "aa": 1}, "p": {}}`, []sdk.Finding{
			finding("/o", "/properties/o/propertyNames", "propertyNames",
				`the property name "aa" is not allowed: must have at most 1 character, has 2; the property name "bb" is not allowed: must have at most 1 character, has 2`)}},
		{"false schema", `{"properties": {"a": false}}`, `{"a": 1}`, []sdk.Finding{finding("/a", "/properties/a", "false", "must not be present")}},
		{"contains, unique and tuple", `{"contains": {"const": 9}, "uniqueItems": true, "items": [{}], "additionalItems": false, "maxItems": 1}`, `[1, 1.0]`, []sdk.Finding{
			finding("", "/additionalItems", "additionalItems", "has 1 item too many"),
			finding("", "/contains", "contains", `no item matches {"const":9}`),
			finding("", "/maxItems", "maxItems", "must have at most 1 item, has 2"),
			finding("", "/uniqueItems", "uniqueItems", "items 0 and 1 are equal; all items must differ")}},
		{"big integers are exact", `{"maximum": 9007199254740993}`, `9007199254740994`, []sdk.Finding{
			finding("", "/maximum", "maximum", "must be at most 9007199254740993, got 9007199254740994")}},
		{"one place and rule reached twice counts once", `{"allOf": [{"$ref": "#/definitions/x"}, {"$ref": "#/definitions/x"}], "definitions": {"x": {"type": "null"}}}`, `1`, []sdk.Finding{
			finding("", "/definitions/x/type", "type", "expected null, got number")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for engine, schema := range map[string]string{"gojsonschema": tt.schema, "santhosh-tekuri": detour(t, tt.schema)} {
				got := evaluate(t, `{"schema": `+schema+`}`, tt.output)
				if got.Metadata["engine"] != engine {
					t.Errorf("served by %s, want %s", got.Metadata["engine"], engine)
				}
				if diff := cmp.Diff(tt.want, got.Verdict.Errors); diff != "" {
					t.Errorf("%s: findings (-want +got):\n%s", engine, diff)
				}
				if got.Verdict.Valid {
					t.Errorf("%s: it is valid", engine)
				}
			}
		})
	}
}

// detour adds something that gojsonschema doesn't handle and that nothing uses.
func detour(t *testing.T, schema string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(schema), &m); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(schema))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	definitions, _ := m["definitions"].(map[string]any)
	if definitions == nil {
		definitions = map[string]any{}
	}
	definitions["unused"] = map[string]any{"format": "date"}
	m["definitions"] = definitions
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestDraftsAndTheirFormats(t *testing.T) {
	const email = `"format": "email"}`
	const draft2019, draft2020 = `{"$schema": "https://json-schema.org/draft/2019-09/schema", `, `{"$schema": "https://json-schema.org/draft/2020-12/schema", `
	tests := []struct {
		name, config string
		valid        bool // of "x" as text, where an email is wanted
	}{
		{"asserted by default", `{"schema": {` + email + `}`, false},
		{"asserted in draft 4", `{"schema": {` + email + `, "draft": "draft4"}`, false},
		{"asserted in draft 6", `{"schema": {` + email + `, "draft": "draft6"}`, false},
		{"annotation in 2019-09", `{"schema": {` + email + `, "draft": "2019-09"}`, true},
		{"annotation in 2020-12", `{"schema": {` + email + `, "draft": "2020-12"}`, true},
		{"asserted in 2019-09 on demand", `{"schema": {` + email + `, "draft": "2019-09", "formats": "assert"}`, false},
		{"asserted in 2020-12 on demand", `{"schema": {` + email + `, "draft": "2020-12", "formats": "assert"}`, false},
		{"annotation in draft 7 on demand", `{"schema": {` + email + `, "formats": "annotate"}`, true},
		{"$schema decides: 2019-09", `{"schema": ` + draft2019 + email + `}`, true},
		{"$schema decides: 2020-12", `{"schema": ` + draft2020 + email + `, "draft": "draft4"}`, true},
		{"$schema decides: draft 7", `{"schema": {"$schema": "http://json-schema.org/draft-07/schema#", ` + email + `, "draft": "2020-12"}`, false},
		{"asserted by the format-assertion vocabulary", `{"schema": {"$schema": "urn:meta", ` + email + `, "documents": {"urn:meta": {
			"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:meta", "$vocabulary": {
			"https://json-schema.org/draft/2020-12/vocab/core": true, "https://json-schema.org/draft/2020-12/vocab/format-assertion": true}}}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evaluate(t, tt.config, `"\"x\""`)
			if got.Verdict.Valid != tt.valid {
				t.Fatalf("valid %v, want %v: %v", got.Verdict.Valid, tt.valid, got.Verdict.Errors)
			}
			if !tt.valid && got.Verdict.Errors[0].Code != "format" {
				t.Errorf("got %v, want the format's error", got.Verdict.Errors)
			}
		})
	}
}

// A keyword that one draft asserts and another ignores or refuses shows which draft
// judged. No keyword here prevents gojsonschema from handling drafts 4, 6 and 7.
func TestSchemaKeywordDecidesOverDraftOnBothEngines(t *testing.T) {
	const uri = `"$schema": "http://json-schema.org/draft-0%s/schema#", `
	const newest = `"$schema": "https://json-schema.org/draft/2020-12/schema", `
	constant, conditional := `"properties": {"a": {"const": 1}}`, `"if": {"required": ["a"]}, "then": {"required": ["b"]}`
	tests := []struct {
		name, schema, draft string
		valid               bool
	}{
		{"draft 4 has no const", strings.Replace(uri, "%s", "4", 1) + constant, "draft7", true},
		{"draft 6 has const", strings.Replace(uri, "%s", "6", 1) + constant, "draft4", false},
		{"draft 6 has no if", strings.Replace(uri, "%s", "6", 1) + conditional, "draft7", true},
		{"draft 7 has if", strings.Replace(uri, "%s", "7", 1) + conditional, "draft6", false},
		{"draft 4 by draft", constant, "draft4", true},
		{"draft 6 by draft", conditional, "draft6", true},
		{"2020-12 has dependentRequired", newest + `"dependentRequired": {"a": ["b"]}`, "draft7", false},
		{"draft 7 has no dependentRequired", strings.Replace(uri, "%s", "7", 1) + `"dependentRequired": {"a": ["b"]}`, "2020-12", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			schema := "{" + tt.schema + "}"
			for _, s := range []string{schema, detour(t, schema)} {
				if got := evaluate(t, `{"draft": "`+tt.draft+`", "schema": `+s+`}`, `{"a": 2}`); got.Verdict.Valid != tt.valid {
					t.Errorf("%s by %s: valid %v, want %v", s, got.Metadata["engine"], got.Verdict.Valid, tt.valid)
				}
			}
		})
	}
}

func TestScoring(t *testing.T) {
	for errors, want := range []float64{1, 0.8, 0.6, 0.4, 0.2, 0, 0} {
		output := `{"a": [` + strings.TrimSuffix(strings.Repeat(`"x",`, errors), ",") + `]}`
		schema := `{"properties": {"a": {"items": {"type": "integer"}}}}`
		if got := evaluate(t, `{"schema": `+schema+`}`, output).Verdict.Score; got != want {
			t.Errorf("graded score of %d errors is %v, want %v", errors, got, want)
		}
		if got, want := evaluate(t, `{"scoring": "strict", "schema": `+schema+`}`, output).Verdict.Score, float64(1-min(1, errors)); got != want {
			t.Errorf("strict score of %d errors is %v, want %v", errors, got, want)
		}
	}
}

func TestWhatCannotBeReadScoresZero(t *testing.T) {
	for _, output := range []string{`"no JSON in here"`, `"{\"a\": "`} {
		v := evaluate(t, `{"schema": {"type": "object"}}`, output).Verdict
		if v.Valid || v.Score != 0 || len(v.Errors) != 1 {
			t.Errorf("%s: %+v", output, v)
		}
	}
}
