package llmeval_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// misfit is the error of a call whose reply must match a schema.
func misfit(t *testing.T, schema, reply string) *sdk.Error {
	t.Helper()
	server := llmtest.New(t, llmtest.Text(reply))
	_, err := newGenerator(t, configFor(server.URL, object{"prompt": "p", "response_schema": json.RawMessage(schema)})).Generate(t.Context(), &sdk.GenerateRequest{})
	return sdkError(t, err)
}

// The next prompt has the error of a reply: it says of each format what is wanted, with an example,
// and nothing of the language that this is written in.
func TestResponseSchema_SaysWhatFormatsWant(t *testing.T) {
	data, err := os.ReadFile("../../internal/schema/testdata/formats.json")
	if err != nil {
		t.Fatal(err)
	}
	var formats map[string]struct{ Bad, Want []string }
	if err := json.Unmarshal(data, &formats); err != nil {
		t.Fatal(err)
	}
	for format, c := range formats {
		for _, bad := range c.Bad {
			quoted := string(mustJSON(bad))
			e := misfit(t, `{"properties": {"x": {"format": "`+format+`"}}}`, `{"x": `+quoted+`}`)
			for _, want := range append(c.Want, "at /x: ", quoted, "is not a valid "+format+": want ") {
				if e.Reason != "llm_reply_invalid" || !strings.Contains(e.Message, want) {
					t.Errorf("%s of %s: %q doesn't say %q", bad, format, e.Message, want)
				}
			}
			for _, word := range []string{"2006", "parsing ", "strconv", "netip", "error parsing", "invalid character", "%!", "map[", "<nil>", "…"} {
				if strings.Contains(e.Message, word) {
					t.Errorf("%q has %q", e.Message, word)
				}
			}
		}
	}
}

func TestResponseSchema_MisfitsAreCompleteAndPlain(t *testing.T) {
	for name, c := range map[string]struct{ schema, reply, want string }{
		"two places":          {`{"properties": {"a": {"type": "integer"}, "b": {"minLength": 3}}}`, `{"a": "x", "b": "no"}`, "at /a: expected integer, got string; at /b: must have at least 3 characters, has 2"},
		"the root":            {`{"required": ["a", "b"]}`, `{}`, `at its root: missing properties "a", "b"`},
		"a long enum":         {`{"items": {"not": {"enum": ["x"]}}, "properties": {"a": {"enum": ["` + strings.Repeat("word ", 80) + `", "last"]}}}`, `{"a": "x"}`, `word ", "last"`},
		"a long pattern":      {`{"properties": {"a": {"pattern": "^(` + strings.Repeat("alternative|", 30) + `last)$"}}}`, `{"a": "x"}`, `last)$`},
		"alternatives":        {`{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{}`, `(0) missing property "a"; (1) missing property "b"`},
		"not allowed":         {`{"additionalProperties": false}`, `{"zz": 1}`, `unexpected property "zz"`},
		"one of two":          {`{"properties": {"a": {"oneOf": [{"type": "string"}, {"minLength": 0}]}}}`, `{"a": "x"}`, "matches the alternatives 0 and 1, but only one is allowed"},
		"a large number":      {`{"properties": {"a": {"maximum": 1e21}}}`, `{"a": 1e22}`, "must be at most 1000000000000000000000, got 10000000000000000000000"},
		"equal items":         {`{"properties": {"a": {"uniqueItems": true}}}`, `{"a": [1, 2, 1]}`, "items 0 and 2 are equal; all items must differ"},
		"a long number":       {`{"properties": {"a": {"maximum": 5}}}`, `{"a": 0.` + strings.Repeat("1", 1_100) + `}`, "it has a number of 1102 digits"},
		"in a draft of today": {`{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": {"format": "date"}}}`, `{"a": "soon"}`, "YYYY-MM-DD"},
	} {
		e := misfit(t, c.schema, c.reply)
		if e.Reason != "llm_reply_invalid" || !strings.Contains(e.Message, c.want) || sdk.Permanent(e) {
			t.Errorf("%s: %s: %q doesn't say %q", name, e.Reason, e.Message, c.want)
		}
	}
}

// A reply that a schema judges without end is refused by counting, however many values it has.
func TestResponseSchema_ChecksAreBounded(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	list := strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40)
	const twice = `{"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}`
	for name, c := range coretest.Some(4, map[string]struct{ schema, reply, reason string }{
		"properties":               {twice, deep, "schema_invalid"},
		"in a fence":               {twice, "Here:\n```json\n" + deep + "\n```", "schema_invalid"},
		"one of several values":    {twice, `{"a": 1} or ` + deep + ` or {"a": 2}`, "schema_invalid"},
		"items":                    {`{"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}`, list, "schema_invalid"},
		"patternProperties":        {`{"patternProperties": {"a": {"$ref": "#"}, "^a": {"$ref": "#"}}}`, deep, "schema_invalid"},
		"anyOf":                    {`{"anyOf": [{"required": ["b"], "properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}`, deep, "schema_invalid"},
		"if":                       {`{"if": {"properties": {"a": {"$ref": "#"}}}, "then": {"properties": {"a": {"$ref": "#"}}}}`, deep, "schema_invalid"},
		"$dynamicRef":              {`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicAnchor": "n", "allOf": [{"properties": {"a": {"$dynamicRef": "#n"}}}, {"properties": {"a": {"$dynamicRef": "#n"}}}]}`, deep, "schema_invalid"},
		"a pattern":                {`{"properties": {"a": {"pattern": "(a?){1000}b"}}}`, `{"a": "` + strings.Repeat("a", 1_000_000) + `"}`, "pattern_too_dear"},
		"many values, each a part": {`{"allOf": [` + strings.TrimSuffix(strings.Repeat(`{"required": ["x"]},`, 2_000), ",") + `]}`, strings.Repeat(`{"a": 1} `, 5_000), "schema_invalid"},
	}) {
		t.Run(name, func(t *testing.T) {
			if e := misfit(t, c.schema, c.reply); e.Reason != c.reason || !sdk.Permanent(e) || e.Details[sdk.UsageDetail] == nil {
				t.Errorf("%s: %s, %v", e.Reason, e.Message, e.Details)
			}
		})
	}
}

// What can be seen in the schema is refused before a model is asked.
func TestResponseSchema_ThatCostsTooMuchIsRefused(t *testing.T) {
	twice := func(n int) string {
		defs := `"d0": {}`
		for i := range n {
			ref := `{"$ref": "#/definitions/d` + string(mustJSON(i)) + `"}`
			defs += `, "d` + string(mustJSON(i+1)) + `": {"allOf": [` + ref + `, ` + ref + `]}`
		}
		return `{"$ref": "#/definitions/d` + string(mustJSON(n)) + `", "definitions": {` + defs + `}}`
	}
	for name, c := range map[string]struct{ schema, want string }{
		"a billion rules":      {twice(30), "rules to check"},
		"a loop":               {`{"$ref": "#"}`, "without going into the value"},
		"another document":     {`{"$ref": "https://example.org/x"}`, "never fetched"},
		"deep":                 {strings.Repeat(`{"not":`, 300) + "{}" + strings.Repeat("}", 300), "nested deeper"},
		"many":                 {`{"allOf": [` + strings.Repeat("{},", 20_000) + `{}]}`, "subschemas"},
		"a number":             {`{"multipleOf": 1e-1000000}`, "exponent"},
		"a pattern":            {`{"pattern": "(?=x)"}`, "at /pattern"},
		"a type that is wrong": {`{"properties": {"a": {"type": "strin"}}}`, "at /properties/a/type"},
	} {
		_, err := plugin(t).Generator(t.Context(), configFor("http://127.0.0.1:1", object{"prompt": "p", "response_schema": json.RawMessage(c.schema)}))
		if e := sdkError(t, err); e.Reason != "config_invalid" || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %s: %s", name, e.Reason, e.Message)
		}
	}
}
