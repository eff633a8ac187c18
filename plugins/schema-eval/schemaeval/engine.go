package schemaeval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/reflectory/reflectory/plugins/internal/schema"
)

// Names of the engines, as the metadata "engine" of a response shows them.
const (
	engineGo        = "gojsonschema"
	engineSanthosh  = "santhosh-tekuri"
	metadataEngine  = "engine"
	maxExactKeyword = 1 << 31 // gojsonschema keeps limits as int
)

// chooseGate is the only place where the engine is chosen: gojsonschema, or the other
// one if it returns nil.
//
// gojsonschema judges wherever it agrees with the official test suite. It doesn't know
// drafts 2019-09 and 2020-12. In drafts 4, 6 and 7, a schema goes to the other engine
// if any of its subschemas has one of these:
//
//   - format: gojsonschema checks string formats on numbers too;
//   - a size limit written as a float ("maxItems": 2.0), which gojsonschema refuses, or
//     beyond 2³¹, which it can't store;
//   - $ref next to other keywords, or a $ref other than "#" and "#/definitions/…": it
//     gets the first wrong in two cases of the suite, and would fetch the second;
//   - a pattern that could take long on a long text, which gojsonschema can't be stopped in;
//   - a $ref that leads back to a schema that it is in, or so many rules that an output of that
//     size could take long, for the same reason;
//   - $id, id or $schema below the root, which change the base URI underneath.
//
// Schemas that gojsonschema can't compile go to the other engine as well. The suite and
// a differential test of the two engines check this rule.
//
// A verdict's findings don't depend on the choice. gojsonschema's errors have no place
// in the schema and name only one branch of an anyOf. So gojsonschema decides, and the
// other engine (which passes the whole suite) explains an output that was refused. If
// the two ever differ there, the other engine's verdict counts.
func chooseGate(raw json.RawMessage, doc any, draft string, rules float64) *goJudge {
	version, known := goDraft(doc, draft)
	if !known || rules > schema.MaxSteps || unfitForGo(doc, true) != "" {
		return nil
	}
	compiled, err := compileGo(raw, version)
	if err != nil {
		return nil
	}
	return &goJudge{compiled, rules}
}

// goDraft is gojsonschema's name for the draft of a schema, if it has one.
func goDraft(doc any, draft string) (gojsonschema.Draft, bool) {
	if m, ok := doc.(map[string]any); ok {
		if uri, ok := m["$schema"].(string); ok {
			draft = draftOf(uri)
		}
	}
	switch draft {
	case "draft4":
		return gojsonschema.Draft4, true
	case "draft6":
		return gojsonschema.Draft6, true
	case "draft7":
		return gojsonschema.Draft7, true
	}
	return 0, false
}

// draftOf is the draft that a $schema names, or "" for another metaschema.
func draftOf(uri string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	switch name {
	case "draft-04/schema":
		return "draft4"
	case "draft-06/schema":
		return "draft6"
	case "draft-07/schema":
		return "draft7"
	}
	return ""
}

// unfitForGo is the reason why gojsonschema can't handle a schema, or "" if it can.
func unfitForGo(node any, root bool) string {
	m, ok := node.(map[string]any)
	if !ok {
		return ""
	}
	if ref, ok := m["$ref"]; ok {
		return unfitRef(ref, len(m))
	}
	if _, ok := m["format"]; ok {
		return "format"
	}
	if largePattern(m) {
		return "a large pattern"
	}
	for _, key := range []string{"$id", "id", "$schema"} {
		if _, ok := m[key]; ok && !root {
			return key + " below the root"
		}
	}
	for _, key := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		if n, ok := m[key].(json.Number); ok {
			if i, err := n.Int64(); err != nil || i > maxExactKeyword {
				return key + " of " + n.String()
			}
		}
	}
	for _, child := range subschemas(m) {
		if why := unfitForGo(child, false); why != "" {
			return why
		}
	}
	return ""
}

// largePattern reports whether a pattern of the schema needs the engine that bounds it.
func largePattern(m map[string]any) bool {
	if text, ok := m["pattern"].(string); ok && schema.PatternSize(text) > schema.SmallPattern {
		return true
	}
	patterns, _ := m["patternProperties"].(map[string]any)
	for text := range patterns {
		if schema.PatternSize(text) > schema.SmallPattern {
			return true
		}
	}
	return false
}

func unfitRef(ref any, keywords int) string {
	target, ok := ref.(string)
	if !ok || keywords > 1 {
		return "$ref next to other keywords"
	}
	name, local := strings.CutPrefix(target, "#/definitions/")
	if target == "#" || local && !strings.Contains(name, "/") {
		return ""
	}
	return "$ref to " + target
}

// subschemas lists those values of a draft 4, 6 or 7 schema object that are themselves
// schemas.
func subschemas(m map[string]any) []any {
	var out []any
	for _, key := range []string{"additionalItems", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"} {
		if child, ok := m[key]; ok {
			out = append(out, child)
		}
	}
	for _, key := range []string{"properties", "patternProperties", "definitions", "dependencies"} {
		children, _ := m[key].(map[string]any)
		for _, child := range children {
			out = append(out, child)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "items"} {
		switch child := m[key].(type) {
		case []any:
			out = append(out, child...)
		case map[string]any, bool:
			out = append(out, child)
		}
	}
	return out
}

// goJudge is a schema compiled by gojsonschema.
type goJudge struct {
	schema *gojsonschema.Schema
	rules  float64 // how many may check the parts of one value
}

// fit reports whether an output is small enough: gojsonschema can't be stopped, so that no rule is
// tried on it if all of them on each of its values would take too long. A text counts by its length.
func (j *goJudge) fit(output json.RawMessage) bool {
	const bytesOfStep = 4
	_, values := schema.Measure(output)
	return j.rules*float64(values+len(output)/bytesOfStep) <= schema.MaxSteps
}

// matches reports whether a value matches the schema.
func (j *goJudge) matches(v any) bool {
	result, err := j.schema.Validate(newLoader(v))
	return err == nil && result.Valid()
}

// compileGo compiles its own copy, because gojsonschema rewrites the references in the
// document that it gets.
func compileGo(raw json.RawMessage, draft gojsonschema.Draft) (*gojsonschema.Schema, error) {
	doc, err := schema.Decode(raw, schema.MaxBytes)
	if err != nil {
		return nil, err
	}
	loader := gojsonschema.NewSchemaLoader()
	loader.AutoDetect, loader.Draft = false, draft
	return loader.Compile(newLoader(doc))
}

// loader gives gojsonschema a value that is already decoded, and keeps it away from the
// file system and the network.
type loader struct {
	gojsonschema.JSONLoader
	value any
}

func newLoader(v any) loader { return loader{gojsonschema.NewGoLoader(nil), v} }

func (l loader) LoadJSON() (any, error)                        { return l.value, nil }
func (l loader) LoaderFactory() gojsonschema.JSONLoaderFactory { return refusal{} }

// refusal creates loaders that load nothing.
type refusal struct{}

func (refusal) New(source string) gojsonschema.JSONLoader {
	return refusedLoader{gojsonschema.NewGoLoader(nil), source}
}

type refusedLoader struct {
	gojsonschema.JSONLoader
	source string
}

func (l refusedLoader) LoadJSON() (any, error) {
	return nil, fmt.Errorf("%q is not fetched", l.source)
}
