package schemaeval

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/xeipuuv/gojsonschema"

	"github.com/reflectory/reflectory/sdk"
)

// The target is at most 1.5 times the validator alone: its own reading of the
// JSON, its own validation and its own list of errors with their texts.
const (
	contactSchema = `{"type": "object", "required": ["name", "email"], "properties": {
		"name": {"type": "string", "minLength": 1}, "email": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$"},
		"phone": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}, "additionalProperties": false}`
	contactValid   = `{"name": "Ada Lovelace", "email": "ada@example.com", "phone": "+44 20 7946 0018", "age": 36}`
	contactInvalid = `{"name": "", "email": "ada", "phone": 5, "age": 36}`
	midSchema      = `{"type": "object", "required": ["orders"], "properties": {"orders": {"type": "array", "minItems": 1, "items": {
		"type": "object", "required": ["id", "lines", "to"], "properties": {"id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
		"to": {"$ref": "#/definitions/address"}, "lines": {"type": "array", "items": {"type": "object", "required": ["sku", "count"],
		"properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}, "price": {"type": "number", "exclusiveMinimum": 0}}}}}}}},
		"definitions": {"address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}}}}}`
)

func midOutput() string {
	line := `{"sku": "A-1", "count": 2, "price": 9.99},{"sku": "B-2", "count": 1, "price": 0.5},{"sku": "C-3", "count": 12}`
	order := `{"id": "DE-4711", "to": {"city": "Berlin", "zip": null}, "lines": [` + line + `]}`
	return `{"orders": [` + strings.TrimSuffix(strings.Repeat(order+",", 10), ",") + `]}`
}

type benchCase struct{ name, schema, output string }

func benchCases() []benchCase {
	other := func(schema string) string { // an unused format sends it to the other engine
		if strings.Contains(schema, `"definitions": {`) {
			return strings.Replace(schema, `"definitions": {`, `"definitions": {"unused": {"format": "date"}, `, 1)
		}
		return strings.TrimSuffix(schema, "}") + `, "definitions": {"unused": {"format": "date"}}}`
	}
	return []benchCase{
		{"gojsonschema/contact", contactSchema, contactValid},
		{"gojsonschema/contact-invalid", contactSchema, contactInvalid},
		{"gojsonschema/mid", midSchema, midOutput()},
		{"santhosh-tekuri/contact", other(contactSchema), contactValid},
		{"santhosh-tekuri/contact-invalid", other(contactSchema), contactInvalid},
		{"santhosh-tekuri/mid", other(midSchema), midOutput()},
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			e, err := prepare(json.RawMessage(`{"schema": ` + c.schema + `}`))
			if err != nil {
				b.Fatal(err)
			}
			if !strings.HasPrefix(c.name, e.engine()) {
				b.Fatalf("served by %s", e.engine())
			}
			req := &sdk.EvaluateRequest{Output: json.RawMessage(c.output)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Evaluate(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidatorAlone(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			validate := aloneSanthosh(b, c.schema)
			if strings.HasPrefix(c.name, engineGo) {
				validate = aloneGo(b, c.schema)
			}
			want := !strings.HasSuffix(c.name, "invalid")
			b.ReportAllocs()
			for b.Loop() {
				if validate(c.output) != want {
					b.Fatal("unexpected result")
				}
			}
		})
	}
}

func aloneGo(b testing.TB, schema string) func(string) bool {
	compiled, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(schema))
	if err != nil {
		b.Fatal(err)
	}
	return func(output string) bool {
		result, err := compiled.Validate(gojsonschema.NewStringLoader(output))
		return err == nil && result.Valid()
	}
}

func aloneSanthosh(b testing.TB, schema string) func(string) bool {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		b.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	if err := compiler.AddResource("a:b", doc); err != nil {
		b.Fatal(err)
	}
	compiled, err := compiler.Compile("a:b")
	if err != nil {
		b.Fatal(err)
	}
	return func(output string) bool {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(output)))
		if err != nil {
			return false
		}
		var failed *jsonschema.ValidationError
		if errors.As(compiled.Validate(v), &failed) {
			for _, e := range failed.BasicOutput().Errors {
				_ = e.Error.String()
			}
		}
		return failed == nil
	}
}
