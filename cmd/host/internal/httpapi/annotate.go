package httpapi

import (
	"cmp"
	_ "embed" // for fields.json
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// The document is written for people and for generators of clients. Each field has a description, from
// its comment in the code; a type that occurs in several results is one shared schema; and no schema is
// only true, or has a list of types, since most generators can't read these.

// fieldTexts are the descriptions of types and their fields. A test makes them from the code.
//
//go:embed fields.json
var fieldTexts []byte

// typeText is what fieldTexts says of a type.
type typeText struct {
	Type   string            `json:"type"`
	Name   string            `json:"name"`
	Doc    string            `json:"doc"`
	Fields map[string]string `json:"fields"`
}

// typeTexts are the texts of all types, by package and name.
var typeTexts = sync.OnceValue(func() map[string]*typeText {
	var list []*typeText
	if err := json.Unmarshal(fieldTexts, &list); err != nil {
		panic("fields.json: " + err.Error()) // a test has made it
	}
	all := make(map[string]*typeText, len(list))
	for _, text := range list {
		all[text.Type] = text
	}
	return all
})

// textOf is what is said of a type; an empty text if nothing is.
func textOf(t reflect.Type) *typeText {
	if text := typeTexts()[t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]+"."+t.Name()]; text != nil {
		return text
	}
	return &typeText{}
}

// annotator adds to the schemas of Go types what the document says of them.
type annotator struct {
	// shared are the schemas that results share, by name.
	shared object
	// result is whether the schema is a result's: a request's types are never shared, since a field may
	// be required in one of them only.
	result bool
}

// root annotates the schema of a request or a result.
func (a *annotator) root(t reflect.Type, s *jsonschema.Schema) {
	if t.Kind() == reflect.Struct {
		a.fields(t, s)
	}
}

// fields annotates the fields of a struct.
func (a *annotator) fields(t reflect.Type, s *jsonschema.Schema) {
	texts := textOf(t)
	for name, f := range fieldsOf(t) {
		p := s.Properties[name]
		if p == nil && a.result && s.Properties != nil { // the schema misses a field with the name of the struct that embeds it
			p, _ = schemaOf(f.typ, false) // of a text or a number: it can't fail
			s.Properties[name] = p
		}
		if p == nil {
			continue
		}
		p = a.typed(f.typ, p)
		if strings.Contains(tagAt(t, f.index), ",omit") || !a.result { // it is left out, never null
			p = withoutNull(p)
		}
		p = nullable(p)
		p.Description = cmp.Or(texts.Fields[name], common[name])
		s.Properties[name] = p
	}
}

// common are the descriptions of fields that mean the same in each type that has them, and that have no
// comment of their own.
var common = map[string]string{
	"items":           "What the page lists.",
	"next_page_token": "The page_token of the next page; left out on the last one.",
	"detail":          "What is wrong, in a sentence.",
	"code":            "A stable word for what is wrong, by which callers branch.",
	"trace_id":        "The trace of the request, which the server's log names.",
}

// tagAt is the JSON tag of a field.
func tagAt(t reflect.Type, index []int) string { return t.FieldByIndex(index).Tag.Get("json") }

// typed annotates the schema of a field or an item, and returns what replaces it.
func (a *annotator) typed(t reflect.Type, s *jsonschema.Schema) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case s == nil:
		return nil
	case t.Kind() == reflect.Slice && s.Items != nil:
		s.Items = nullable(withoutNull(a.typed(t.Elem(), s.Items)))
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil && t.Elem().Kind() == reflect.Interface, t.Kind() == reflect.Map && t.Elem() == reflect.TypeFor[json.RawMessage]():
		s.AdditionalProperties = nil // any value, as without it
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil:
		s.AdditionalProperties = nullable(withoutNull(a.typed(t.Elem(), s.AdditionalProperties)))
	case t.Kind() == reflect.Struct && len(s.Properties) > 0:
		return a.object(t, s)
	}
	return s
}

// object annotates the schema of a struct, which is shared if it has a name.
func (a *annotator) object(t reflect.Type, s *jsonschema.Schema) *jsonschema.Schema {
	text, null := textOf(t), slices.Contains(s.Types, "null")
	if !a.result || text.Name == "" || strings.Contains(t.Name(), "[") {
		a.fields(t, s)
		return s
	}
	if _, there := a.shared[text.Name]; !there {
		a.shared[text.Name] = s // before its fields: it may contain itself
		a.fields(t, s)
		s.Type, s.Types, s.Description = "object", nil, text.Doc
	}
	of := &jsonschema.Schema{Ref: "#/components/schemas/" + text.Name}
	if null {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{of, {Type: "null"}}}
	}
	return of
}

// withoutNull is a schema that null doesn't fit.
func withoutNull(s *jsonschema.Schema) *jsonschema.Schema {
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" {
		return s.AnyOf[0]
	}
	if kinds := slices.DeleteFunc(slices.Clone(s.Types), func(kind string) bool { return kind == "null" }); len(s.Types) > 1 && len(kinds) == 1 {
		s.Type, s.Types = kinds[0], nil
	}
	return s
}

// nullable is a schema without a list of types: each type is an alternative.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	if len(s.Types) < 2 {
		return s
	}
	var any []*jsonschema.Schema
	for _, kind := range s.Types {
		one := &jsonschema.Schema{Type: kind}
		if kind != "null" {
			one = s.CloneSchemas()
			one.Type, one.Types, one.Description = kind, nil, ""
		}
		any = append(any, one)
	}
	slices.SortStableFunc(any, func(a, b *jsonschema.Schema) int { // null comes last
		switch {
		case a.Type == "null":
			return 1
		case b.Type == "null":
			return -1
		}
		return 0
	})
	return &jsonschema.Schema{AnyOf: any}
}
