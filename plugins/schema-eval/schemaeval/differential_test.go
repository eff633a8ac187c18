package schemaeval

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/plugins/internal/schema"
)

// Both engines must agree on the schemas that gojsonschema handles.
func TestEnginesAgreeOnWhatGojsonschemaServes(t *testing.T) { rapid.Check(t, enginesAgree) }

func FuzzEnginesAgree(f *testing.F) { f.Fuzz(rapid.MakeFuzz(enginesAgree)) }

func enginesAgree(t *rapid.T) {
	draft := rapid.SampledFrom([]string{"draft4", "draft6", "draft7"}).Draw(t, "draft")
	g := schemaGen{t: t, draft: draft}
	root := g.object(3)
	root["definitions"] = map[string]any{"x": g.schema(1), "y": g.schema(1)}
	source := mustJSON(t, root)
	e, err := prepare(mustJSON(t, map[string]any{"schema": source, "draft": draft}))
	if err != nil || e.gate == nil {
		return // a reference loop, or a limit that only the other engine reads
	}
	for range 4 {
		instance := mustJSON(t, g.instance(3))
		value, err := schema.Decode(instance, schema.MaxOutputBytes)
		if err != nil {
			t.Fatal(err)
		}
		check, err := e.schema.Begin()
		if err != nil {
			t.Fatal(err)
		}
		j := &judging{evaluator: e, check: check, gate: e.gate}
		other := check.Validate(value) == nil
		if got := e.gate.matches(value); got != other {
			t.Fatalf("%s\nschema   %s\ninstance %s\ngojsonschema says %v, the other engine %v", draft, source, instance, got, other)
		}
		found, err := j.examine(value)
		if err != nil {
			t.Fatal(err)
		}
		check.End(&err)
		if other != (len(found.findings) == 0) {
			t.Fatalf("schema %s\ninstance %s\nvalid %v with %v", source, instance, other, found.findings)
		}
	}
}

func mustJSON(t *rapid.T, v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// schemaGen draws schemas of drafts 4, 6 and 7, and instances similar to them. Both are
// drawn from few names and values, so that they often match.
type schemaGen struct {
	t     *rapid.T
	draft string
}

func (g schemaGen) pick(names ...string) string { return rapid.SampledFrom(names).Draw(g.t, "pick") }
func (g schemaGen) upTo(n int) int              { return rapid.IntRange(0, n).Draw(g.t, "n") }
func (g schemaGen) name() string                { return g.pick("a", "b", "ab", "é", "a/b", "0") }

func (g schemaGen) schema(depth int) any {
	if g.draft != "draft4" && g.upTo(12) == 0 {
		return g.upTo(1) == 0
	}
	if g.upTo(10) == 0 {
		return map[string]any{"$ref": g.pick("#", "#/definitions/x", "#/definitions/y")}
	}
	return g.object(depth)
}

func (g schemaGen) object(depth int) map[string]any {
	m := map[string]any{}
	for range 1 + g.upTo(3) {
		if depth > 0 && g.upTo(2) > 0 {
			g.applicator(m, depth-1)
		} else {
			g.assertion(m)
		}
	}
	return m
}

func (g schemaGen) assertion(m map[string]any) {
	key := g.pick("type", "types", "enum", "const", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusive",
		"multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required")
	switch key {
	case "type":
		m["type"] = g.pick("string", "integer", "number", "boolean", "null", "array", "object")
	case "types":
		m["type"] = []string{g.pick("string", "integer", "null"), g.pick("number", "boolean", "array", "object")}
	case "enum":
		m["enum"] = []any{g.instance(2)}
	case "const":
		m["const"] = g.instance(2)
	case "pattern":
		m["pattern"] = g.pick("^a", "b$", "é", "^.$", "[0-9]")
	case "minimum", "maximum":
		m[key] = g.number()
	case "exclusive":
		g.exclusive(m)
	case "multipleOf":
		m[key] = json.Number(g.pick("1", "2", "0.1", "0.01", "1.5", "1e-3", "3.0"))
	case "uniqueItems":
		m[key] = true
	case "required":
		m[key] = []string{g.name()}
	default:
		m[key] = g.upTo(3)
	}
}

func (g schemaGen) exclusive(m map[string]any) {
	if g.draft == "draft4" {
		m["minimum"], m["exclusiveMinimum"] = g.number(), g.upTo(1) == 0
		m["maximum"], m["exclusiveMaximum"] = g.number(), g.upTo(1) == 0
		return
	}
	m[g.pick("exclusiveMinimum", "exclusiveMaximum")] = g.number()
}

func (g schemaGen) applicator(m map[string]any, depth int) {
	key := g.pick("properties", "properties", "patternProperties", "additionalProperties", "items", "tuple", "additionalItems",
		"allOf", "anyOf", "oneOf", "not", "dependencies", "contains", "propertyNames", "if")
	switch key {
	case "properties":
		m[key] = map[string]any{g.name(): g.schema(depth), g.name(): g.schema(depth)}
	case "patternProperties":
		m[key] = map[string]any{g.pick("^a", "b", "é$", "."): g.schema(depth)}
	case "dependencies":
		m[key] = map[string]any{g.name(): g.schema(depth), g.name(): []string{g.name()}}
	case "tuple":
		m["items"] = []any{g.schema(depth), g.schema(depth)}
	case "additionalProperties", "additionalItems":
		m[key] = g.upTo(1) == 0
		if g.upTo(1) == 0 {
			m[key] = g.schema(depth)
		}
	case "allOf", "anyOf", "oneOf":
		m[key] = []any{g.schema(depth), g.schema(depth)}
	case "if":
		m["if"], m["then"], m["else"] = g.schema(depth), g.schema(depth), g.schema(depth)
	default:
		m[key] = g.schema(depth)
	}
}

func (g schemaGen) number() json.Number {
	return json.Number(g.pick("0", "1", "2", "3", "-1", "1.0", "1e0", "0.1", "0.3", "1.5", "-0.0", "100", "1e2",
		"9007199254740993", "12345678901234567890123", "1e20", "1e-7"))
}

func (g schemaGen) instance(depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch g.upTo(kinds) {
	case 0:
		return nil
	case 1:
		return g.upTo(1) == 0
	case 2:
		return g.number()
	case 3, 4:
		return g.pick("", "a", "b", "ab", "é", "😀", "1", "null", "a\nb")
	case 5:
		list := []any{}
		for range g.upTo(3) {
			list = append(list, g.instance(depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range g.upTo(3) {
		m[g.name()] = g.instance(depth - 1)
	}
	return m
}
