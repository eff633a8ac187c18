package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestMain looks for what is left running after the tests, and for answers that the document
// doesn't describe.
func TestMain(m *testing.M) {
	operationtest.ServeJudge()
	goleak.VerifyTestMain(coretest.WithPlain(m), goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"), goleak.Cleanup(func(code int) {
		for _, problem := range described().problems {
			fmt.Fprintln(os.Stderr, problem)
			code = 1
		}
		os.Exit(code)
	}))
}

// checker validates the answers of these tests against the documents of what is offered over
// the socket, and over TCP, where long operations are jobs.
type checker struct {
	doc, tcp *openapi3.T
	// mux finds the operation that a request is for.
	mux *http.ServeMux

	mu       sync.Mutex
	problems []string
}

// described is the checker of all tests.
var described = sync.OnceValue(func() *checker {
	openapi3filter.RegisterBodyDecoder(client.ProblemType, func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
		var v any
		err := json.NewDecoder(body).Decode(&v)
		return v, err
	})
	c := &checker{doc: loaded(true), tcp: loaded(false), mux: http.NewServeMux()}
	for _, o := range operation.Table() {
		c.mux.Handle(o.Method+" "+o.Path, http.NotFoundHandler())
	}
	return c
})

// loaded is the document of the socket, or of TCP.
func loaded(socket bool) *openapi3.T {
	text, err := document("1.2.3", socket)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	anyValues(tree)
	if text, err = json.Marshal(tree); err != nil {
		panic(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err != nil {
		panic(err)
	}
	return doc
}

// anyValues lists the types of schemas that take any value: the library takes null only where it is
// listed.
func anyValues(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name, p := range properties {
			if one, is := p.(map[string]any); is && len(one) == 1 && one["description"] != nil {
				properties[name] = map[string]any{"type": []string{"array", "boolean", "null", "number", "object", "string"}}
			}
		}
		for _, p := range v {
			anyValues(p)
		}
	case []any:
		for _, p := range v {
			anyValues(p)
		}
	}
}

// undescribed are the members of a value that no schema describes, and that a client generated from the
// document wouldn't know.
func undescribed(s *openapi3.Schema, value any, at string) (list []string) {
	if s == nil {
		return nil
	}
	for _, one := range slices.Concat(s.AnyOf, s.AllOf, s.OneOf) {
		if value != nil && !one.Value.Type.Is("null") {
			return undescribed(one.Value, value, at)
		}
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if s.Items != nil {
				list = append(list, undescribed(s.Items.Value, item, fmt.Sprint(at, "/", i))...)
			}
		}
	case map[string]any:
		if len(s.Properties) == 0 {
			return nil // any members
		}
		for name, member := range v {
			p := s.Properties[name]
			if p == nil {
				list = append(list, at+"/"+name)
				continue
			}
			list = append(list, undescribed(p.Value, member, at+"/"+name)...)
		}
	}
	return list
}

// note validates an answer, and keeps what is wrong with it for the end of the tests. Paths
// that belong to no operation aren't in the document.
func (c *checker) note(r *http.Request, a *answer) {
	if err := c.check(r, a); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.problems = append(c.problems, fmt.Sprintf("%s %s: %d isn't as the document has it: %v\n%s", r.Method, r.URL, a.StatusCode, err, a.body))
	}
}

func (c *checker) check(r *http.Request, a *answer) error {
	media := a.Header.Get("Content-Type")
	if !isClean(r) || r.Method == http.MethodHead || media == client.FramesType || a.StatusCode == http.StatusMethodNotAllowed {
		return nil
	}
	_, pattern := c.mux.Handler(r)
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		return nil
	}
	doc := c.doc
	if a.StatusCode == http.StatusAccepted {
		doc = c.tcp
	}
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return fmt.Errorf("%s isn't in it", pattern)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)},
		},
		Status: a.StatusCode, Header: a.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: strings.HasPrefix(media, client.LinesType)},
	}
	input.SetBodyBytes([]byte(a.body))
	if err := openapi3filter.ValidateResponse(r.Context(), input); err != nil || media != "application/json" {
		return err
	}
	described := item.GetOperation(method).Responses.Status(a.StatusCode).Value.Content.Get(media)
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil || described == nil {
		return err
	}
	if list := undescribed(described.Schema.Value, value, ""); len(list) > 0 {
		return fmt.Errorf("it has %s, which aren't described", strings.Join(list, ", "))
	}
	return nil
}
