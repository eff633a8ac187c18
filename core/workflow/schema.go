package workflow

import (
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// fileScheme is the scheme of the URIs with which schemas refer to files in the
// workflow's folder: workflow:///path.
const fileScheme = "workflow"

// fileURI is the absolute URI of a file in the workflow's folder.
func fileURI(name string) *url.URL { return &url.URL{Scheme: fileScheme, Path: "/" + name} }

// schema reads {type: schema}. The config holds every document that the schema
// needs, so that the plugin reads no file.
func (l *loader) schema(b *block) action.Step {
	b.has(formSchema)
	content, base := l.schemaContent(b)
	documents := l.documents(b)
	l.references(b, content, base, documents)

	config := object{{"schema", constant(content)}, {"base", constant(jsontext.MustEncode(base.String()))}}
	for key, n := range map[string]string{
		"draft":   strings.Replace(b.oneOf("draft"), "draft20", "20", 1),
		"formats": b.oneOf("formats"),
		"scoring": b.oneOf("scoring"),
	} {
		if n != "" {
			config = append(config, field{key, constant(jsontext.MustEncode(n))})
		}
	}
	if b.Flag("coerce") {
		config = append(config, field{"coerce", constant("true")})
	}
	if len(documents) > 0 {
		config = append(config, field{"documents", constant(jsontext.MustEncode(documents))})
	}
	slices.SortFunc(config, func(a, b field) int { return strings.Compare(a.key, b.key) })
	if content == nil {
		config = nil
	}
	l.use(schemaPlugin, sdk.KindEvaluator)
	return action.Step{Plugin: schemaPlugin, Config: newValue(config, nil), Timeout: timeout(b, defaultTimeout)}
}

// schemaContent returns the schema, which is in the step or in a file, and its URI. It
// returns nil if something is wrong with the schema.
func (l *loader) schemaContent(b *block) (json.RawMessage, *url.URL) {
	b.only("schema", "schema_file")
	here := fileURI(path.Base(strings.ReplaceAll(l.source.File, `\`, "/")))
	if b.Get("schema_file") != nil {
		if n := b.Typed("schema_file", document.Text); n != nil {
			return l.document(n, n.Text), fileURI(path.Clean(n.Text))
		}
		return nil, here
	}
	n := b.Get("schema")
	switch {
	case n == nil:
		b.Lacks("", "%s needs the key \"schema\" or \"schema_file\"", b.What)
	case n.Kind == document.Mapping || n.Kind == document.Bool:
		return n.JSON(nil), here
	default:
		l.Add(n.At, "", "schema must be a mapping or a boolean, not %s", n.Kind)
	}
	return nil, here
}

// documents are the files that the step names next to its schema, by their URIs.
func (l *loader) documents(b *block) map[string]json.RawMessage {
	documents := map[string]json.RawMessage{}
	n := b.Typed("documents", document.Mapping)
	if n == nil {
		return documents
	}
	for _, e := range n.Entries {
		if u, err := url.Parse(e.Key); err != nil || !u.IsAbs() {
			l.Add(e.At, "", "the key of a document must be an absolute URI, not %q", core.Cut(e.Key))
		}
		if e.Value.Kind != document.Text {
			l.Add(e.Value.At, "", "a document must be the name of a file, not %s", e.Value.Kind)
			continue
		}
		documents[e.Key] = l.document(e.Value, e.Value.Text)
	}
	return documents
}

// document is the JSON of a file that the workflow names.
func (l *loader) document(at *document.Node, name string) json.RawMessage {
	clean, ok := inFolder(name)
	if !ok {
		l.Add(at.At, "copy the file there", "%q is not in the workflow's folder", name)
		return nil
	}
	text, ok := l.source.Files[clean]
	if !ok {
		l.Add(at.At, "", "there is no file %q in the workflow's folder", name)
		return nil
	}
	data, found := decodeFile(clean, text)
	for _, p := range found {
		l.Add(at.At, p.Hint, "%s:%d:%d: %s", clean, p.Line, p.Column, p.Message)
	}
	return data
}

// inFolder cleans a relative path and reports whether it stays in the folder.
func inFolder(name string) (string, bool) {
	clean := path.Clean(name)
	ok := name != "" && !path.IsAbs(clean) && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.ContainsAny(clean, "\\\x00")
	return clean, ok
}

// decodeFile turns a JSON or YAML file into JSON.
func decodeFile(name, text string) (json.RawMessage, []document.Problem) {
	found := &document.Problems{File: name}
	if path.Ext(name) == ".json" {
		if _, err := jsontext.Decode([]byte(text)); err != nil {
			found.Add(document.Pos{Line: 1, Column: 1}, "", "%v", err)
			return nil, found.List()
		}
		return json.RawMessage(text), nil
	}
	root := document.Read(text, limits(MaxNamedFile), found)
	if root == nil || found.Len() > 0 {
		return nil, found.List()
	}
	return root.JSON(nil), nil
}

// references adds to the documents the files that schemas refer to, directly or through
// other files, by their absolute URIs.
func (l *loader) references(b *block, schema json.RawMessage, base *url.URL, documents map[string]json.RawMessage) {
	refs := newReferences()
	refs.scan(schema, base)
	for _, uri := range slices.Sorted(maps.Keys(documents)) {
		if u, err := url.Parse(uri); err == nil {
			refs.scan(documents[uri], u)
			refs.known[uri] = true
		}
	}
	for name, uri := refs.next(); name != ""; name, uri = refs.next() {
		if _, has := l.source.Files[name]; !has {
			l.Add(b.Node.At, "", "the schema refers to %q, which isn't in the workflow's folder", name)
			continue
		}
		documents[uri] = l.document(b.Node, name)
		if u, err := url.Parse(uri); err == nil {
			refs.scan(documents[uri], u)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(refs.outside)) {
		l.Add(b.Node.At, "copy the file into the folder", "the schema refers to %q, which is outside the workflow's folder", ref)
	}
}

// drafts are the names of drafts of JSON Schema; the two newest may be written
// with "draft" before them or without.
var drafts = []string{"draft4", "draft6", "draft7", "2019-09", "2020-12", "draft2019-09", "draft2020-12"}
