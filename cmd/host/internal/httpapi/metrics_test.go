package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestMetrics_HaveAScope: a scrape needs a caller with the scope metrics, or one that runs the host.
func TestMetrics_HaveAScope(t *testing.T) {
	s := newSite(t)
	if a := s.send("operator", "GET", "/metrics", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("without metrics: %d", a.StatusCode)
	}
	s.api.metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1\n") })
	for who, want := range map[string]string{"": "unauthenticated", "none": "scope_denied", "nobody": "unauthenticated"} {
		if p := s.send(who, "GET", "/metrics", "").problem(t); p.Code != want {
			t.Errorf("%q: %s, want %s", who, p.Code, want)
		}
	}
	if a := s.send("operator", "GET", "/metrics", ""); a.StatusCode != http.StatusOK || a.body != "up 1\n" {
		t.Errorf("the operator: %d %s", a.StatusCode, a.body)
	}
	for _, scope := range core.Scopes() {
		s.api.config.Authenticator = callers{"one": {Subject: "one", Scopes: []core.Scope{scope}, Namespaces: []string{"team/**"}}}
		let := s.send("one", "GET", "/metrics", "").StatusCode == http.StatusOK
		if want := scope == core.ScopeMetrics || scope == core.ScopeOperate; let != want {
			t.Errorf("%s: let in %v", scope, let)
		}
	}
	s.api.config.Authenticator = known()
	s.File("data/policies/access/none.yaml", `rule: {match: [{output: '{"allow": false, "code": "closed", "reason": "we are closed"}'}]}`)
	s.Must(s.Host.Close())
	s.Open()
	s.api.config.Host = s.Host
	if p := s.send("operator", "GET", "/metrics", "").problem(t); p.Code != "closed" {
		t.Errorf("the access policy is %s", p.Code)
	}
}

// TestLog_SaysWhichRoute: as it is defined, and not as it was asked for.
func TestLog_SaysWhichRoute(t *testing.T) {
	s := newSite(t)
	id := s.Memory()
	for target, want := range map[string]string{
		"GET /v1/memories/" + id: "/v1/memories/{id}", "GET /v1/memories/absent": "/v1/memories/{id}", "GET /v1/openapi.json": "/v1/openapi.json",
		"GET /no/such/path": "", "POST /v1/memories/" + id: "",
	} {
		method, path, _ := strings.Cut(target, " ")
		s.send("operator", method, path, "")
		if l := s.line(); l.Route != want || l.Method != method {
			t.Errorf("%s: %s %q, want %q", target, l.Method, l.Route, want)
		}
	}
	s.send("", "GET", "/v1/memories/"+id, "")
	if l := s.line(); l.Route != "" {
		t.Errorf("unauthenticated: %q", l.Route)
	}
}

// TestTrace_FollowsARequest in its trace, to the line that the log has.
func TestTrace_FollowsARequest(t *testing.T) {
	s := newSite(t)
	type mark struct{}
	var began traceparent.Trace
	var ended Line
	s.api.config.Trace = func(ctx context.Context, method string) (context.Context, func(Line)) {
		began = traceparent.Of(ctx)
		return context.WithValue(ctx, mark{}, method), func(l Line) { ended = l }
	}
	within := ""
	s.api.config.Mounts = map[string]http.Handler{"/tools": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		within, _ = r.Context().Value(mark{}).(string)
	})}
	s.send("operator", "POST", "/tools", `{}`, "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if within != "POST" || began.ID != "0af7651916cd43dd8448eb211c80319c" || began.Parent != "b7ad6b7169203331" || ended != s.line() {
		t.Errorf("%q, %+v, %+v", within, began, ended)
	}
	s.send("", "GET", "/v1/memories/x", "")
	if ended.Status != http.StatusUnauthorized || ended.Route != "" || began.ID != ended.TraceID {
		t.Errorf("%+v, %+v", began, ended)
	}
}

// TestLog_RefusalsAreInfoAndFailuresErrors, whose words are there only of what failed inside:
// a plugin's may be somebody's content.
func TestLog_RefusalsAreInfoAndFailuresErrors(t *testing.T) {
	s := newSite(t)
	refused := map[string]error{"streams_full": sdk.Errorf(sdk.Unavailable, "streams_full", "secret")}
	for _, code := range sdk.Codes() {
		refused[string(code)] = sdk.Errorf(code, "", "secret")
	}
	for name, err := range refused {
		r := &request{http: s.request("", "GET", "/", "")}
		s.api.problems.refuse(httptest.NewRecorder(), r, err)
		l, want := r.line(1500*time.Microsecond), "info"
		if name == string(sdk.Unavailable) || name == string(sdk.Timeout) || name == string(sdk.Internal) {
			want = "error"
		}
		inside := name == string(sdk.Internal)
		if l.Level != want || strings.Contains(l.String(), "secret") != inside || !strings.Contains(l.String(), " duration_ms=1.5") {
			t.Errorf("%s: %s", name, l)
		}
	}
}
