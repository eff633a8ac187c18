package httpapi

import (
	"net/http"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
)

// Tokens knows the callers that have a token of the host: the operator's own, or one that
// was issued.
type Tokens struct {
	Authority *access.Authority
}

var _ Authenticator = Tokens{}

// Authenticate implements [Authenticator].
func (t Tokens) Authenticate(r *http.Request) (core.Caller, error) {
	token, ok := bearer(r)
	if !ok {
		return core.Caller{}, unauthenticated()
	}
	caller, err := t.Authority.Authenticate(r.Context(), token)
	if access.IsUnauthenticated(err) {
		return core.Caller{}, unauthenticated()
	}
	return caller, err
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
