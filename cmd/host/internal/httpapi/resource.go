package httpapi

import (
	"net/http"

	"github.com/reflectory/reflectory/core/jsontext"
)

// A client without a token, such as an MCP client, finds out by itself where to get one:
// the refusal names a document of RFC 9728, and the document names the issuer.

// Resource describes the server to clients that need a token for it.
type Resource struct {
	// URL is the server's address for clients, and Audience the audience that a token must
	// have.
	URL, Audience string
	// Issuer is the issuer whose tokens are accepted.
	Issuer string
}

// resourcePath is where the document is.
const resourcePath = "/.well-known/oauth-protected-resource"

// challenge is the header in the answer to a request without valid credentials; r may be nil.
func challenge(r *Resource) string {
	const bearer = `Bearer realm="reflectory"` //nolint:gosec // a challenge, not a credential
	if r == nil {
		return bearer
	}
	return bearer + `, resource_metadata="` + r.URL + resourcePath + `"`
}

// mountResource serves the document to everybody.
func (a *API) mountResource(mux *http.ServeMux) {
	resource := a.config.Resource
	if resource == nil {
		return
	}
	text := jsontext.MustEncode(map[string]any{
		"resource": resource.Audience, "authorization_servers": []string{resource.Issuer}, "bearer_methods_supported": []string{"header"},
		"resource_name": "Reflectory",
	})
	mux.Handle("GET "+resourcePath, a.enter(request{}, func(w http.ResponseWriter, r *request) {
		r.op = "resource"
		r.write(w, http.StatusOK, "application/json", text)
	}))
}
