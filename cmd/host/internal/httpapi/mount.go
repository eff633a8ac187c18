package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// Other surfaces are mounted at a path, behind the checks of every request: the caller, the
// origin, the size and the rate. They know nothing about this package, and it knows nothing
// about them.

// Requests describes and reads the requests of operations for another surface, so that all
// surfaces understand a request in the same way.
type Requests struct {
	// JSONDepth is how deep a request's JSON may be nested; 0 is [MaxJSONDepth].
	JSONDepth int
}

// Schema is the schema of a request or a result.
func (Requests) Schema(t reflect.Type, request bool) (*jsonschema.Schema, error) {
	return schemaOf(t, request)
}

// Decode fills a request of an operation, a pointer to a struct, from a JSON object. If that can't be
// decoded, the error lists everything that is wrong with the request.
func (r Requests) Decode(o *operation.Operation, data []byte, in any, wrong ...error) error {
	faults := faults(wrong)
	err := faults.decodeWithin(cmp.Or(r.JSONDepth, MaxJSONDepth), data, in, nil)
	return core.JoinErrors(err, faults.refusal(o, in, core.SystemClock{}.Now()))
}

// Refused records for the log that a mounted surface refused a request, and removes from
// the problem what a caller over the network mustn't see: paths of the host, refused
// values, and internal causes. body is the refused JSON.
func (a *API) Refused(ctx context.Context, err error, body []byte, p *client.Problem) {
	e, asked := sdk.AsError(err), &request{}
	if r, known := ctx.Value(requestKey{}).(*request); known {
		r.code, asked = p.Code, r
	}
	if statusOf(e, true) == http.StatusInternalServerError {
		asked.failure = err
		p.Try = nil
		p.Detail, p.Hint, p.Details = "something went wrong inside the server", "give the operator trace_id: the server's log has it", map[string]any{"trace_id": asked.trace.ID}
		return
	}
	a.problems.redact(&request{http: &http.Request{URL: &url.URL{}}, body: body}, e, p)
}

// mounted is a handler behind the checks, with the caller in the request's context.
func (a *API) mounted(path string, h http.Handler) http.Handler {
	return a.handle(strings.Trim(path, "/"), func(w http.ResponseWriter, r *request) {
		done, err := a.admitBody(r, a.limits.Body)
		if err == nil {
			defer done()
			r.body, err = a.body(w, r, a.limits.Body)
		}
		if err != nil {
			a.problems.refuse(w, r, err)
			return
		}
		hr := r.http.WithContext(core.WithCaller(r.http.Context(), r.caller))
		hr.Body = io.NopCloser(bytes.NewReader(r.body))
		h.ServeHTTP(&mountWriter{ResponseWriter: w, r: r}, hr)
	})
}

// mountWriter records how a mounted handler answered, and gives each write its own
// deadline, since a request may take longer than sending an answer may.
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
	_ = http.NewResponseController(m.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	return m.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (m *mountWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }
