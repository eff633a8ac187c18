// Package schema checks values by a JSON Schema and says what is wrong with them, where, and by
// which rule, in words for the model that corrects them. The evaluator of schemas uses it, and
// the language model's replies that must match a schema.
//
//	schema ─► Compile ─► Begin ─► Findings of each value ─► End
//
// Schemas and values may both be hostile: what a schema may contain is limited, and each check
// counts the rules that it tries, and ends at [MaxSteps].
package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reflectory/reflectory/sdk"
)

// Options say how a schema is read.
type Options struct {
	// Draft is the draft of a schema without $schema: draft4, draft6, draft7 (the default), 2019-09 or
	// 2020-12.
	Draft string
	// Formats is "assert" or "annotate"; "" is what the draft says.
	Formats string
	// Base is the schema's own absolute URI. Default [DefaultBase].
	Base string
	// Documents are the schemas by URI that it may refer to; nothing is ever fetched.
	Documents map[string]json.RawMessage
}

// DefaultBase is the URI of a schema for which [Options] have none.
const DefaultBase = "workflow:///schema.json"

// maxIdle is how many compiled copies of a schema are kept for the next checks: as many as a
// plugin of Reflectory makes at a time.
const maxIdle = 8

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	// Doc is the schema, as it was decoded.
	Doc any
	// Text means that the schema explicitly accepts strings.
	Text bool
	// Rules is how many rules may have to check the parts of one value, at most, in steps as
	// [MaxSteps] counts them. It is infinite if the schema leads back to itself.
	Rules float64

	options Options
	// idle are copies that no check uses: each has a budget of its own, since the engine passes
	// nothing of a check on to what it calls.
	idle chan *copied
}

// copied is a compiled copy of a schema, and what a check with it may still cost.
type copied struct {
	root   *jsonschema.Schema
	budget budget
}

// Compile compiles a schema. All mistakes in it are found here, before the first check.
func Compile(source json.RawMessage, o Options) (*Schema, error) {
	o.Base = cmp.Or(o.Base, DefaultBase)
	doc, err := decodeSchema("schema", source)
	if err != nil {
		return nil, err
	}
	s := &Schema{Doc: doc, options: o, idle: make(chan *copied, maxIdle)}
	first, err := s.compile()
	if err != nil {
		return nil, err
	}
	if err := checkLoops(first.root, o.Base); err != nil {
		return nil, err
	}
	if err := checkCost(first.root, o.Base); err != nil {
		return nil, err
	}
	s.Text, s.Rules = wantsText(first.root), rulesBelow(first.root)
	first.adapt(o)
	s.idle <- first
	return s, nil
}

// adapt makes a copy report everything that is wrong, and count what that costs.
func (c *copied) adapt(o Options) {
	for _, s := range reachable(c.root) {
		spent := priceOf(s)
		if o.Formats == "annotate" {
			s.Format = nil
		}
		reportAll(s)
		c.budget.watch(s, spent)
	}
}

func (s *Schema) compile() (*copied, error) {
	c := &copied{}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(draftNamed(s.options.Draft))
	compiler.UseLoader(documents(s.options.Documents))
	registerFormats(compiler)
	c.budget.boundPatterns(compiler)
	if s.options.Formats == "assert" {
		compiler.AssertFormat()
	}
	err := compiler.AddResource(s.options.Base, s.Doc)
	if err == nil {
		c.root, err = compiler.Compile(s.options.Base)
	}
	if err != nil {
		return nil, schemaError(err, &s.options, s.Doc)
	}
	return c, nil
}

// Check checks the values of one output, all together within [MaxSteps]. It isn't safe for
// concurrent use.
type Check struct {
	schema *Schema
	copied *copied
}

// Begin begins a check, which [Check.End] ends.
func (s *Schema) Begin() (*Check, error) {
	var c *copied
	select {
	case c = <-s.idle:
	default:
		var err error
		if c, err = s.compile(); err != nil {
			return nil, err
		}
		c.adapt(s.options)
	}
	c.budget.left = MaxSteps
	return &Check{s, c}, nil
}

// End ends a check: it must be deferred. If the check took too many steps, it gives the caller
// the error that says so, wherever that happened.
func (c *Check) End(err *error) {
	switch p := recover().(type) {
	case nil:
	case costError:
		*err = p.err
	default:
		panic(p)
	}
	select {
	case c.schema.idle <- c.copied:
	default:
	}
}

// Validate returns nil or a [*jsonschema.ValidationError].
func (c *Check) Validate(value any) error { return c.copied.root.Validate(value) }

// Findings lists what is wrong with a value, sorted by path and schema path, with the sum of
// the findings' weights in a score.
func (c *Check) Findings(value any) (findings []sdk.Finding, weight int, err error) {
	var failed *jsonschema.ValidationError
	if !errors.As(c.Validate(value), &failed) {
		return nil, 0, nil
	}
	return collect(failed, c.schema.options.Base, c.schema.Doc)
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
func schemaError(err error, o *Options, doc any) error {
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
		return remoteRefError(unknown.URL, o, doc)
	case errors.As(err, &unknown):
		return sdk.Errorf(sdk.Invalid, "schema_invalid", "%w", unknown.Err)
	case errors.As(err, &invalid) && errors.As(invalid.Err, &failed):
		return metaschemaError(invalid.URL, failed, o.Base)
	case errors.As(err, &pattern):
		return schemaErrorAt(schemaPath(pattern.URL, o.Base), "pattern %q is not valid: %v", pattern.Regex, pattern.Err).
			WithHint("patterns are RE2: no look-around and no back-references")
	case errors.As(err, &pointer):
		at := schemaPath(pointer.URL, o.Base)
		return schemaErrorAt(placeOfRef(pointer.URL, o.Base, doc), "$ref leads to %s, which doesn't exist", at)
	case errors.As(err, &anchor):
		return schemaErrorAt(placeOfRef(anchor.Reference, o.Base, doc), "$ref leads to %s, which doesn't exist", anchor.Reference)
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
	lines := Lines(found)
	what := "the schema"
	if strings.TrimSuffix(uri, "#") != strings.TrimSuffix(base, "#") {
		what = "document " + uri
	}
	e := sdk.Errorf(sdk.Invalid, "schema_invalid", "%s is not valid: %s", what, strings.Join(lines, "; ")).
		WithDetail("problems", lines)
	if len(found) > 0 {
		e.WithDetail("path", found[0].Path)
	}
	return e
}

func remoteRefError(uri string, o *Options, doc any) error {
	at := placeOfRef(uri, o.Base, doc)
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
