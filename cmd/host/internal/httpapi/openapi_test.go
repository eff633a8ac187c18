package httpapi

import (
	"encoding/json"
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
