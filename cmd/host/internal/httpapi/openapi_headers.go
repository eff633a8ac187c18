package httpapi

import (
	_ "embed" // for examples.json
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core/host/operation"
)

// What the document says of an operation in addition to its types: the headers that it reads and sends, an
// example, and its tag.

// exampleTexts are an example of each operation's request, by the operation's name. A test makes them
// from the requests that the tests of the surfaces send.
//
//go:embed examples.json
var exampleTexts []byte

// examples are the members of the examples, by operation.
var examples = sync.OnceValue(func() map[string]map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	if err := json.Unmarshal(exampleTexts, &all); err != nil {
		panic("examples.json: " + err.Error()) // a test has made it
	}
	return all
})

// example is an example of the route's request, by field.
func (rt *route) example() map[string]json.RawMessage { return examples()[rt.Name] }

// waits reports whether a request may wait for a job to end.
func (rt *route) waits() bool {
	_, waits := fieldsOf(rt.In())["wait"]
	return rt.queues || waits
}

// compares reports whether a request may name the version that it changes.
func (rt *route) compares() bool {
	_, compares := fieldsOf(rt.In())["if_version"]
	return compares
}

// showsVersion reports whether the answer has an ETag.
func (rt *route) showsVersion() bool { return rt.Method == http.MethodGet && rt.HasVersion() }

// headers are the headers that an operation reads.
func (rt *route) headers() (list []object) {
	for _, h := range []struct {
		name  string
		reads bool
	}{{"Idempotency-Key", !rt.ReadOnly}, {"If-Match", rt.compares()}, {"If-None-Match", rt.showsVersion()}, {"Prefer", rt.waits()}} {
		if h.reads {
			list = append(list, object{"$ref": "#/components/parameters/" + h.name})
		}
	}
	return list
}

// sends are the headers of an operation's result.
func (rt *route) sends() object {
	sent := object{}
	for name, sends := range map[string]bool{"ETag": rt.showsVersion(), replayedHeader: !rt.ReadOnly, "Preference-Applied": rt.waits()} {
		if sends {
			sent[name] = header(name)
		}
	}
	return sent
}

func header(name string) object { return object{"$ref": "#/components/headers/" + name} }

// headerParameters describe the headers of requests.
func headerParameters() object {
	described := object{}
	for name, h := range map[string]struct {
		text, example string
		most          int
	}{
		"Idempotency-Key": {"Makes the request safe to repeat: the first outcome is kept for 24 hours. Another request with the same key is refused.", "0b0e3f1e-6a53-4c1c-9d6f-8a1f9f2c1f00", MaxKey},
		"If-Match":        {"The ETag of the version to change, in quotes; the request is refused if there is a newer one. It is the same as if_version.", `"3"`, maxTag},
		"If-None-Match":   {"The ETag of the version that the caller has, in quotes: the answer is 304 while there is no newer one.", `"3"`, 0},
		"Prefer":          {"wait=N waits up to N seconds (limit 60) for the result of a job; respond-async makes a job of what could be done at once.", "wait=30", 0},
	} {
		schema := object{"type": "string"}
		if h.most > 0 {
			schema["minLength"], schema["maxLength"] = 1, h.most
		}
		described[name] = object{"name": name, "in": "header", "description": h.text, "required": false, "schema": schema, "example": h.example}
	}
	return described
}

// responseHeaders describe the headers of results.
func responseHeaders() object {
	described := object{}
	for name, text := range map[string]string{
		"ETag":               "The version that the answer shows, in quotes, for If-None-Match and If-Match.",
		replayedHeader:       "true if the outcome is from an earlier request with the same Idempotency-Key.",
		"Location":           "The path of the job.",
		"Preference-Applied": "wait=N: for how many seconds the request waited at most.",
	} {
		described[name] = object{"description": text, "schema": object{"type": "string"}}
	}
	return described
}

// tagOf is the tag of a path: its first part.
func tagOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	return strings.TrimSuffix(first, ".json")
}

// tagsOf are the tags of paths, sorted.
func tagsOf(paths object) (list []object) {
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if tag := tagOf(path); len(list) == 0 || list[len(list)-1]["name"] != tag {
			list = append(list, object{"name": tag, "description": "The operations below /v1/" + tag + "."})
		}
	}
	return list
}

// scopesOf describes the scopes that a caller needs for an operation.
func scopesOf(o *operation.Operation) string {
	var names []string
	for _, s := range o.Scopes() {
		names = append(names, string(s))
	}
	return "Scope: " + strings.Join(names, " or ") + "."
}
