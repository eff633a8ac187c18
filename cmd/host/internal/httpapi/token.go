package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// Tokens authenticates callers by a token of the host (the operator's, or an issued one),
// by a token of an OpenID Connect issuer, or by a browser's session.
type Tokens struct {
	Authority *access.Authority
	// Identities authenticates callers by a token of an issuer, which has three parts
	// separated by dots. It returns the errors of access.Authority.Authenticate. With nil,
	// there are no such callers.
	Identities func(ctx context.Context, token string) (core.Caller, error)
	// Sessions authenticates browsers that logged in at that issuer, by their cookie and, where
	// sessions are bound, the host's name that it was sent to; nil means that there are none.
	Sessions func(cookie, host string) (core.Caller, bool)
	// Cookie is the name of the cookie of a session; if it is "", there are no sessions.
	Cookie string
	// Bound is whether sessions hold only under the name of the host at which they began.
	Bound bool
}

var _ Authenticator = Tokens{}

// Authenticate implements [Authenticator].
func (t Tokens) Authenticate(r *http.Request) (core.Caller, error) {
	var caller core.Caller
	var err error
	token, ok := bearer(r)
	session, isSession := t.session(r)
	switch {
	case ok && t.Identities != nil && strings.Count(token, ".") == 2:
		caller, err = t.Identities(r.Context(), token)
	case ok:
		caller, err = t.Authority.Authenticate(r.Context(), token)
	case isSession:
		host := ""
		if t.Bound {
			host = hostOf(r.Host)
		}
		if t.Sessions != nil {
			if caller, known := t.Sessions(session, host); known {
				return caller, nil
			}
		}
		caller, err = t.Authority.AuthenticateSessionAt(r.Context(), session, host)
	default:
		return core.Caller{}, unauthenticated()
	}
	if access.IsUnauthenticated(err) {
		return core.Caller{}, unauthenticated()
	}
	return caller, err
}

// The headers of a token besides Authorization, for [ModelTokens].
const (
	keyHeader   = "X-Api-Key"
	tokenHeader = "Reflectory-Token"
)

// ModelTokens authenticates the clients of models by a token, in the headers in which such clients send
// their keys. A session is none: a page of a browser must not spend money.
type ModelTokens struct{ Tokens }

var _ Authenticator = ModelTokens{}

// Authenticate implements [Authenticator]. Reflectory-Token counts before the others, which are then for
// somebody else, even if it is wrong; and Authorization before X-Api-Key.
func (t ModelTokens) Authenticate(r *http.Request) (core.Caller, error) {
	own := &http.Request{Header: http.Header{}, Host: r.Host}
	switch own.Header["Authorization"] = r.Header.Values("Authorization"); {
	case len(r.Header.Values(tokenHeader)) > 0:
		own.Header["Authorization"] = schemed(r.Header.Values(tokenHeader))
	case len(own.Header["Authorization"]) == 0:
		own.Header["Authorization"] = schemed(r.Header.Values(keyHeader))
	}
	caller, err := t.Tokens.Authenticate(own.WithContext(r.Context()))
	if access.IsUnauthenticated(err) {
		err = sdk.AsError(unauthenticated()).WithHint("send a token with the scope model as Authorization: Bearer, or as x-api-key").WithAction("token new")
	}
	return caller, err
}

// schemed are the values of a header, in the form of Authorization.
func schemed(values []string) (list []string) {
	for _, v := range values {
		list = append(list, "Bearer "+v)
	}
	return list
}

// session is the cookie of a browser's session. If the request also has an Authorization
// header, only the header counts, even if it is wrong.
func (t Tokens) session(r *http.Request) (string, bool) {
	cookies := r.CookiesNamed(t.Cookie)
	if t.Cookie == "" || len(cookies) != 1 || len(r.Header.Values("Authorization")) > 0 {
		return "", false
	}
	return cookies[0].Value, true
}

// Anybody admits every caller with the few rights of [core.Anybody], for a server that asks for
// no credentials.
type Anybody struct{}

var _ Authenticator = Anybody{}

// Authenticate implements [Authenticator].
func (Anybody) Authenticate(*http.Request) (core.Caller, error) {
	return core.Anybody(), nil
}

// bearer is the token that a request sends.
func bearer(r *http.Request) (string, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	return token, ok && strings.EqualFold(scheme, "Bearer")
}
