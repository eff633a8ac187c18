package workflow

import (
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
)

// references finds the files that JSON Schemas refer to by $ref.
type references struct {
	known map[string]bool // URIs of scanned files, and URIs declared with $id
	want  map[string]bool // URIs that are referred to
	// outside are the references that lead out of the workflow's folder. Resolved as URLs,
	// they would stop at the folder's root and refer to a wrong file there.
	outside map[string]bool
}

func newReferences() *references {
	return &references{known: map[string]bool{}, want: map[string]bool{}, outside: map[string]bool{}}
}

// scan collects what a schema declares and refers to.
func (r *references) scan(schema json.RawMessage, base *url.URL) {
	r.known[base.String()] = true
	if v, err := jsontext.Decode(schema); err == nil {
		r.walk(v, base)
	}
}

// next returns a file that is referred to and not scanned yet: its path in the workflow's
// folder and its URI. The path is "" if there is none.
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
			if climbsOut(base, ref) {
				r.outside[ref] = true
			} else if u, err := base.Parse(ref); err == nil {
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

// climbsOut reports whether a relative reference leads above the workflow's folder.
func climbsOut(base *url.URL, ref string) bool {
	u, err := url.Parse(ref)
	if err != nil || u.IsAbs() || base.Scheme != fileScheme || strings.HasPrefix(u.Path, "/") {
		return false
	}
	name := path.Join(path.Dir(strings.TrimPrefix(base.Path, "/")), u.Path)
	return name == ".." || strings.HasPrefix(name, "../")
}
