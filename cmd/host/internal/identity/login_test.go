package identity

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// browsers registers the server as a client at the issuer, and lets somebody of the staff log
// in next.
func (s *site) browsers() {
	c := s.issuer.Config()
	s.options.Client = Client{ID: c.ClientID, Secret: c.ClientSecret, Scopes: []string{"groups"}, Callback: audience + CallbackPath}
	s.options.Clock = s.clock
	s.clock.Advance(time.Since(s.clock.Now())) // mockoidc signs with the system's time
	for range 10 {                             // as often as a test logs in
		s.issuer.QueueUser(&mockoidc.MockUser{Subject: "amy", Groups: []string{"staff"}})
	}
}

// sent begins a login, and returns what the issuer sends the browser back with.
func (s *site) sent() (browser string, answer url.Values) {
	s.t.Helper()
	to, browser, err := s.Begin()
	must(s.t, err)
	own := &http.Transport{DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, to, nil)
	must(s.t, err)
	a, err := own.RoundTrip(r)
	must(s.t, err)
	must(s.t, a.Body.Close())
	back, err := a.Location()
	if err != nil || back.Path != CallbackPath {
		s.t.Fatalf("the issuer answers %s to %s: %v", a.Status, to, err)
	}
	return browser, back.Query()
}

func (s *site) finish(browser string, answer url.Values) (string, error) {
	cookie, _, err := s.Finish(s.t.Context(), browser, answer, "")
	return cookie, err
}

// TestLogin_OpensASession of the person whom the issuer names, with what is granted to
// them, for 12 hours or until it is ended.
func TestLogin_OpensASession(t *testing.T) {
	s := newSite(t)
	s.browsers()
	to, _, err := s.Begin()
	must(t, err)
	asked, err := url.Parse(to)
	must(t, err)
	q := asked.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("nonce") == "" ||
		q.Get("state") == "" || q.Get("scope") != "openid groups" || q.Get("redirect_uri") != audience+CallbackPath {
		t.Errorf("the browser is sent to %s", to)
	}
	cookie, err := s.finish(s.sent())
	must(t, err)
	caller, known := s.Session(cookie, "")
	if !known || caller.Subject != "oidc:amy" || !slices.Equal(caller.Scopes, []core.Scope{core.ScopeMemoryRead}) || !caller.Reaches("team/a") || caller.Reaches("a") {
		t.Errorf("%+v, %v", caller, known)
	}
	if string(access.Hide([]byte("at "+cookie))) != "at [secret]" {
		t.Error("a log would have the cookie")
	}
	if _, known := s.Session(cookie+"0", ""); known {
		t.Error("another cookie is known")
	}
	s.clock.Advance(access.SessionTime - time.Second)
	if _, known := s.Session(cookie, ""); !known {
		t.Error("it ends too early")
	}
	s.clock.Advance(time.Second)
	if _, known := s.Session(cookie, ""); known {
		t.Error("it doesn't end")
	}
}

// TestLogin_RefusesWhatIsNotOfThisLogin: another browser, another time, another code.
func TestLogin_RefusesWhatIsNotOfThisLogin(t *testing.T) {
	s := newSite(t)
	s.browsers()
	refused := func(what, browser string, answer url.Values) {
		t.Helper()
		if cookie, err := s.finish(browser, answer); !access.IsUnauthenticated(err) || cookie != "" {
			t.Errorf("%s: %q, %v", what, cookie, err)
		}
	}
	with := func(answer url.Values, name, value string) url.Values {
		changed := url.Values{}
		for k, v := range answer {
			changed[k] = v
		}
		changed.Set(name, value)
		return changed
	}
	_, answer := s.sent()
	refused("a browser that didn't begin it", "", answer)
	browser, answer := s.sent()
	refused("another browser", browser+"x", answer)
	if _, err := s.finish(browser, answer); err != nil {
		t.Errorf("the right one after another: %v", err)
	}
	browser, answer = s.sent()
	refused("no state", browser, with(answer, "state", ""))
	refused("another state", browser, with(answer, "state", "x"))
	refused("another issuer's answer", browser, with(answer, "iss", "https://other.example.org"))
	browser, answer = s.sent()
	refused("no code", browser, url.Values{"state": answer["state"], "error": {"access_denied"}})
	browser, answer = s.sent()
	refused("a code that the issuer doesn't know", browser, with(answer, "code", "x"))
	_, others := s.sent()
	browser, answer = s.sent()
	refused("the code of another login", browser, with(answer, "code", others.Get("code")))
	browser, answer = s.sent()
	s.clock.Advance(loginTime)
	refused("too late", browser, answer)
	s.clock.Advance(-loginTime)
	browser, answer = s.sent()
	if _, err := s.finish(browser, answer); err != nil {
		t.Fatal(err)
	}
	refused("again", browser, answer)
}

// TestLogin_NobodyWithoutAGrant, and nobody while the issuer is away.
func TestLogin_NobodyWithoutAGrant(t *testing.T) {
	s := newSite(t)
	s.away.Store(true)
	if _, _, err := s.Begin(); sdk.ReasonOf(err) != "issuer_unavailable" {
		t.Errorf("away: %v", err)
	}
	s.away.Store(false)
	s.browsers()
	s.clock.Advance(fetchEvery)
	s.issuer.UserQueue = &mockoidc.UserQueue{}
	s.issuer.QueueUser(&mockoidc.MockUser{Subject: "eve", Groups: []string{"others"}})
	if _, err := s.finish(s.sent()); sdk.ReasonOf(err) != "grant_missing" {
		t.Errorf("without a grant: %v", err)
	}
}

// TestSessions_AreBounded for each subject, and end when they are closed.
func TestSessions_AreBounded(t *testing.T) {
	var s sessions
	now := time.Unix(1_700_000_000, 0)
	other := s.open(core.Caller{Subject: "oidc:bob"}, "", false, now)
	var cookies []string
	for range maxOwnSessions + 2 {
		cookie := s.open(core.Caller{Subject: "oidc:amy"}, "", false, now)
		cookies = append(cookies, cookie)
	}
	for i, cookie := range cookies {
		if _, known := s.find(cookie, "", false, now); known != (i >= 2) {
			t.Errorf("session %d: %v", i, known)
		}
	}
	s.end(cookies[5])
	if _, known := s.find(cookies[5], "", false, now); known {
		t.Error("it has ended")
	}
	if caller, known := s.find(other, "", false, now); !known || caller.Subject != "oidc:bob" {
		t.Errorf("another's: %+v %v", caller, known)
	}
}

// TestLogin_SurvivesAFloodOfOthers: logins that others begin, however many, end nobody's, and
// no cookie but the login's own finishes it.
func TestLogin_SurvivesAFloodOfOthers(t *testing.T) {
	s := newSite(t)
	s.browsers()
	browser, answer := s.sent()
	for range 2000 {
		_, other, err := s.Begin()
		must(t, err)
		if other == browser {
			t.Fatal("two logins have one cookie")
		}
	}
	_, other, err := s.Begin()
	must(t, err)
	for _, wrong := range []string{"", "x", other, browser[1:], browser[:len(browser)-4], "AAAA" + browser[4:], browser + "AAAA", "!" + browser} {
		if _, err := s.finish(wrong, answer); !access.IsUnauthenticated(err) {
			t.Errorf("a wrong cookie: %v", err)
		}
	}
	if _, err := s.finish(browser, answer); err != nil {
		t.Errorf("after the flood: %v", err)
	}
}
