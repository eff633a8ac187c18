package workflow

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// references finds the files that JSON Schemas refer to by $ref.
type references struct {
	known map[string]bool // URIs of what is scanned or declared by an $id
	want  map[string]bool // URIs of what is referred to
}

func newReferences() *references {
	return &references{known: map[string]bool{}, want: map[string]bool{}}
}

// scan collects what a schema declares and refers to.
func (r *references) scan(schema json.RawMessage, base *url.URL) {
	r.known[base.String()] = true
	if v, err := core.DecodeJSON(schema); err == nil {
		r.walk(v, base)
	}
}

// next takes a file that is referred to and not known yet: its path in the
// workflow's folder and its URI. The path is "" when there is none.
func (r *references) next() (name, uri string) {
	for _, uri := range slices.Sorted(maps.Keys(r.want)) {
		u, err := url.Parse(uri)
		if err != nil || r.known[uri] || u.Scheme != fileScheme {
			continue
		}
		r.known[uri] = true
		return strings.TrimPrefix(u.Path, "/"), uri
	}
	return "", ""
}

func (r *references) walk(v any, base *url.URL) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.walk(e, base)
		}
	case map[string]any:
		base = r.identify(v, base)
		if ref, ok := v["$ref"].(string); ok {
			if u, err := base.Parse(ref); err == nil {
				u.Fragment, u.RawFragment = "", ""
				r.want[u.String()] = true
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch key {
			case "enum", "const", "default", "examples": // values, not schemas
			default:
				r.walk(v[key], base)
			}
		}
	}
}

// identify returns the base of a schema, which its $id (id in draft 4) changes.
func (r *references) identify(schema map[string]any, base *url.URL) *url.URL {
	id, ok := schema["$id"].(string)
	if !ok {
		id, ok = schema["id"].(string)
	}
	if !ok || strings.HasPrefix(id, "#") {
		return base
	}
	u, err := base.Parse(id)
	if err != nil {
		return base
	}
	u.Fragment, u.RawFragment = "", ""
	r.known[u.String()] = true
	return u
}
