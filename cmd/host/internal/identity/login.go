package identity

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// To log in, a browser is sent to the issuer, which sends it back with a code. Intercepting
// the code is useless: it is exchanged together with a verifier that only this server can read
// (PKCE), and it works only once, and only in the same browser, which a cookie proves. The
// token that it gives must be for this client and contain the nonce of this login, so that
// a token of another login can't be used.

// The server keeps nothing about a login that is under way: it is in the browser's cookie,
// sealed. So nobody can end other people's logins by beginning many, and nothing has to be
// bounded. That a login works once is due to the code, which the issuer exchanges once.

// loginTime is how long a person has to log in at the issuer.
const loginTime = 10 * time.Minute

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
	State    string    `json:"state"`
	Verifier string    `json:"verifier"`
	Nonce    string    `json:"nonce"`
	Expires  time.Time `json:"expires"`
}

// logins seals logins with a key of this process, so that a browser can neither read nor make
// one. The zero value isn't ready: see newLogins.
type logins struct{ seal cipher.AEAD }

func newLogins() logins {
	key := make([]byte, 32)
	_, _ = rand.Read(key)                          // it never fails
	block, _ := aes.NewCipher(key)                 // a key of 32 bytes is one
	seal, _ := cipher.NewGCMWithRandomNonce(block) // a block of AES has the right size
	return logins{seal}
}

// cookie is a login as its browser keeps it.
func (l logins) cookie(one *login) string {
	return base64.RawURLEncoding.EncodeToString(l.seal.Seal(nil, nil, jsontext.MustEncode(one), nil)) //nolint:gosec // this AEAD makes its own nonce
}

// open is the login in a cookie; false if this process didn't make it, or it isn't the login of
// this state, or it took too long.
func (l logins) open(cookie, state string, now time.Time) (one login, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return login{}, false
	}
	text, err := l.seal.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(text, &one) != nil {
		return login{}, false
	}
	return one, subtle.ConstantTimeCompare([]byte(one.State), []byte(state)) == 1 && now.Before(one.Expires)
}

// Begin begins a login: the browser is sent to a URL of the issuer, and keeps a secret. The
// errors are the same as from [Verifier.Authenticate].
func (v *Verifier) Begin() (to, browser string, err error) {
	if _, err := v.ready(); err != nil {
		return "", "", err
	}
	one := login{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Expires: v.options.Clock.Now().Add(loginTime)}
	return v.config().AuthCodeURL(one.State, oidc.Nonce(one.Nonce), oauth2.S256ChallengeOption(one.Verifier)), v.logins.cookie(&one), nil
}

// Finish reads the issuer's answer, and opens a session for the browser that began the
// login with a secret. It returns the session's cookie and how long the session lasts. If the
// session is to hold under a host's name only, it returns a link for [Verifier.Redeem] instead. An
// invalid answer gives an error of [access.IsUnauthenticated]. If no grant matches the
// person, the error is sdk.Denied, reason "grant_missing".
func (v *Verifier) Finish(ctx context.Context, browser string, answer url.Values, host string) (cookie string, lasts time.Duration, err error) {
	now := v.options.Clock.Now()
	one, began := v.logins.open(browser, answer.Get("state"), now)
	issuer := answer.Get("iss") // not every issuer sends it
	if !began || answer.Get("code") == "" || issuer != "" && issuer != v.options.Issuer {
		return "", 0, access.Unauthenticated()
	}
	ctx, done := context.WithTimeout(oidc.ClientContext(ctx, v.exchange), fetchTime)
	defer done()
	token, err := v.config().Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(one.Verifier))
	if err != nil { // its message may have parts of the code or the token
		return "", 0, access.Unauthenticated()
	}
	caller, err := v.loggedIn(ctx, token, one.Nonce)
	if err != nil {
		return "", 0, err
	}
	if len(caller.Scopes) == 0 {
		return "", 0, sdk.Errorf(sdk.Denied, "grant_missing", "the issuer knows %s, to whom nothing is granted here", core.Cut(caller.Subject)).
			WithHint("ask the operator for a grant")
	}
	return v.sessions.open(caller, host, host != "", now), access.SessionTime, nil
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
