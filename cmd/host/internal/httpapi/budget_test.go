package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestBudgets counts what requests cost on the disk, with an issued token and the access policy.
func TestBudgets(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	s := &site{World: operationtest.NewOn(t, nil)}
	s.Must(s.Host.Ready(s.Ctx))
	token, id, n := s.issued(), s.Memory(), 0
	api := s.api.Remote()
	budget := func(path string, allocations float64, commits uint64, request func() *http.Request) {
		coretest.Budget{Path: path, Allocations: allocations, Commits: commits, Store: s.Host.Databases}.Check(t, func() {
			w := &discarded{header: http.Header{}}
			if api.ServeHTTP(w, request()); w.status >= http.StatusBadRequest {
				t.Fatalf("%s: %d", path, w.status)
			}
		})
	}
	post := func(path, body string) *http.Request { return local(s.request(token, "POST", path, body)) }
	get := func(path string) func() *http.Request {
		return func() *http.Request { return local(s.request(token, "GET", path, "")) }
	}
	budget("GET of a memory", 82, 0, get("/v1/memories/"+id))
	budget("observe", 418, 1, func() *http.Request {
		n++
		return post("/v1/memories", fmt.Sprintf(`{"namespace":%q,"title":"memory %d","content":"what was observed the time %d"}`, operationtest.Here, n, n))
	})
	budget("recall", 511, 0, func() *http.Request {
		return post("/v1/recall", fmt.Sprintf(`{"namespace":%q,"query":"what was observed the time 7"}`, operationtest.Here))
	})
	budget("a page of a list", 695, 0, get("/v1/memories?limit=50&namespace="+url.QueryEscape(operationtest.Here)))
	for i := range coretest.BudgetCalls { // each turn takes one feedback
		if a := serve(api, post("/v1/recall", fmt.Sprintf(`{"namespace":%q,"query":"the time %d","session":"s","turn":%d}`, operationtest.Here, i, i+1))); a.StatusCode != http.StatusOK {
			t.Fatal(a.body)
		}
	}
	n = 0
	budget("feedback", 620, 1, func() *http.Request {
		n++
		return post("/v1/feedback", fmt.Sprintf(`{"session":"s","turn":%d,"outcome":"success","used":[]}`, n))
	})
}

// local is a request under a name of this machine.
func local(r *http.Request) *http.Request {
	r.Host = "localhost"
	return r
}

// issued makes the API of a site whose limits of rates don't matter, and a token for its namespaces.
func (s *site) issued() (token string) {
	s.T.Helper()
	issued, err := s.Host.Access.Issue(s.Ctx, access.Request{
		Subject: "agent", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{operationtest.Here + "/**"},
	})
	s.Must(err)
	s.api, err = New(Config{Host: s.Host, Authenticator: Tokens{Authority: s.Host.Access}, Limits: Limits{Requests: -1, Writes: -1}})
	s.Must(err)
	return string(issued.Secret)
}

// discarded is an answer of which only the status is kept.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }
