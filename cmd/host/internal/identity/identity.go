// Package identity knows those whom an OpenID Connect issuer names. They show a token that
// the issuer has signed, and its keys, which are fetched once and kept, prove that: so the
// issuer may be away while they work. What its claims are worth here, [access.Mapping] says.
//
// Nothing is fetched before somebody shows such a token, so that a server starts without its
// issuer, and hardly more often than in [fetchEvery]: tokens with a wrong signature, which
// anybody can send, would otherwise have this server ask the issuer for its keys each time.
package identity

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// fetchTime is how long the issuer may take to answer: less than callers wait.
	fetchTime = 5 * time.Second
	// fetchEvery is how often the issuer is asked at most: keys are changed once in weeks.
	fetchEvery = 5 * time.Second
	// maxToken is how many bytes a token has at most; issuers' have some 1 to 4 KiB.
	maxToken = 16 << 10
)

// Options are what [New] works with.
type Options struct {
	// Issuer is its URL, as it writes itself.
	Issuer string
	// Audience is what a token has to be for.
	Audience string
	// Mapping makes callers of claims.
	Mapping access.Mapping
	// Client is for browsers that log in.
	Client Client
	// Clock says when. Default [core.SystemClock].
	Clock core.Clock
}

// Verifier knows callers by the tokens of an issuer. It is safe for concurrent use.
type Verifier struct {
	options Options
	client  *http.Client
	// exchange is the client for codes, each of which is another request to one URL.
	exchange *http.Client
	logins   logins
	sessions sessions

	// mu guards provider and verifier, nil until the issuer has said how its tokens are
	// checked, and tried, which is when it was asked last.
	mu       sync.Mutex
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	tried    time.Time
}

// New makes a Verifier. It asks for nothing yet. Close must be called.
func New(o Options) *Verifier {
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	connections := &http.Transport{Proxy: http.ProxyFromEnvironment}
	transport := &sparing{transport: connections, clock: o.Clock, asked: map[string]time.Time{}}
	return &Verifier{options: o, client: &http.Client{Transport: transport, Timeout: fetchTime}, exchange: &http.Client{
		Transport: connections, Timeout: fetchTime,
		// A redirect would take the code and the client's secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that are kept.
func (v *Verifier) Close() error {
	v.client.CloseIdleConnections()
	return nil
}

// Authenticate says who asks with a token. A token that doesn't hold has the answer of
// [access.IsUnauthenticated], whatever is wrong with it; an issuer that has never answered is
// sdk.Unavailable, reason "issuer_unavailable".
func (v *Verifier) Authenticate(ctx context.Context, token string) (core.Caller, error) {
	if len(token) > maxToken {
		return core.Caller{}, access.Unauthenticated()
	}
	verifier, err := v.ready()
	if err != nil {
		return core.Caller{}, err
	}
	checked, err := verifier.Verify(ctx, token)
	if err != nil { // its words may have parts of the token
		return core.Caller{}, access.Unauthenticated()
	}
	claims := map[string]any{}
	if err := checked.Claims(&claims); err != nil {
		return core.Caller{}, access.Unauthenticated()
	}
	return v.options.Mapping.Caller(claims)
}

// ready asks the issuer how its tokens are checked, unless it has said so.
func (v *Verifier) ready() (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.options.Clock.Now()
	if v.verifier != nil {
		return v.verifier, nil
	}
	away := func(err error) error {
		return sdk.Errorf(sdk.Unavailable, "issuer_unavailable", "the issuer %s can't be asked: %w", v.options.Issuer, err).
			WithHint("try again")
	}
	if !v.tried.IsZero() && now.Sub(v.tried) < fetchEvery {
		return nil, away(errSpared)
	}
	v.tried = now
	// The keys are fetched later too, whatever becomes of the request that is the first.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), v.client), v.options.Issuer)
	if err != nil {
		return nil, away(err)
	}
	v.provider = provider
	v.verifier = provider.Verifier(&oidc.Config{ClientID: v.options.Audience, Now: v.options.Clock.Now})
	return v.verifier, nil
}

// known is the issuer, once it has answered: see [Verifier.ready].
func (v *Verifier) known() *oidc.Provider {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.provider
}

// errSpared is the answer to a request that comes too soon.
var errSpared = errors.New("it was asked just now")

// sparing sends a request for each URL at most once in [fetchEvery].
type sparing struct {
	transport *http.Transport
	clock     core.Clock

	mu    sync.Mutex
	asked map[string]time.Time
}

// RoundTrip implements [http.RoundTripper].
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	now, name := s.clock.Now(), r.URL.String()
	s.mu.Lock()
	last, known := s.asked[name]
	early := known && now.Sub(last) < fetchEvery
	if !early {
		s.asked[name] = now
	}
	s.mu.Unlock()
	if early {
		return nil, errSpared
	}
	return s.transport.RoundTrip(r)
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (s *sparing) CloseIdleConnections() { s.transport.CloseIdleConnections() }
