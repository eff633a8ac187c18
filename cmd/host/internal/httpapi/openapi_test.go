package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestOpenAPI_IsTheGoldenFile: what the document says changes only where somebody sees it.
func TestOpenAPI_IsTheGoldenFile(t *testing.T) {
	text, err := Document("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	coretest.Golden(t, "openapi.json", string(text))
}

// TestOpenAPI_ExamplesAreTheFixtures: what the document shows is what these tests send, so that each
// example is a request that is done.
func TestOpenAPI_ExamplesAreTheFixtures(t *testing.T) {
	var lines []string
	for _, o := range operationtest.Table(t) {
		in := jsontext.MustEncode(newSite(t).ValidRequest(o.Name))
		if schema, err := schemaOf(o.In(), true); err != nil || len(schema.Properties) == 0 || string(in) == "{}" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%q: %s", o.Name, in))
	}
	slices.Sort(lines)
	coretest.Golden(t, "../examples.json", "{\n"+strings.Join(lines, ",\n")+"\n}\n")
}

// TestOpenAPI_SaysWhatIsAnswered sends each fixture as the operator, as somebody without
// rights, and as nonsense: every answer in these tests is validated, see [checker].
func TestOpenAPI_SaysWhatIsAnswered(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(operationtest.Fixtures())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := operation.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t)
			in := s.ValidRequest(name)
			ask := func(local bool, who string, change func(*http.Request)) {
				r, err := client.NewRequest(t.Context(), "http://localhost", &o, in, nil)
				s.Must(err)
				r.Header.Set("Authorization", "Bearer "+who)
				if change != nil {
					change(r)
				}
				if local {
					serve(s.api.Local(), r)
				} else {
					serve(s.api.Remote(), r)
				}
			}
			nonsense := func(r *http.Request) {
				r.URL.RawQuery = "nonsense=1"
				if o.Method == "POST" || o.Method == "PUT" {
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"nonsense":`)), 12
				}
			}
			ask(false, "none", nil)
			ask(false, "nobody", nil)
			ask(false, "elsewhere", nil)
			ask(false, "operator", nonsense)
			ask(true, "", nil)
			if o.Idempotent {
				ask(false, "operator", nil)
			}
		})
	}
}

// TestOpenAPI_WhatIsRequiredIs: a field that the document calls required can't be left out,
// so that no caller sends what it needn't.
func TestOpenAPI_WhatIsRequiredIs(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(operationtest.Fixtures())) {
		o, err := operation.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		rt := newRoute(o)
		schema, err := schemaOf(o.In(), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range schema.Required {
			if slices.Contains(rt.taken, field) {
				continue
			}
			t.Run(name+"/"+field, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				in := jsontext.Members(jsontext.MustEncode(s.ValidRequest(name)))
				in = slices.DeleteFunc(in, func(m jsontext.Member) bool { return m.Key == field })
				r, err := client.NewRequest(t.Context(), "http://localhost", &o, json.RawMessage(jsontext.JoinMembers(in)), nil)
				s.Must(err)
				if a := serve(s.api.Local(), r); a.StatusCode < 400 || a.StatusCode >= 500 {
					t.Errorf("without it: %d %s", a.StatusCode, a.body)
				}
			})
		}
	}
}

// TestOpenAPI_IsServed to callers with a token.
func TestOpenAPI_IsServed(t *testing.T) {
	s := newSite(t)
	a := s.send("none", "GET", "/v1/openapi.json", "")
	want, err := Document("1.2.3")
	if err != nil || a.StatusCode != 200 || a.body != string(want) {
		t.Errorf("%d, %v", a.StatusCode, err)
	}
	if a := s.send("", "GET", "/v1/openapi.json", ""); a.StatusCode != 401 {
		t.Errorf("%d", a.StatusCode)
	}
}

// TestOpenAPI_IsForPeopleAndGenerators: each field and parameter says what it is, and no schema is one
// that generators of clients stop at.
func TestOpenAPI_IsForPeopleAndGenerators(t *testing.T) {
	text, err := Document("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, list := v["type"].([]any); list {
				t.Errorf("%s has a list of types", at)
			}
			for _, member := range []string{"schema", "items", "additionalProperties"} {
				if v[member] == true {
					t.Errorf("%s/%s is only true", at, member)
				}
			}
			if properties, is := v["properties"].(map[string]any); is {
				for name, p := range properties {
					schema, is := p.(map[string]any)
					if _, said := schema["description"].(string); !is || !said {
						t.Errorf("%s/%s isn't described: %v", at, name, p)
					}
				}
			}
			if v["in"] != nil && v["schema"] != nil && (v["description"] == nil || v["description"] == "") {
				t.Errorf("parameter %v of %s isn't described", v["name"], at)
			}
			for name, p := range v {
				walk(at+"/"+name, p)
			}
		case []any:
			for i, p := range v {
				walk(fmt.Sprint(at, "/", i), p)
			}
		}
	}
	walk("", doc)
}
