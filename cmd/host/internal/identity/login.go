package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// To log in, a browser is sent to the issuer, which sends it back with a code. Intercepting
// the code is useless: it is exchanged together with a verifier that never left this server
// (PKCE), and it works only once, and only in the same browser, which a cookie proves. The
// token that it gives must be for this client and contain the nonce of this login, so that
// a token of another login can't be used.

const (
	// loginTime is how long a person has to log in at the issuer.
	loginTime = 10 * time.Minute
	// maxLogins is how many logins may be under way: a further login ends the oldest.
	maxLogins = 1000
)

// Client is this server's registration at the issuer, for browsers that log in.
type Client struct {
	// ID is the client id; if it is "", browsers can't log in at the issuer. Secret is the
	// client's password; "" for a public client, which only PKCE protects.
	ID, Secret string
	// Scopes are the requested scopes in addition to openid.
	Scopes []string
	// Callback is the URL that the issuer sends browsers back to, which it must know.
	Callback string
}

// login is a login that is under way.
type login struct {
	state, verifier, nonce string
	browser                [sha256.Size]byte
	expires                time.Time
}

// logins are the logins under way, the oldest first.
type logins struct {
	mu   sync.Mutex
	list []login
}

// add adds a login.
func (l *logins) add(one login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= maxLogins {
		l.list = l.list[1:]
	}
	l.list = append(l.list, one)
}

// take removes the login of a state, and returns it if a browser began it in time.
func (l *logins) take(state, browser string, now time.Time) (login, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.list {
		if subtle.ConstantTimeCompare([]byte(one.state), []byte(state)) != 1 {
			continue
		}
		l.list = append(l.list[:i:i], l.list[i+1:]...)
		key := sha256.Sum256([]byte(browser))
		return one, key == one.browser && now.Before(one.expires)
	}
	return login{}, false
}

// Begin begins a login: the browser is sent to a URL of the issuer, and keeps a secret. The
// errors are the same as from [Verifier.Authenticate].
func (v *Verifier) Begin() (to, browser string, err error) {
	if _, err := v.ready(); err != nil {
		return "", "", err
	}
	one := login{state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), expires: v.options.Clock.Now().Add(loginTime)}
	browser = rand.Text()
	one.browser = sha256.Sum256([]byte(browser))
	v.logins.add(one)
	return v.config().AuthCodeURL(one.state, oidc.Nonce(one.nonce), oauth2.S256ChallengeOption(one.verifier)), browser, nil
}

// Finish reads the issuer's answer, and opens a session for the browser that began the
// login with a secret. It returns the session's cookie and how long the session lasts. An
// invalid answer gives an error of [access.IsUnauthenticated]. If no grant matches the
// person, the error is sdk.Denied, reason "grant_missing".
func (v *Verifier) Finish(ctx context.Context, browser string, answer url.Values) (cookie string, lasts time.Duration, err error) {
	now := v.options.Clock.Now()
	one, began := v.logins.take(answer.Get("state"), browser, now)
	issuer := answer.Get("iss") // not every issuer sends it
	if !began || answer.Get("code") == "" || issuer != "" && issuer != v.options.Issuer {
		return "", 0, access.Unauthenticated()
	}
	ctx, done := context.WithTimeout(oidc.ClientContext(ctx, v.exchange), fetchTime)
	defer done()
	token, err := v.config().Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(one.verifier))
	if err != nil { // its message may have parts of the code or the token
		return "", 0, access.Unauthenticated()
	}
	caller, err := v.loggedIn(ctx, token, one.nonce)
	if err != nil {
		return "", 0, err
	}
	if len(caller.Scopes) == 0 {
		return "", 0, sdk.Errorf(sdk.Denied, "grant_missing", "the issuer knows %s, to whom nothing is granted here", core.Cut(caller.Subject)).
			WithHint("ask the operator for a grant")
	}
	return v.sessions.open(caller, now), access.SessionTime, nil
}

// loggedIn is the caller that the token names.
func (v *Verifier) loggedIn(ctx context.Context, token *oauth2.Token, nonce string) (core.Caller, error) {
	text, _ := token.Extra("id_token").(string)
	if len(text) == 0 || len(text) > maxToken {
		return core.Caller{}, access.Unauthenticated()
	}
	provider := v.known()
	checked, err := provider.Verifier(&oidc.Config{ClientID: v.options.Client.ID, Now: v.options.Clock.Now}).Verify(ctx, text)
	if err != nil || subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(nonce)) != 1 {
		return core.Caller{}, access.Unauthenticated()
	}
	claims := map[string]any{}
	if err := checked.Claims(&claims); err != nil {
		return core.Caller{}, access.Unauthenticated()
	}
	return v.options.Mapping.Caller(claims)
}

// config is the client's configuration, once the issuer has answered where browsers log in.
func (v *Verifier) config() *oauth2.Config {
	c := v.options.Client
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, Endpoint: v.known().Endpoint(), RedirectURL: c.Callback,
		Scopes: append([]string{oidc.ScopeOpenID}, c.Scopes...),
	}
}
