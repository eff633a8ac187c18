package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// The caller is authenticated before anything else in a request is read, even the path: for
// an unknown caller every path looks the same. A web page in a browser on this machine must
// not act as the caller. Checking the host name in the request stops foreign DNS names that
// resolve to this machine's address, and checking the origin stops pages of other sites.

// Authenticator authenticates the callers of requests.
type Authenticator interface {
	// Authenticate returns the caller of a request. An error that [access.IsUnauthenticated]
	// knows is answered with 401, and mustn't reveal which part of a credential is wrong. Any
	// other error, such as a store that can't be read, is answered with 503.
	Authenticate(r *http.Request) (core.Caller, error)
}

// nobody is an Authenticator that knows no caller.
type nobody struct{}

// Authenticate implements [Authenticator].
func (nobody) Authenticate(*http.Request) (core.Caller, error) {
	return core.Caller{}, unauthenticated()
}

// unauthenticated is the one answer to missing and wrong credentials.
func unauthenticated() error {
	return sdk.Errorf(sdk.Denied, "unauthenticated", "the request has no valid credentials").
		WithHint("send Authorization: Bearer and a token; the operator's is in operator.token in the server's data folder")
}

// authenticate finds out who the caller is. An address that sends many wrong credentials is
// slowed down, but its right credentials are accepted: otherwise one caller behind an
// address could lock out all other callers behind it. With 256 random bits, learning that a
// guess was wrong doesn't help an attacker.
func (a *API) authenticate(w http.ResponseWriter, r *request) bool {
	by := a.config.Authenticator
	if r.foreign != nil {
		by = r.foreign.Authenticator
	}
	caller, err := by.Authenticate(r.http)
	if err == nil {
		if r.failure = caller.Validate(); r.failure != nil {
			err = unauthenticated()
		}
	}
	switch {
	case err == nil:
		r.caller = caller
		slotOf(r.http.Context()).known(caller.Tenant())
		return true
	case !access.IsUnauthenticated(err): // its text is only for the log, since the caller is unknown
		r.failure = err
		err = sdk.Errorf(sdk.Unavailable, "access_unavailable", "the credentials can't be checked now").WithHint("try again")
	case r.http.Header.Get("Authorization") != "", r.foreign != nil && (r.http.Header.Get(keyHeader) != "" || r.http.Header.Get(tokenHeader) != ""):
		if slowed := a.rates.failedLogin(r.http.Context(), r.address); slowed != nil {
			err = slowed
		}
	}
	a.problems.refuse(w, r, err)
	return false
}

// authenticateAgain is how often the credentials of an open stream of events are checked
// again: half of the 2 s within which a revoked token's streams end.
const authenticateAgain = time.Second

// stillKnown reports whether the caller that opened a stream would be let in now. While the
// credentials can't be checked, the stream continues.
func (a *API) stillKnown(r *request) bool {
	if r.local {
		return true
	}
	_, err := a.config.Authenticator.Authenticate(r.http)
	return !access.IsUnauthenticated(err)
}

// admit refuses a request that is too large or comes too soon for its subject.
func (a *API) admit(w http.ResponseWriter, r *request) bool {
	err := a.rates.admit(r.http.Context(), r.caller, r.http.Method == http.MethodGet || r.http.Method == http.MethodHead)
	if err == nil {
		err = checkHeaders(r, a.limits.Headers, "headers")
	}
	if err != nil {
		a.problems.refuse(w, r, err)
	}
	return err == nil
}

// checkHeaders refuses a request with more bytes of headers than a limit; key is its setting, "" for none.
func checkHeaders(r *request, limit int, key string) error {
	size := len(r.http.RequestURI)
	for name, values := range r.http.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	if size <= limit {
		return nil
	}
	err := sdk.Errorf(sdk.Exhausted, "headers_too_large", "the request's line and headers have %d bytes (limit %d)", size, limit)
	if key == "" {
		return err.WithHint("send fewer or shorter ones")
	}
	return reached(err, key, "send fewer or shorter ones")
}

// local makes the peer of the socket the caller: the operator, with the label that it
// sends.
func (a *API) local(r *request) error {
	if version := r.http.Header.Get(client.VersionHeader); version != "" && version != a.config.Version {
		return client.OtherVersion(version, a.config.Version)
	}
	r.caller = core.Operator(r.http.Header.Get(client.AgentHeader))
	return r.caller.Validate()
}

// checkOrigin refuses requests from pages of other sites.
func (a *API) checkOrigin(r *request) error {
	if host := hostOf(r.http.Host); !r.local && !a.hosts[host] && !(a.config.LoginHosts && access.IsLoginHost(host)) && (a.config.Covers == nil || !a.config.Covers(host)) {
		return sdk.Errorf(sdk.Denied, "host_unknown", "this server isn't known by the host's name in the request").
			WithHint("use a name that the server was started with, or the address that it listens on")
	}
	if err := a.origins.Check(r.http); err != nil {
		return sdk.Errorf(sdk.Denied, "cross_origin", "a page of another origin may not ask for this")
	}
	return nil
}

// hostOf is a host's name without its port, in lower case; an address as it is usually
// written.
func hostOf(host string) string {
	if strings.Contains(host, ":") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if strings.Contains(host, ":") || host != "" && host[0] >= '0' && host[0] <= '9' { // otherwise it is no address
		if address, err := netip.ParseAddr(host); err == nil {
			return address.Unmap().String()
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
