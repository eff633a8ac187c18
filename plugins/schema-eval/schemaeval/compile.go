package schemaeval

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reflectory/reflectory/sdk"
)

// prepare makes the evaluator of one config. All mistakes in its schema are found here,
// before the first attempt.
func prepare(data json.RawMessage) (*evaluator, error) {
	c, err := parseConfig(data)
	if err != nil {
		return nil, err
	}
	doc, err := decodeSchema("schema", c.Schema)
	if err != nil {
		return nil, err
	}
	compiled, err := compile(c, doc)
	if err != nil {
		return nil, err
	}
	if err := checkLoops(compiled, c.Base); err != nil {
		return nil, err
	}
	if err := checkCost(compiled, c.Base); err != nil {
		return nil, err
	}
	text := wantsText(compiled) // before reportAll moves the parts that wantsText reads
	for _, s := range reachable(compiled) {
		if c.Formats == "annotate" {
			s.Format = nil
		}
		reportAll(s)
	}
	return &evaluator{
		gate:    chooseGate(c.Schema, doc, c.Draft),
		schema:  compiled,
		base:    c.Base,
		doc:     doc,
		strict:  c.Scoring == "strict",
		coerces: c.Coerce,
		text:    text,
	}, nil
}

func compile(c *config, doc any) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(draftNamed(c.Draft))
	compiler.UseLoader(documents(c.Documents))
	registerFormats(compiler)
	boundPatterns(compiler)
	if c.Formats == "assert" {
		compiler.AssertFormat()
	}
	err := compiler.AddResource(c.Base, doc)
	var compiled *jsonschema.Schema
	if err == nil {
		compiled, err = compiler.Compile(c.Base)
	}
	if err != nil {
		return nil, schemaError(err, c, doc)
	}
	return compiled, nil
}

func draftNamed(name string) *jsonschema.Draft {
	switch name {
	case "draft4":
		return jsonschema.Draft4
	case "draft6":
		return jsonschema.Draft6
	case "2019-09":
		return jsonschema.Draft2019
	case "2020-12":
		return jsonschema.Draft2020
	}
	return jsonschema.Draft7
}

// documents are the known schemas by URI; nothing else is ever loaded.
type documents map[string]json.RawMessage

var errUnknownDocument = errors.New("not among the documents")

// Load finds a document. It decodes the document only now, when it is needed.
func (d documents) Load(uri string) (any, error) {
	for _, name := range []string{uri, uri + "#"} {
		if data, ok := d[name]; ok {
			return decodeSchema("document "+uri, data)
		}
	}
	return nil, errUnknownDocument
}

// schemaError describes what is wrong with a schema, and where in it.
func schemaError(err error, c *config, doc any) error {
	var (
		unknown *jsonschema.LoadURLError
		invalid *jsonschema.SchemaValidationError
		failed  *jsonschema.ValidationError
		pattern *jsonschema.InvalidRegexError
		pointer *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
	)
	switch {
	case errors.As(err, &unknown) && errors.Is(unknown.Err, errUnknownDocument):
		return remoteRefError(unknown.URL, c, doc)
	case errors.As(err, &unknown):
		return sdk.Errorf(sdk.Invalid, "schema_invalid", "%w", unknown.Err)
	case errors.As(err, &invalid) && errors.As(invalid.Err, &failed):
		return metaschemaError(invalid.URL, failed, c.Base)
	case errors.As(err, &pattern):
		return schemaErrorAt(schemaPath(pattern.URL, c.Base), "pattern %q is not valid: %v", pattern.Regex, pattern.Err).
			WithHint("patterns are RE2: no look-around and no back-references")
	case errors.As(err, &pointer):
		at := schemaPath(pointer.URL, c.Base)
		return schemaErrorAt(placeOfRef(pointer.URL, c.Base, doc), "$ref leads to %s, which doesn't exist", at)
	case errors.As(err, &anchor):
		return schemaErrorAt(placeOfRef(anchor.Reference, c.Base, doc), "$ref leads to %s, which doesn't exist", anchor.Reference)
	}
	return sdk.Errorf(sdk.Invalid, "schema_invalid", "the schema is not valid: %w", err)
}

// schemaErrorAt makes an error with a JSON Pointer into the schema.
func schemaErrorAt(at, format string, args ...any) *sdk.Error {
	e := sdk.Errorf(sdk.Invalid, "schema_invalid", format, args...)
	e.Message = "the schema is not valid at " + quotePointer(at) + ": " + e.Message
	return e.WithDetail("path", at)
}

func quotePointer(p string) string {
	if p == "" {
		return "its root"
	}
	return p
}

// metaschemaError reports everything that the metaschema finds wrong.
func metaschemaError(uri string, failed *jsonschema.ValidationError, base string) error {
	found, _, _ := collect(failed, "", nil)
	var lines []string
	for _, f := range found {
		lines = append(lines, quotePointer(f.Path)+": "+f.Message)
	}
	what := "the schema"
	if strings.TrimSuffix(uri, "#") != strings.TrimSuffix(base, "#") {
		what = "document " + uri
	}
	e := sdk.Errorf(sdk.Invalid, "schema_invalid", "%s is not valid: at %s", what, strings.Join(lines, "; at ")).
		WithDetail("problems", lines)
	if len(found) > 0 {
		e.WithDetail("path", found[0].Path)
	}
	return e
}

func remoteRefError(uri string, c *config, doc any) error {
	at := placeOfRef(uri, c.Base, doc)
	e := sdk.Errorf(sdk.Invalid, "remote_ref_refused", "%q, which the schema refers to at %s, is not known and never fetched",
		uri, quotePointer(at))
	return e.WithDetail("ref", uri).WithDetail("path", at).
		WithHint("save it next to the workflow and name it: documents: {%q: file}", uri)
}

// placeOfRef finds the $ref or $schema that leads to a URI. It returns its JSON
// Pointer, or "" if it is in another document.
func placeOfRef(uri, base string, doc any) string {
	target, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	start, err := url.Parse(base)
	if err != nil {
		return ""
	}
	place, _ := findRef(doc, start, target, "")
	return place
}

func findRef(node any, base, target *url.URL, at string) (string, bool) {
	switch node := node.(type) {
	case map[string]any:
		return findRefInObject(node, base, target, at)
	case []any:
		for i, child := range node {
			if place, ok := findRef(child, base, target, pointer(at, strconv.Itoa(i))); ok {
				return place, true
			}
		}
	}
	return "", false
}

func findRefInObject(m map[string]any, base, target *url.URL, at string) (string, bool) {
	for _, key := range []string{"$id", "id"} {
		if id, ok := m[key].(string); ok {
			base = resolve(base, id)
		}
	}
	for _, key := range []string{"$ref", "$schema", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := m[key].(string); ok && leadsTo(resolve(base, ref), target) {
			return pointer(at, key), true
		}
	}
	for _, key := range sortedKeys(m) {
		if place, ok := findRef(m[key], base, target, pointer(at, key)); ok {
			return place, true
		}
	}
	return "", false
}

func resolve(base *url.URL, ref string) *url.URL {
	u, err := url.Parse(ref)
	if err != nil {
		return base
	}
	return base.ResolveReference(u)
}

// leadsTo compares two URIs. If the target has no fragment, any fragment matches.
func leadsTo(u, target *url.URL) bool {
	a, b := *u, *target
	if b.Fragment == "" {
		a.Fragment, a.RawFragment = "", ""
	}
	return a.Scheme == b.Scheme && a.Opaque == b.Opaque && a.Host == b.Host && a.Path == b.Path &&
		a.RawQuery == b.RawQuery && a.Fragment == b.Fragment
}
