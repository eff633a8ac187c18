package schemaeval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// nested is a value that lies this deep in members named a, or in lists.
func nested(deep int, list bool) string {
	before, after := `{"a":`, "}"
	if list {
		before, after = "[", "]"
	}
	return strings.Repeat(before, deep) + "1" + strings.Repeat(after, deep)
}

// many is a list of n times the same.
func many(item string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// A schema that leads into the value on two paths at each level judges a value that is nested n
// deep 2ⁿ times. The evaluation counts what it judges, and ends.
func TestSteps_OutputsThatTakeTooManyAreRefused(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	const d7, d19, d20 = "draft7", "2019-09", "2020-12"
	member, items := nested(60, false), nested(60, true)
	in := func(keyword string) string {
		return `{"allOf": [{"` + keyword + `": {"a": REF}}, {"` + keyword + `": {"a": REF}}]}`
	}
	of := func(keyword string) string {
		return `{"allOf": [{"` + keyword + `": REF}, {"` + keyword + `": REF}]}`
	}
	numbers := "[0"
	for n := range 15_000 {
		numbers += fmt.Sprint(",", n+1)
	}
	numbers += "]"
	wide := many(`{"type": "string"}`, 15_000)
	for name, c := range coretest.Some(12, map[string]struct{ draft, schema, output string }{
		"properties":            {d7, in("properties"), member},
		"through a definition":  {d7, `{"definitions": {"x": {"properties": {"a": {"$ref": "#/definitions/y"}}}, "y": {"allOf": [{"$ref": "#/definitions/x"}, {"$ref": "#/definitions/x"}]}}, "$ref": "#/definitions/y"}`, member},
		"patternProperties":     {d7, in("patternProperties"), member},
		"two patterns":          {d7, `{"patternProperties": {"a": REF, "^a": REF}}`, member},
		"pattern and property":  {d7, `{"properties": {"a": REF}, "patternProperties": {"a": REF}}`, member},
		"additionalProperties":  {d7, of("additionalProperties"), member},
		"items":                 {d7, of("items"), items},
		"items and contains":    {d7, `{"items": REF, "contains": REF}`, items},
		"a list of items":       {d7, `{"anyOf": [{"items": [REF], "minItems": 9}, {"items": [REF]}]}`, items},
		"additionalItems":       {d7, `{"allOf": [{"items": [{}], "additionalItems": REF}, {"items": [{}], "additionalItems": REF}]}`, strings.Repeat("[0,", 60) + "1" + strings.Repeat("]", 60)},
		"anyOf":                 {d7, `{"anyOf": [{"required": ["b"], "properties": {"a": REF}}, {"properties": {"a": REF}}]}`, member},
		"oneOf":                 {d7, `{"oneOf": [{"required": ["b"], "properties": {"a": REF}}, {"properties": {"a": REF}}]}`, member},
		"not":                   {d7, `{"properties": {"a": REF}, "not": {"type": "object", "properties": {"a": {"not": REF}}}}`, member},
		"not not":               {d7, `{"allOf": [{"not": {"not": {"properties": {"a": REF}}}}, {"not": {"not": {"properties": {"a": REF}}}}]}`, member},
		"below not, failing":    {d7, `{"not": {"$ref": "#/definitions/x"}, "definitions": {"x": {"type": ["array", "string"], "anyOf": [{"items": {"$ref": "#/definitions/x"}}, {"items": {"$ref": "#/definitions/x"}}]}}}`, items},
		"if and then":           {d7, `{"if": {"properties": {"a": REF}}, "then": {"properties": {"a": REF}}}`, member},
		"if and else":           {d7, `{"if": {"properties": {"a": {"not": REF}}}, "else": {"properties": {"a": REF}}}`, member},
		"dependencies":          {d7, `{"dependencies": {"a": {"properties": {"a": REF}}}, "properties": {"a": REF}}`, member},
		"dependentSchemas":      {d20, `{"dependentSchemas": {"a": {"properties": {"a": REF}}}, "properties": {"a": REF}}`, member},
		"prefixItems":           {d20, `{"allOf": [{"prefixItems": [REF]}, {"prefixItems": [REF]}]}`, items},
		"items of 2020-12":      {d20, of("items"), items},
		"unevaluatedProperties": {d20, of("unevaluatedProperties"), member},
		"unevaluatedItems":      {d20, of("unevaluatedItems"), items},
		"$dynamicRef":           {d20, `{"$dynamicAnchor": "n", "allOf": [{"properties": {"a": {"$dynamicRef": "#n"}}}, {"properties": {"a": {"$dynamicRef": "#n"}}}]}`, member},
		"$recursiveRef":         {d19, `{"$recursiveAnchor": true, "allOf": [{"properties": {"a": {"$recursiveRef": "#"}}}, {"properties": {"a": {"$recursiveRef": "#"}}}]}`, member},
		"an anchor":             {d20, `{"$anchor": "n", "allOf": [{"properties": {"a": {"$ref": "#n"}}}, {"properties": {"a": {"$ref": "#n"}}}]}`, member},
		"without a loop":        {d7, strings.Replace(chain(60, `{"allOf": [{"properties": {"a": REF}}, {"properties": {"a": REF}}]}`), `{"type": "string"}`, "{}", 1), member},
		"many rules for each":   {d7, `{"items": {"allOf": ` + wide + `}}`, many(`"x"`, 100_000)},
		"a long enum":           {d7, `{"items": {"enum": ` + numbers + `}}`, many("-1", 10_000)},
		"equal items, again":    {d7, `{"allOf": ` + many(`{"uniqueItems": true}`, 10_000) + `}`, many(many("1", 1_000), 100)},
		"a long text, again":    {d7, `{"allOf": ` + many(`{"minLength": 1}`, 15_000) + `}`, `["` + strings.Repeat("x", 5_000_000) + `"]`},
		"patterns, again":       {d7, `{"items": {"allOf": ` + many(`{"pattern": "^(a|b|c)*$"}`, 1_000) + `}}`, `["` + strings.Repeat("a", 1_000_000) + `"]`},
	}) {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "a long text") {
				c.schema = `{"items": ` + c.schema + `}`
			}
			schema := strings.ReplaceAll(c.schema, "REF", `{"$ref": "#"}`)
			e, err := evaluator(fmt.Sprintf(`{"draft": "%s", "coerce": %v, "schema": %s}`, c.draft, len(name)%2 == 0, schema))
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(c.output)})
			if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "schema_invalid" || !sdk.Permanent(err) || !strings.Contains(err.Error(), "rules to check") {
				t.Error(err)
			}
			for _, small := range []string{`1`, nested(3, false), nested(3, true)} { // the next evaluation begins again
				if _, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(small)}); err != nil {
					t.Errorf("%s: %v", small, err)
				}
			}
		})
	}
}

// What people write is judged, also if it leads back to itself, or if the output is large.
func TestSteps_LargeOutputsAndTreesAreJudged(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	kinds := make([]string, 8)
	for i := range kinds {
		kinds[i] = fmt.Sprintf(`{"required": ["kind"], "properties": {"kind": {"const": "k%d"}, "of": {"type": "array", "items": {"$ref": "#"}}}}`, i)
	}
	tree := `{"kind": "k7"}`
	for range 5 {
		tree = `{"kind": "k3", "of": [` + tree + `,` + tree + `]}`
	}
	for name, c := range coretest.Some(3, map[string]struct{ schema, output string }{
		"a list of lists":      {`{"items": {"$ref": "#"}}`, nested(250, true)},
		"a chain of members":   {`{"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}`, nested(250, false)},
		"a tree of kinds":      {`{"anyOf": [` + strings.Join(kinds, ",") + `]}`, tree},
		"a long list":          {`{"items": {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "integer", "minimum": 0}, "name": {"type": "string", "minLength": 1}}}}`, many(`{"id": 7, "name": "ann"}`, 100_000)},
		"many values to match": {`{"items": {"enum": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]}}`, many(`"j"`, 300_000)},
		"a long text":          {`{"items": {"type": "string", "minLength": 10}}`, `["` + strings.Repeat("x", 7_000_000) + `"]`},
	}) {
		t.Run(name, func(t *testing.T) {
			for _, s := range []string{c.schema, detour(t, c.schema)} {
				if got := evaluate(t, `{"schema": `+s+`}`, c.output).Verdict; !got.Valid {
					t.Errorf("%+v", got.Errors[:1])
				}
			}
		})
	}
}

// A message about alternatives within alternatives stays one that can be read.
func TestFindings_OfNestedAlternativesAreBounded(t *testing.T) {
	schema := `{"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"const": 1}}}, {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"const": 2}}}]}`
	got := evaluate(t, `{"schema": `+schema+`}`, nested(15, false)).Verdict
	if len(got.Errors) != 1 || len(got.Errors[0].Message) > 20_000 {
		t.Errorf("%d errors, the first with %d bytes", len(got.Errors), len(got.Errors[0].Message))
	}
}
