package httpapi

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestOpenAPI_IsTheGoldenFile: what the document says changes only where somebody sees it.
func TestOpenAPI_IsTheGoldenFile(t *testing.T) {
	text, err := Document("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	coretest.Golden(t, "openapi.json", string(text))
}

// checker validates answers against the document of what is offered over TCP, or over the
// socket.
type checker struct{ doc *openapi3.T }

func newChecker(t *testing.T, socket bool) *checker {
	t.Helper()
	text, err := document("1.2.3", socket)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, media := range []string{client.ProblemType} {
		openapi3filter.RegisterBodyDecoder(media, func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
			var v any
			err := json.NewDecoder(body).Decode(&v)
			return v, err
		})
	}
	return &checker{doc}
}

// check validates an answer.
func (c *checker) check(t *testing.T, o *operation.Operation, r *http.Request, a *answer) {
	t.Helper()
	path := c.doc.Paths.Value(o.Path)
	if path == nil || path.GetOperation(o.Method) == nil {
		t.Errorf("%s %s isn't in the document", o.Method, o.Path)
		return
	}
	route := &routers.Route{Spec: c.doc, Path: o.Path, PathItem: path, Method: o.Method, Operation: path.GetOperation(o.Method)}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route},
		Status:                 a.StatusCode, Header: a.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: strings.HasPrefix(a.Header.Get("Content-Type"), client.LinesType)},
	}
	input.SetBodyBytes([]byte(a.body))
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s %s: %d: %v", r.Method, r.URL, a.StatusCode, err)
	}
}

// TestOpenAPI_SaysWhatIsAnswered validates the answer to each fixture, as the operator, as
// somebody who may nothing, and to a request that is nonsense.
func TestOpenAPI_SaysWhatIsAnswered(t *testing.T) {
	tcp, socket := newChecker(t, false), newChecker(t, true)
	for _, name := range slices.Sorted(maps.Keys(operationtest.Fixtures())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := operation.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t)
			in := operationtest.Fixtures()[name](s.World)
			ask := func(local bool, who string, change func(*http.Request)) {
				r, err := client.NewRequest(t.Context(), "http://localhost", &o, in, nil)
				s.Must(err)
				r.Header.Set("Authorization", "Bearer "+who)
				if change != nil {
					change(r)
				}
				asked := r.Clone(t.Context())
				if local {
					socket.check(t, &o, asked, serve(s.api.Local(), r))
				} else {
					tcp.check(t, &o, asked, serve(s.api.Remote(), r))
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
				in := core.Members(core.MustJSON(operationtest.Fixtures()[name](s.World)))
				in = slices.DeleteFunc(in, func(m core.Member) bool { return m.Key == field })
				r, err := client.NewRequest(t.Context(), "http://localhost", &o, json.RawMessage(core.JoinMembers(in)), nil)
				s.Must(err)
				if a := serve(s.api.Local(), r); a.StatusCode < 400 || a.StatusCode >= 500 {
					t.Errorf("without it: %d %s", a.StatusCode, a.body)
				}
			})
		}
	}
}

// TestOpenAPI_IsServed to who has a token.
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
