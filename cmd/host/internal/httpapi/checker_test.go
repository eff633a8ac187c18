package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
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
)

// TestMain looks for what is left running after the tests, and for answers that the document
// doesn't describe.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(coretest.WithPlain(m), goleak.Cleanup(func(code int) {
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
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err != nil {
		panic(err)
	}
	return doc
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
	return openapi3filter.ValidateResponse(r.Context(), input)
}
