// Package identity authenticates people by the tokens of an OpenID Connect issuer. The
// issuer's keys, which are fetched once and kept, prove that it has signed a token, so the
// issuer may be unreachable meanwhile. [access.Mapping] turns a token's claims into rights.
//
// Nothing is fetched before the first such token arrives, so a server starts without its
// issuer. The keys are fetched at most about once every [fetchEvery]. Otherwise each token
// with a wrong signature, which anybody can send, would make this server ask the issuer for
// its keys.
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
	// fetchEvery is the minimum time between two requests to the issuer: its keys change only
	// every few weeks.
	fetchEvery = 5 * time.Second
	// maxToken is the largest size of a token, in bytes; usual ones have 1 to 4 KiB.
	maxToken = 16 << 10
)

// Options are what [New] works with.
type Options struct {
	// Issuer is the issuer's URL, exactly as the issuer writes it.
	Issuer string
	// Audience is the audience that a token must have.
	Audience string
	// Mapping makes callers from claims.
	Mapping access.Mapping
	// Client is for browsers that log in.
	Client Client
	// Transport connects to the issuer. Default one with the environment's proxies.
	Transport *http.Transport
	// Clock is the clock. Default [core.SystemClock].
	Clock core.Clock
}

// Verifier authenticates callers by the tokens of an issuer. It is safe for concurrent use.
type Verifier struct {
	options Options
	client  *http.Client
	// exchange is the HTTP client that exchanges codes. It isn't limited by [fetchEvery],
	// since each code is another request to the same URL.
	exchange *http.Client
	logins   logins
	sessions sessions

	// mu guards provider and verifier, which are nil until the issuer has answered how its
	// tokens are checked, and tried, the time of the last attempt to ask it.
	mu       sync.Mutex
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	tried    time.Time
}

// New makes a Verifier, without contacting the issuer. Close must be called.
func New(o Options) *Verifier {
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	connections := o.Transport
	if connections == nil {
		connections = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	transport := &fetchLimiter{transport: connections, clock: o.Clock, asked: map[string]time.Time{}}
	return &Verifier{options: o, logins: newLogins(), client: &http.Client{Transport: transport, Timeout: fetchTime}, exchange: &http.Client{
		Transport: connections, Timeout: fetchTime,
		// A redirect would send the code and the client's secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the idle connections.
func (v *Verifier) Close() error {
	v.client.CloseIdleConnections()
	return nil
}

// Authenticate returns the caller with a token. An invalid token gives an error of
// [access.IsUnauthenticated], whatever is wrong with it. If the issuer has never answered,
// the error is sdk.Unavailable, reason "issuer_unavailable".
func (v *Verifier) Authenticate(ctx context.Context, token string) (core.Caller, error) {
	if len(token) > maxToken {
		return core.Caller{}, access.Unauthenticated()
	}
	verifier, err := v.ready()
	if err != nil {
		return core.Caller{}, err
	}
	checked, err := verifier.Verify(ctx, token)
	if err != nil { // its message may have parts of the token
		return core.Caller{}, access.Unauthenticated()
	}
	claims := map[string]any{}
	if err := checked.Claims(&claims); err != nil {
		return core.Caller{}, access.Unauthenticated()
	}
	caller, err := v.options.Mapping.Caller(claims)
	caller.Until = checked.Expiry
	return caller, err
}

// ready asks the issuer how its tokens are checked, unless it has already answered.
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
	// The keys are also fetched later, so the context isn't the first request's.
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

// errSpared is the error of a request that comes too soon.
var errSpared = errors.New("it was asked just now")

// fetchLimiter sends a request for each URL at most once in [fetchEvery].
type fetchLimiter struct {
	transport *http.Transport
	clock     core.Clock

	mu    sync.Mutex
	asked map[string]time.Time
}

// RoundTrip implements [http.RoundTripper].
func (s *fetchLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
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
func (s *fetchLimiter) CloseIdleConnections() { s.transport.CloseIdleConnections() }
