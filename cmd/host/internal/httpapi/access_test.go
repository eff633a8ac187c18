package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestAccess_SomebodyUnknownLearnsNothing: every path and method is answered alike.
func TestAccess_SomebodyUnknownLearnsNothing(t *testing.T) {
	s := newSite(t)
	for _, who := range []string{"", "wrong"} {
		first := ""
		for _, ask := range [][2]string{
			{"GET", "/v1/memories"}, {"GET", "/v1/nothing"}, {"PATCH", "/v1/memories"}, {"POST", "/v1/memories"}, {"GET", "/v1/openapi.json"},
			{"GET", "/v1/events?namespace=a"}, {"GET", "/"}, {"GET", "/v1/memories/x"},
		} {
			a := s.send(who, ask[0], ask[1], "")
			p := a.problem(t)
			text := strings.ReplaceAll(a.body, p.TraceID, "")
			if first == "" {
				first = text
			}
			if a.StatusCode != 401 || p.Code != "unauthenticated" || text != first || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%q %v: %d %s", who, ask, a.StatusCode, a.body)
			}
		}
	}
}

// TestAccess_HealthNeedsNoToken, and says when the server is ready.
func TestAccess_HealthNeedsNoToken(t *testing.T) {
	s := newSite(t)
	if a := s.send("", "GET", "/healthz", ""); a.StatusCode != 200 || a.body != "ok\n" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := s.send("", "GET", "/readyz", ""); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("before the store is open: %d", a.StatusCode)
	}
	s.Must(s.api.Ready(t.Context()))
	if a := s.send("", "GET", "/readyz", ""); a.StatusCode != 200 {
		t.Errorf("open: %d", a.StatusCode)
	}
	s.Must(NewServer(t.Context(), s.api).Stop())
	if a := s.send("", "GET", "/readyz", ""); a.StatusCode != 503 {
		t.Errorf("stopped: %d", a.StatusCode)
	}
}

// TestAccess_KnowsTheHostsTokens sends requests with the operator's token and with an
// issued one, correctly and in every other way.
func TestAccess_KnowsTheHostsTokens(t *testing.T) {
	s := newSite(t)
	s.Must(os.MkdirAll(s.Flags()["data-dir"], 0o700))
	_, err := s.Host.Access.EnsureOperatorToken(t.Context())
	s.Must(err)
	operator, err := s.Host.Access.OperatorToken()
	s.Must(err)
	issued, err := s.Host.Access.Issue(s.Ctx, access.Request{
		Subject: "ci", Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{operationtest.Here},
	})
	s.Must(err)
	with := func(headers ...string) (core.Caller, error) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		for _, h := range headers {
			r.Header.Add("Authorization", h)
		}
		return Tokens{Authority: s.Host.Access}.Authenticate(r)
	}
	token := string(issued.Secret)
	for subject, header := range map[string]string{core.OperatorSubject: "bearer " + string(operator), "ci": "Bearer " + token} {
		if caller, err := with(header); err != nil || caller.Subject != subject {
			t.Errorf("%s is %v, %v", subject, caller, err)
		}
	}
	_, err = s.Host.Access.Revoke(s.Ctx, issued.ID)
	s.Must(err)
	token = string(operator)
	other := token[:len(token)-1] + map[bool]string{true: "0", false: "1"}[token[len(token)-1] == '1']
	for _, headers := range [][]string{
		nil, {""}, {"Bearer"}, {"Bearer "}, {token}, {"Basic " + token}, {"Bearer " + other}, {"Bearer " + token + " "}, {"Bearer  " + token},
		{"Bearer " + strings.ToUpper(token)}, {"Bearer " + token, "Bearer " + token}, {"Bearer " + strings.Repeat("x", 10_000)},
		{"Bearer " + string(issued.Secret)},
	} {
		if _, err := with(headers...); sdk.ReasonOf(err) != "unauthenticated" {
			t.Errorf("%q: %v", headers, err)
		}
	}
}

// TestAccess_ListensToThisMachineOnly.
func TestAccess_ListensToThisMachineOnly(t *testing.T) {
	for address, reason := range map[string]string{
		"127.0.0.1:1": "", "127.9.9.9:1": "", "[::1]:1": "", "[::ffff:127.0.0.1]:1": "",
		":80": "tls_required", "0.0.0.0:1": "tls_required", "[::]:1": "tls_required",
		"192.0.2.1:1": "tls_required", "[fe80::1]:1": "tls_required", "[::ffff:192.0.2.1]:1": "tls_required",
		"": "listen_invalid", "127.0.0.1": "listen_invalid", "127.0.0.1:": "listen_invalid", "::1:80": "listen_invalid",
	} {
		_, err := CheckListen(t.Context(), &access.Listen{Address: address})
		if got := sdk.ReasonOf(err); got != reason {
			t.Errorf("%q: %v, want %s", address, err, reason)
		}
		if err != nil && sdk.AsError(err).Hint == "" {
			t.Errorf("%q has no hint", address)
		}
	}
	l, err := Listen(t.Context(), &access.Listen{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(t.Context(), &access.Listen{Address: l.Addr().String()}); sdk.ReasonOf(err) != "listen_taken" {
		t.Errorf("a port that is taken: %v", err)
	}
}

// TestLimits_Rates are a subject's own, with bursts of twice the rate, and say how long to
// wait.
func TestLimits_Rates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.Must(s.Host.Close())
		s.Config.Sole = true
		s.Open()
		s.api = s.newAPI(Limits{Requests: 5, Writes: 2})
		ask := func(who, method string) *answer { return s.send(who, method, "/v1/nothing", "") }
		for i := range 10 {
			if a := ask("operator", "GET"); a.StatusCode != 404 {
				t.Fatalf("request %d: %d", i, a.StatusCode)
			}
		}
		a := ask("operator", "GET")
		if p := a.problem(t); a.StatusCode != 429 || p.Code != "requests_exhausted" || a.Header.Get("Retry-After") != "1" {
			t.Errorf("%d %s %v", a.StatusCode, a.body, a.Header)
		}
		if a := ask("here", "GET"); a.StatusCode != 404 {
			t.Errorf("another subject: %d", a.StatusCode)
		}
		time.Sleep(200 * time.Millisecond)
		if a := ask("operator", "GET"); a.StatusCode != 404 {
			t.Errorf("after a while: %d", a.StatusCode)
		}
		time.Sleep(time.Minute)
		for range 4 {
			if a := ask("operator", "POST"); a.StatusCode != 404 {
				t.Errorf("a write: %d", a.StatusCode)
			}
		}
		if p := ask("operator", "POST").problem(t); p.Code != "writes_exhausted" {
			t.Errorf("%s", p.Code)
		}
		r := s.request("", "POST", "/v1/nothing", "")
		for range 30 {
			if a := serve(s.api.Local(), r); a.StatusCode != 404 {
				t.Errorf("over the socket: %d", a.StatusCode)
			}
		}
		s.Must(s.Host.Close())
	})
}

// TestLimits_RatesOverHosts: two hosts on one store admit together what one would admit.
func TestLimits_RatesOverHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, limits := mem.Open(), Limits{Requests: 10, Writes: 4}
		var hosts []*site
		for range 2 {
			s := &site{World: operationtest.NewOn(t, db)}
			s.api = s.newAPI(limits)
			hosts = append(hosts, s)
		}
		admitted := map[string]int{}
		for range 10 * 20 {
			for _, s := range hosts {
				for _, method := range []string{"GET", "POST"} {
					a := s.send("operator", method, "/v1/nothing", "")
					switch {
					case a.StatusCode == 404:
						admitted[method]++
					case a.problem(t).Code != map[string]string{"GET": "requests", "POST": "writes"}[method]+"_exhausted" && a.problem(t).Code != "requests_exhausted":
						t.Errorf("%s", a.body)
					case a.Header.Get("Retry-After") != "1":
						t.Errorf("Retry-After is %s", a.Header.Get("Retry-After"))
					}
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		if all := admitted["GET"] + admitted["POST"]; all > 20+10*10 || all < 80 || admitted["POST"] > 8+10*4 || admitted["POST"] < 20 {
			t.Errorf("two hosts admit %v in 10 s", admitted)
		}
		for _, s := range hosts {
			s.Must(s.Host.Close())
		}
	})
}

// TestLimits_FailedLogins slow an address, but let right credentials from it in.
func TestLimits_FailedLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedSite(t, Limits{FailedLogins: 3})
		for range 3 {
			if a := s.send("wrong", "GET", "/v1/nothing", ""); a.StatusCode != 401 {
				t.Errorf("%d", a.StatusCode)
			}
		}
		if a := s.send("wrong", "GET", "/v1/nothing", ""); a.StatusCode != 429 || a.problem(t).Code != "logins_exhausted" {
			t.Errorf("the fourth: %d %s", a.StatusCode, a.body)
		}
		if a := s.send("operator", "GET", "/v1/nothing", ""); a.StatusCode != 404 {
			t.Errorf("the operator: %d", a.StatusCode)
		}
		time.Sleep(21 * time.Second)
		if a := s.send("wrong", "GET", "/v1/nothing", ""); a.StatusCode != 401 {
			t.Errorf("later: %d", a.StatusCode)
		}
		s.Must(s.Host.Close())
	})
}

// failing is what can't say who asks.
type failing struct {
	mu  sync.Mutex
	err error
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Authenticate implements [Authenticator].
func (f *failing) Authenticate(*http.Request) (core.Caller, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return core.Operator(core.OperatorSubject), f.err
}

// TestAccess_AStoreThatFailsIsNoWrongCredential: it is answered with 503, without the
// store's message.
func TestAccess_AStoreThatFailsIsNoWrongCredential(t *testing.T) {
	s := newSite(t)
	s.api.config.Authenticator = &failing{err: sdk.Errorf(sdk.Internal, "store_io", "the disk of /secret is gone")}
	a := s.send("operator", "GET", "/v1/memories", "")
	if p := a.problem(t); p.Status != 503 || p.Code != "access_unavailable" || a.Header.Get("Retry-After") == "" || strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestLimits_AreCheckedAtOnce.
func TestLimits_AreCheckedAtOnce(t *testing.T) {
	if err := (Limits{}).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	err := Limits{Body: -1, Connections: -5, DrainTime: -time.Second, Headers: 1 << 30}.Validate()
	problems, _ := sdk.AsError(err).Details["problems"].([]*core.ErrorInfo)
	if len(problems) != 4 || sdk.ReasonOf(err) != "limits_invalid" {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{Limits: Limits{Body: -1}}); err == nil {
		t.Error("an API is made of them")
	}
}

// TestLimits_Connections: one connection too many gets an error, if the others are of a tenant
// that has no more than half of them.
func TestLimits_Connections(t *testing.T) {
	s := newLimitedSite(t, Limits{Connections: 1, Requests: -1})
	tcp, err := Listen(t.Context(), &access.Listen{Address: "127.0.0.1:0"})
	s.Must(err)
	server := NewServer(t.Context(), s.api)
	server.ServeTCP(tcp)
	get := func() (*http.Response, *http.Transport) {
		own := &http.Transport{}
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+tcp.Addr().String()+"/v1/jobs", nil)
		s.Must(err)
		r.Header.Set("Authorization", "Bearer operator")
		a, err := own.RoundTrip(r)
		s.Must(err)
		_, err = io.Copy(io.Discard, a.Body) // read to its end, the connection stays open
		s.Must(err)
		_ = a.Body.Close()
		return a, own
	}
	var open []*http.Transport
	for range 1 {
		a, own := get()
		if a.StatusCode != 200 {
			t.Errorf("%d", a.StatusCode)
		}
		open = append(open, own)
	}
	if a, own := get(); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d", a.StatusCode)
	} else {
		own.CloseIdleConnections()
	}
	for _, own := range open {
		own.CloseIdleConnections()
	}
	s.Must(server.Stop())
}

// TestLimits_OfASubjectsTenants: what a subject's name did in one tenant isn't counted in another, nor
// for a caller of several.
func TestLimits_OfASubjectsTenants(t *testing.T) {
	s := newLimitedSite(t, Limits{Requests: 1, Writes: 1, SubjectStreams: 1})
	seen := map[string]bool{}
	for _, namespaces := range [][]string{{"lab/**"}, {"team", "team/a"}, {"users/ana/**"}, {"users/bob"}, {"users/**"}, {"mill", "mill/**"}, {"lab2/**"}, {"port/a/b"}} {
		c := core.Caller{Subject: "anna", Namespaces: namespaces}
		if seen[c.Account()] {
			t.Errorf("%q has another tenant's account", namespaces)
		}
		seen[c.Account()] = true
		if err := s.api.rates.admit(t.Context(), c, false); err != nil {
			t.Errorf("%q: %v", namespaces, err)
		}
		_, _, err := s.api.streams.open(c)
		if err != nil {
			t.Errorf("%q: %v", namespaces, err)
		}
		if _, _, err := s.api.streams.open(core.Caller{Subject: "anna", Namespaces: namespaces[:1]}); sdk.ReasonOf(err) != "subject_streams_full" {
			t.Errorf("%q, a second stream: %v", namespaces, err)
		}
	}
}
