package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Other surfaces are mounted at a path, behind all that every request passes: who asks, from
// where, how much and how often. They know nothing of this package, nor it of them.

// Requests describes and reads the requests of operations for another surface, so that one
// request is understood alike by all.
type Requests struct{}

// Schema is the schema of a request or a result.
func (Requests) Schema(t reflect.Type, request bool) (*jsonschema.Schema, error) {
	return schemaOf(t, request)
}

// Decode fills a request, a pointer to a struct, from a JSON object, or reports all that is
// wrong with it.
func (Requests) Decode(data []byte, in any) error { return decodeBody(data, in, nil) }

// Redact leaves out of a problem of another surface what a caller over a network mustn't be
// told: paths of the host, refused values, and what went wrong inside. body is the request's
// JSON.
func (a *API) Redact(err error, body []byte, p *client.Problem) {
	e := sdk.AsError(err)
	if statusOf(e) == http.StatusInternalServerError {
		p.Detail, p.Hint, p.Details = "something went wrong inside the server", "give the operator the time: the server's log may have it", nil
		return
	}
	a.redact(&request{http: &http.Request{URL: &url.URL{}}, body: body}, e, p)
}

// mounted is a handler behind the checks, with the caller in the request's context.
func (a *API) mounted(path string, h http.Handler) http.Handler {
	return a.handle(strings.Trim(path, "/"), func(w http.ResponseWriter, r *request) {
		var err error
		if r.body, err = a.body(w, r, a.limits.Body); err != nil {
			a.refuse(w, r, err)
			return
		}
		hr := r.http.WithContext(core.WithCaller(r.http.Context(), r.caller))
		hr.Body = io.NopCloser(bytes.NewReader(r.body))
		h.ServeHTTP(&mountWriter{ResponseWriter: w, r: r}, hr)
	})
}

// mountWriter notes how a mounted handler answered, and gives each write its own time: what
// is asked for may take longer than an answer may.
type mountWriter struct {
	http.ResponseWriter
	r *request
}

// WriteHeader implements [http.ResponseWriter].
func (m *mountWriter) WriteHeader(status int) {
	m.r.status = status
	m.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (m *mountWriter) Write(p []byte) (int, error) {
	if m.r.status == 0 {
		m.r.status = http.StatusOK
	}
	_ = http.NewResponseController(m.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)) // a writer of a test has none
	return m.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (m *mountWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// metadataPath is where RFC 9728 has a protected resource describe itself, with the path of
// the resource behind it.
const metadataPath = "/.well-known/oauth-protected-resource"

// metadata says of a mounted surface how to be let in. Anybody may ask.
func (a *API) metadata(w http.ResponseWriter, r *request) {
	path := strings.TrimPrefix(r.http.URL.Path, metadataPath)
	if path == "" && len(a.config.Mounts) == 1 {
		for only := range a.config.Mounts {
			path = only
		}
	}
	if a.config.Mounts[path] == nil {
		a.refuse(w, r, sdk.Errorf(sdk.NotFound, "route_not_found", "there is no such path"))
		return
	}
	text, err := core.PrintJSON(struct {
		Resource string       `json:"resource"`
		Servers  []string     `json:"authorization_servers,omitempty"`
		Methods  []string     `json:"bearer_methods_supported"`
		Scopes   []core.Scope `json:"scopes_supported"`
		Name     string       `json:"resource_name"`
	}{origin(r.http) + path, a.config.Issuers, []string{"header"}, core.Scopes(), "Reflectory"})
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	r.write(w, http.StatusOK, "application/json", text)
}

// challenge is what a request without valid credentials is told: for a mounted surface also
// where it describes itself.
func (a *API) challenge(r *request) string {
	const scheme = `Bearer realm="reflectory"`
	if path := r.http.URL.Path; a.config.Mounts[path] != nil {
		return scheme + `, resource_metadata="` + origin(r.http) + metadataPath + path + `"`
	}
	return scheme
}

// origin is the server as the caller names it, by a host that was checked.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
