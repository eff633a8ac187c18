package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// site is an API on a host in memory, whose callers are known by the words that they send
// as tokens.
type site struct {
	*operationtest.World
	api   *API
	mu    sync.Mutex
	lines []Line
}

// callers are who the tokens of these tests are of.
type callers map[string]core.Caller

// Authenticate implements [Authenticator].
func (c callers) Authenticate(r *http.Request) (core.Caller, error) {
	word, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	caller, ok := c[word]
	if !ok {
		return core.Caller{}, unauthenticated()
	}
	return caller, nil
}

// known are the operator, somebody with every scope here, somebody with every scope
// elsewhere, and somebody with none.
func known() callers {
	return callers{
		"operator":  core.Operator(operationtest.Agent),
		"here":      {Subject: "here", Scopes: core.Scopes(), Namespaces: []string{operationtest.Here + "/**"}},
		"elsewhere": {Subject: "elsewhere", Scopes: core.Scopes(), Namespaces: []string{operationtest.Elsewhere + "/**"}},
		"none":      {Subject: "none", Namespaces: []string{"**"}},
	}
}

// newSite makes an API without limits of rates, which would depend on the clock.
func newSite(t testing.TB) *site {
	return newLimitedSite(t, Limits{Requests: -1, Writes: -1, FailedLogins: -1})
}

func newLimitedSite(t testing.TB, limits Limits) *site {
	t.Helper()
	s := &site{World: operationtest.New(t)}
	s.api = s.newAPI(limits)
	return s
}

func (s *site) newAPI(limits Limits) *API {
	s.T.Helper()
	api, err := New(Config{
		Host: s.Host, Version: "1.2.3", Authenticator: known(), Limits: limits, Hosts: []string{"example.com"}, Log: func(l Line) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lines = append(s.lines, l)
		},
	})
	s.Must(err)
	return api
}

// line is the newest line of the log.
func (s *site) line() Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[len(s.lines)-1]
}

// answer is how a request was answered.
type answer struct {
	*http.Response
	body string
}

func (a *answer) problem(t testing.TB) *client.Problem {
	t.Helper()
	p := &client.Problem{}
	if err := json.Unmarshal([]byte(a.body), p); err != nil || a.Header.Get("Content-Type") != client.ProblemType {
		t.Fatalf("%d %s: %s is no problem: %v", a.StatusCode, a.Header.Get("Content-Type"), a.body, err)
	}
	if p.Status != a.StatusCode || p.Type != "urn:reflectory:problem:"+p.Code || len(p.TraceID) != 32 || p.Title == "" {
		t.Errorf("the problem of status %d is %s", a.StatusCode, a.body)
	}
	return p
}

// serve has a handler answer a request.
func serve(h http.Handler, r *http.Request) *answer {
	w, asked := httptest.NewRecorder(), r.Clone(r.Context())
	h.ServeHTTP(w, r)
	a := &answer{w.Result(), w.Body.String()}
	described().note(asked, a)
	return a
}

// send asks as somebody over TCP. Headers are names and values in turn.
func (s *site) send(who, method, target, body string, headers ...string) *answer {
	return serve(s.api.Remote(), s.request(who, method, target, body, headers...))
}

// request is what send sends.
func (s *site) request(who, method, target, body string, headers ...string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(s.T.Context(), method, target, reader)
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+who)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	return r
}

// call calls an operation as somebody over TCP, or as the operator over the socket.
func (s *site) call(who, name string, in any) *answer {
	s.T.Helper()
	o, err := operation.Find(name)
	s.Must(err)
	r, err := client.NewRequest(s.T.Context(), "http://localhost", &o, in, strings.NewReader(string(s.Body)))
	s.Must(err)
	if who == "socket" {
		r.Header.Set(client.AgentHeader, operationtest.Agent)
		return serve(s.api.Local(), r)
	}
	r.Header.Set("Authorization", "Bearer "+who)
	return serve(s.api.Remote(), r)
}
