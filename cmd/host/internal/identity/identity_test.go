package identity

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const audience = "https://host.example.org:7842"

// site is an issuer and who checks its tokens.
type site struct {
	*Verifier
	t      *testing.T
	issuer *mockoidc.MockOIDC
	clock  *coretest.Clock
	// away is whether the issuer ends every connection without an answer.
	away atomic.Bool
	// fetched is how often its keys were.
	fetched atomic.Int32
}

func newSite(t *testing.T) *site {
	t.Helper()
	issuer, err := mockoidc.NewServer(nil)
	must(t, err)
	s := &site{t: t, issuer: issuer, clock: &coretest.Clock{}}
	must(t, issuer.AddMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.away.Load() {
				panic(http.ErrAbortHandler)
			}
			if r.URL.Path == mockoidc.JWKSEndpoint {
				s.fetched.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	}))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, issuer.Start(listener, nil))
	grant, err := access.ParseGrant("groups=staff memory:read in team/**")
	must(t, err)
	s.Verifier = New(Options{Issuer: issuer.Issuer(), Audience: audience, Clock: s.clock, Mapping: access.Mapping{Grants: []access.Grant{grant}}})
	t.Cleanup(func() { must(t, s.Close()); must(t, issuer.Shutdown()) })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// token is a token of the issuer, with claims changed; nil drops one.
func (s *site) token(change jwt.MapClaims) string {
	s.t.Helper()
	claims := jwt.MapClaims{
		"iss": s.issuer.Issuer(), "aud": audience, "sub": "amy", "groups": []string{"staff"},
		"iat": s.clock.Now().Unix(), "exp": s.clock.Now().Add(time.Hour).Unix(),
	}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	signed, err := s.issuer.Keypair.SignJWT(claims)
	must(s.t, err)
	return signed
}

func (s *site) ask(token string) (core.Caller, error) { return s.Authenticate(s.t.Context(), token) }

// TestVerifier_KnowsThoseOfTheIssuer by the claims that it signed.
func TestVerifier_KnowsThoseOfTheIssuer(t *testing.T) {
	s := newSite(t)
	caller, err := s.ask(s.token(nil))
	if err != nil || caller.Subject != "oidc:amy" || !caller.Has(core.ScopeMemoryRead) || caller.Has(core.ScopeOperate) || !caller.Reaches("team/a") || caller.Reaches("a") {
		t.Errorf("%+v, %v", caller, err)
	}
	if caller, err := s.ask(s.token(jwt.MapClaims{"groups": nil})); err != nil || len(caller.Scopes) > 0 {
		t.Errorf("without a grant: %+v, %v", caller, err)
	}
	if _, err := s.ask(s.token(jwt.MapClaims{"aud": []string{"other", audience}})); err != nil {
		t.Errorf("one of several audiences: %v", err)
	}
}

// TestVerifier_RefusesAlike whatever is wrong with a token.
func TestVerifier_RefusesAlike(t *testing.T) {
	s := newSite(t)
	whole := s.token(nil)
	parts := strings.Split(whole, ".")
	header := func(fields map[string]any) string {
		text, err := json.Marshal(fields)
		must(t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	other, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": s.issuer.Issuer(), "aud": audience, "sub": "amy", "exp": s.clock.Now().Add(time.Hour).Unix(),
	}).SignedString(key)
	must(t, err)
	for name, token := range map[string]string{
		"another audience":    s.token(jwt.MapClaims{"aud": "https://other.example.org"}),
		"no audience":         s.token(jwt.MapClaims{"aud": nil}),
		"another issuer":      s.token(jwt.MapClaims{"iss": "https://other.example.org"}),
		"expired":             s.token(jwt.MapClaims{"exp": s.clock.Now().Add(-time.Second).Unix()}),
		"no expiry":           s.token(jwt.MapClaims{"exp": nil}),
		"not yet":             s.token(jwt.MapClaims{"nbf": s.clock.Now().Add(time.Hour).Unix()}),
		"nobody":              s.token(jwt.MapClaims{"sub": ""}),
		"another key":         other,
		"no signature":        header(map[string]any{"alg": "none"}) + "." + parts[1] + ".",
		"a shared key":        header(map[string]any{"alg": "HS256"}) + "." + parts[1] + "." + parts[2],
		"another's signature": parts[0] + "." + parts[1] + "." + strings.Split(s.token(jwt.MapClaims{"sub": "bob"}), ".")[2],
		"nonsense":            "a.b.c",
		"nothing":             "..",
		"too long":            strings.Repeat("x", maxToken) + ".b.c",
	} {
		caller, err := s.ask(token)
		if !access.IsUnauthenticated(err) || caller.Subject != "" || err.Error() != access.Unauthenticated().Error() {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
	}
}

// TestVerifier_TheIssuerMayBeAway once its keys are known; before, that is what is wrong, and
// it is asked again after a while.
func TestVerifier_TheIssuerMayBeAway(t *testing.T) {
	s := newSite(t)
	token := s.token(nil)
	s.away.Store(true)
	for range 2 {
		if _, err := s.ask(token); sdk.ReasonOf(err) != "issuer_unavailable" || sdk.CodeOf(err) != sdk.Unavailable || strings.Contains(err.Error(), token) {
			t.Errorf("away: %v", err)
		}
	}
	s.away.Store(false)
	s.clock.Advance(fetchEvery)
	if _, err := s.ask(s.token(nil)); err != nil {
		t.Errorf("there again: %v", err)
	}
	s.away.Store(true)
	for range 3 {
		s.clock.Advance(24 * time.Hour)
		if caller, err := s.ask(s.token(nil)); err != nil || caller.Subject != "oidc:amy" {
			t.Errorf("away again: %v", err)
		}
	}
}

// TestVerifier_SparesTheIssuer: because of tokens with a wrong signature it is asked only
// once in a while, and a key that is new is found then.
func TestVerifier_SparesTheIssuer(t *testing.T) {
	s := newSite(t)
	if _, err := s.ask(s.token(nil)); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(fetchEvery)
	parts := strings.Split(s.token(nil), ".")
	for s.fetched.Load() < 2 { // it may be answered with what the first one has just fetched
		if _, err := s.ask(parts[0] + "." + parts[1] + ".AAAA"); !access.IsUnauthenticated(err) {
			t.Fatalf("a wrong signature: %v", err)
		}
	}
	key, err := mockoidc.RandomKeypair(2048)
	must(t, err)
	s.issuer.Keypair = key
	if _, err := s.ask(s.token(nil)); !access.IsUnauthenticated(err) {
		t.Errorf("the issuer is asked at once: %v", err)
	}
	s.clock.Advance(fetchEvery)
	_, err = s.ask(s.token(nil))
	for range 100 { // it may be answered with what the ask before it has just been refused
		if err == nil {
			return
		}
		_, err = s.ask(s.token(nil))
	}
	t.Errorf("a new key: %v", err)
}
