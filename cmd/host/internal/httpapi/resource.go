package httpapi

import (
	"net/http"

	"github.com/reflectory/reflectory/core"
)

// A client that has no token yet, such as one of MCP, finds out by itself where to get one:
// the refusal names a document, as RFC 9728 has it, and that names the issuer.

// Resource is a server to whoever asks for a token for it.
type Resource struct {
	// URL is where clients find the server, and Audience what a token has to be for.
	URL, Audience string
	// Issuer is whose tokens are taken.
	Issuer string
}

// resourcePath is where the document is.
const resourcePath = "/.well-known/oauth-protected-resource"

// challenge is what a request without valid credentials is answered with.
func (a *API) challenge() string {
	const bearer = `Bearer realm="reflectory"`
	if a.config.Resource == nil {
		return bearer
	}
	return bearer + `, resource_metadata="` + a.config.Resource.URL + resourcePath + `"`
}

// mountResource has the document be there for everybody.
func (a *API) mountResource(mux *http.ServeMux) {
	resource := a.config.Resource
	if resource == nil {
		return
	}
	text := core.MustJSON(map[string]any{
		"resource": resource.Audience, "authorization_servers": []string{resource.Issuer}, "bearer_methods_supported": []string{"header"},
		"resource_name": "Reflectory",
	})
	mux.Handle("GET "+resourcePath, a.enter(false, func(w http.ResponseWriter, r *request) {
		r.op = "resource"
		r.write(w, http.StatusOK, "application/json", text)
	}))
}
