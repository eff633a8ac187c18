package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/sdk"
)

// modelSite is a site with a foreign surface, whose refusals are the error's class and reason.
type modelSite struct {
	*site
	tokens map[string]string
	serve  http.HandlerFunc
}

// newModelSite has a token for each scope, one that expired, one that was revoked, and one elsewhere.
func newModelSite(t *testing.T, limits Limits, noAuth bool) *modelSite {
	t.Helper()
	s := &modelSite{site: &site{World: operationtest.New(t)}, tokens: map[string]string{}}
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(core.CallerOf(r.Context()).Subject + " " + string(body[:min(len(body), 20)])))
	}
	tokens := Tokens{Authority: s.Host.Access, Cookie: "session"}
	c := Config{
		Host: s.Host, Version: "1.2.3", Authenticator: tokens, Limits: limits, NoAuth: noAuth, Hosts: []string{"example.com"}, Log: func(l Line) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lines = append(s.lines, l)
		},
		Foreign: &Foreign{
			Name: "gateway", Paths: []string{"/openai/v1/", "/anthropic/v1/"}, Authenticator: ModelTokens{tokens},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r) }),
			May: func(ctx context.Context, _ core.Caller) error {
				ask := operation.ModelAsk()
				return ask.Allow(ctx, operation.Call{Host: s.Host}, &operation.ModelRequest{})
			},
			Refuse: func(w http.ResponseWriter, path string, err error) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(499)
				e := sdk.AsError(err)
				_ = json.NewEncoder(w).Encode(map[string]string{"path": path, "class": string(e.Code), "reason": e.Reason, "text": e.Error(), "hint": e.Hint})
			},
		},
	}
	if noAuth {
		c.Authenticator = Anybody{}
	}
	var err error
	s.api, err = New(c)
	s.Must(err)
	issue := func(name string, q access.Request) {
		q.Subject, q.Namespaces = strings.ReplaceAll(name, ":", "-"), []string{operationtest.Here + "/**"}
		issued, err := s.Host.Access.Issue(s.Ctx, q)
		s.Must(err)
		s.tokens[name] = string(issued.Secret)
		if name == "revoked" {
			_, err = s.Host.Access.Revoke(s.Ctx, issued.ID)
			s.Must(err)
		}
	}
	for _, scope := range core.Scopes() {
		issue(string(scope), access.Request{Scopes: []core.Scope{scope}})
	}
	issue("revoked", access.Request{Scopes: []core.Scope{core.ScopeModel}})
	issue("second", access.Request{Scopes: []core.Scope{core.ScopeModel}})
	s.Must(s.Host.Config.Settings.MakeDataDir())
	operator, err := s.Host.Access.ReplaceOperatorToken(s.Ctx)
	s.Must(err)
	s.tokens["operator"] = string(operator)
	return s
}

// ask asks for a path of the surface with headers, and returns the reason of a refusal, or the answer.
func (s *modelSite) ask(path, body string, headers ...string) string {
	a := serve(s.api.Remote(), s.request("", "POST", path, body, headers...))
	var refused struct{ Path, Class, Reason, Text, Hint string }
	if a.StatusCode != 499 {
		return a.body
	}
	s.Must(json.Unmarshal([]byte(a.body), &refused))
	if refused.Path != path {
		s.T.Errorf("it refuses %s", refused.Path)
	}
	return refused.Class + " " + refused.Reason
}

func TestForeign_WhoMay(t *testing.T) {
	for _, noAuth := range []bool{false, true} {
		s := newModelSite(t, Limits{Requests: -1, Writes: -1, FailedLogins: -1}, noAuth)
		good, second, wrong := s.tokens["model"], s.tokens["second"], "rfl_"+strings.Repeat("0", 16)+"_"+strings.Repeat("0", 64)
		link, err := s.Host.Access.NewLink(s.Ctx)
		s.Must(err)
		session, err := s.Host.Access.Redeem(s.Ctx, string(link.Secret))
		s.Must(err)
		cookie := "session=" + string(session.Secret)
		for what, c := range map[string]struct {
			want    string
			headers []string
		}{
			"nothing":                         {"denied unauthenticated", nil},
			"bearer":                          {"model {}", []string{"Authorization", "Bearer " + good}},
			"bearer in another case":          {"model {}", []string{"Authorization", "bearer " + good}},
			"x-api-key":                       {"model {}", []string{"x-api-key", good}},
			"its own header":                  {"model {}", []string{"Reflectory-Token", good}},
			"its own before others":           {"model {}", []string{"Reflectory-Token", good, "Authorization", "Bearer sk-other", "x-api-key", "sk-third"}},
			"its own, wrong, before others":   {"denied unauthenticated", []string{"Reflectory-Token", wrong, "Authorization", "Bearer " + good}},
			"its own, empty":                  {"model {}", []string{"Reflectory-Token", "", "Authorization", "Bearer " + good}}, // removed by the test
			"bearer before x-api-key":         {"second {}", []string{"Authorization", "Bearer " + second, "x-api-key", good}},
			"bearer, wrong, before x-api-key": {"denied unauthenticated", []string{"Authorization", "Bearer " + wrong, "x-api-key", good}},
			"x-api-key with a scheme":         {"denied unauthenticated", []string{"x-api-key", "Bearer " + good}},
			"basic":                           {"denied unauthenticated", []string{"Authorization", "Basic " + good}},
			"an upstream's key":               {"denied unauthenticated", []string{"Authorization", "Bearer sk-ant-api03-abc"}},
			"revoked":                         {"denied unauthenticated", []string{"Authorization", "Bearer " + s.tokens["revoked"]}},
			"a cookie":                        {"denied unauthenticated", []string{"Cookie", cookie}},
			"a cookie as bearer":              {"denied unauthenticated", []string{"Authorization", "Bearer " + string(session.Secret)}},
			"a cookie with a wrong token":     {"denied unauthenticated", []string{"Cookie", cookie, "x-api-key", wrong}},
			"the operator's":                  {"operator {}", []string{"Authorization", "Bearer " + s.tokens["operator"]}},
			"a token in the query":            {"denied unauthenticated", []string{"Referer", "http://localhost/?key=" + good}},
			"another site's page":             {"denied cross_origin", []string{"Authorization", "Bearer " + good, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}},
		} {
			for _, path := range []string{"/openai/v1/chat/completions", "/anthropic/v1/messages"} {
				if got := s.ask(path, "{}", c.headers...); got != c.want {
					t.Errorf("%s at %s, without credentials %v: %q; want %q", what, path, noAuth, got, c.want)
				}
			}
		}
		for _, scope := range core.Scopes() {
			if got := s.ask("/openai/v1/responses", "{}", "Authorization", "Bearer "+s.tokens[string(scope)]); scope != core.ScopeModel && got != "denied scope_denied" {
				t.Errorf("with %s: %s", scope, got)
			}
		}
		if a := serve(s.api.Remote(), s.request("", "GET", "/v1/runs", "", "Authorization", "Bearer "+good)); !noAuth && a.StatusCode != http.StatusForbidden {
			t.Errorf("a token for models lists runs: %d", a.StatusCode)
		}
		if a := serve(s.api.Remote(), s.request("", "GET", "/v1/runs", "", "x-api-key", s.tokens["operator"])); !noAuth && a.StatusCode != http.StatusUnauthorized {
			t.Errorf("x-api-key counts elsewhere: %d", a.StatusCode)
		}
		s.Host.Config.Clock.(interface{ Advance(time.Duration) }).Advance(access.MaxLifetime)
		if got := s.ask("/openai/v1/responses", "{}", "x-api-key", good); got != "denied unauthenticated" {
			t.Errorf("one that expired: %s", got)
		}
	}
}

// TestForeign_Limits are wider than the API's, and named in the surface's form.
func TestForeign_Limits(t *testing.T) {
	s := newModelSite(t, Limits{Requests: -1, Writes: 0.001, FailedLogins: 1, Headers: 1 << 10}, false)
	by := []string{"x-api-key", s.tokens["model"]}
	for range 5 { // there is no rate of writes
		if got := s.ask("/openai/v1/responses", "{}", by...); got != "model {}" {
			t.Fatal(got)
		}
	}
	if got := s.ask("/openai/v1/responses", strings.Repeat("x", foreignBody), by...); got != "model "+strings.Repeat("x", 20) {
		t.Errorf("a large body: %s", got)
	}
	if got := s.ask("/openai/v1/responses", strings.Repeat("x", foreignBody+1), by...); got != "exhausted body_too_large" {
		t.Errorf("one that is too large: %s", got)
	}
	if got := s.ask("/openai/v1/responses", "{}", append(by, "X-Stainless-Os", strings.Repeat("x", 60<<10))...); got != "model {}" {
		t.Errorf("large headers: %s", got)
	}
	if got := s.ask("/openai/v1/responses", "{}", append(by, "X-Stainless-Os", strings.Repeat("x", 64<<10))...); got != "exhausted headers_too_large" {
		t.Errorf("too large headers: %s", got)
	}
	r := s.request("", "POST", "/openai/v1/responses", "", by...)
	r.Body, r.ContentLength = io.NopCloser(io.LimitReader(ceaseless{}, foreignBody+1)), -1
	if a := serve(s.api.Remote(), r); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a body of unknown size that is too large: %d %.80s", a.StatusCode, a.body)
	}
	wrong := []string{"x-api-key", "rfl_x"}
	for i, want := range []string{"denied unauthenticated", "exhausted logins_exhausted"} {
		if got := s.ask("/openai/v1/responses", "{}", wrong...); got != want {
			t.Errorf("wrong credentials, %d: %s", i, got)
		}
	}
	if got := s.ask("/openai/v1/responses", "{}", by...); got != "model {}" {
		t.Errorf("the right ones after that: %s", got)
	}
	if l := s.line(); l.Op != "gateway" || l.Status != 200 || l.Subject != "model" {
		t.Errorf("the log has %+v", l)
	}
	for _, path := range []string{"/openai/v1", "/openai/v2/responses", "/openai/", "/anthropic/v1"} { // not the surface's
		if a := serve(s.api.Remote(), s.request("", "GET", path, "", "Authorization", "Bearer "+s.tokens["operator"])); a.StatusCode != 404 && a.StatusCode != 307 && a.StatusCode != 301 {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
}

// ceaseless is a body without an end.
type ceaseless struct{}

func (ceaseless) Read(p []byte) (int, error) { return len(p), nil }

// TestForeign_RefusalsSayNothingOfTheInside, in whatever form.
func TestForeign_RefusalsSayNothingOfTheInside(t *testing.T) {
	s := newModelSite(t, Limits{}, false)
	token := s.tokens["model"]
	for what, err := range map[string]error{
		"an error":        errors.New("the disk in " + s.Host.Config.Settings.DataDir.Value + " is on fire"),
		"a folder":        sdk.Errorf(sdk.Unavailable, "store_io", "%s/store can't be written", s.Host.Config.Settings.DataDir.Value),
		"a token":         sdk.Errorf(sdk.Invalid, "wrong", "what is %s?", token),
		"an inner cause":  sdk.Errorf(sdk.Internal, "", "%w", errors.New("the disk is on fire")),
		"a cause's token": sdk.Errorf(sdk.Denied, "denied", "no: %w", errors.New(token)),
	} {
		s.api.foreign.May = func(context.Context, core.Caller) error { return err }
		a := serve(s.api.Remote(), s.request("", "POST", "/openai/v1/responses", "{}", "x-api-key", token))
		if folder := s.Host.Config.Settings.DataDir.Value; strings.Contains(a.body, "fire") || strings.Contains(a.body, token[20:]) || folder != "" && strings.Contains(a.body, folder) {
			t.Errorf("%s: %s", what, a.body)
		}
	}
	if l := s.line(); l.Code == "" {
		t.Errorf("the log has %+v", l)
	}
}

// TestForeign_PlacesAreShared: who waits too long is refused, and what ends makes room.
func TestForeign_PlacesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForeign(&Foreign{May: func(context.Context, core.Caller) error { return nil }}, Limits{Gateway: 2})
		a := &API{rates: &rates{requests: rate.New(rate.Options{What: "requests"})}}
		admit := func(tenant string, size int64) (func(), error) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/openai/v1/responses", nil)
			r.ContentLength = size
			return a.admitForeign(&request{http: r, foreign: f, caller: core.Caller{Subject: "s", Namespaces: []string{tenant + "/**"}}})
		}
		refused := func(what, tenant string, size int64, want string) {
			t.Helper()
			if done, err := admit(tenant, size); sdk.ReasonOf(err) != want || want == "" && err != nil {
				t.Errorf("%s: %v; want %q", what, err, want)
			} else if err == nil {
				done()
			}
		}
		first, err1 := admit("a", 1)
		second, err2 := admit("a", -1)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		refused("one too many", "b", 1, "requests_full")
		go func() {
			synctest.Wait()
			first()
		}()
		refused("one that waits", "b", 1, "")
		second()
		large := make([]func(), 0, 4)
		f.places.Resize(100)
		for range 4 {
			done, err := admit("a", foreignBody)
			if err != nil {
				t.Fatal(err)
			}
			large = append(large, done)
		}
		refused("more than a tenant's half", "a", foreignBody, "bodies_exhausted")
		refused("another tenant's", "b", foreignBody, "")
		for _, done := range large {
			done()
		}
		if n := f.places.Taken() + f.bodies.Taken(); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
}

// TestForeign_NoDeadlineBetweenWrites: each write and flush has one, and the time between them has none.
func TestForeign_NoDeadlineBetweenWrites(t *testing.T) {
	inner := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w := &foreignWriter{mountWriter{inner, &request{}}}
	control := http.NewResponseController(w)
	for _, do := range []func() error{
		func() error { _, err := w.Write([]byte("x")); return err }, control.Flush,
	} {
		inner.set = nil
		if err := do(); err != nil || len(inner.set) < 2 || inner.set[0].IsZero() || !inner.set[len(inner.set)-1].IsZero() {
			t.Errorf("the deadlines are %v, %v", inner.set, err)
		}
	}
	inner.set = nil
	if err := control.SetWriteDeadline(time.Now()); err != nil || len(inner.set) > 0 {
		t.Errorf("a handler sets %v, %v", inner.set, err)
	}
}

// deadlines notes the deadlines that are set.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}
