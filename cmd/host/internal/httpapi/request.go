package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// request is a request with everything that this package knows about it, also for its
// log line.
type request struct {
	http *http.Request
	// local is whether it came over the socket.
	local bool
	// forwarded is whether another host forwarded it.
	forwarded bool
	// foreign is the surface that it is for, if that isn't this API; otherwise nil.
	foreign *foreign
	// by is the address of the host that answered it; "" is this host.
	by string
	// trace is the trace that it belongs to.
	trace traceparent.Trace
	// address is the address that it came from.
	address string
	caller  core.Caller
	// op is its operation; "" if it has none. taken are the fields in its path.
	op    string
	taken []string
	// body is its JSON, as far as it was read.
	body []byte
	// called is whether its operation was called.
	called bool
	// code and status are the answer's code and status; code is "" for a success. failure
	// is an internal error.
	code    string
	status  int
	failure error
	begun   time.Time
	// replayed is whether the answer comes from an earlier call with the same
	// Idempotency-Key.
	replayed bool
}

type requestKey struct{}

// requestOf is the request that an HTTP request belongs to.
func requestOf(r *http.Request) *request {
	own, _ := r.Context().Value(requestKey{}).(*request)
	return own
}

// with is the HTTP request with this request in its context.
func (r *request) with(ctx context.Context) *http.Request {
	return r.http.WithContext(context.WithValue(traceparent.With(ctx, r.trace), requestKey{}, r))
}

// traceOf is the trace that a request names, otherwise a new one.
func traceOf(r *http.Request) traceparent.Trace {
	if named, ok := traceparent.Parse(r.Header.Get("Traceparent")); ok {
		return named
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return traceparent.Trace{ID: hex.EncodeToString(id[:])}
}

// route is the path of the route that a request was for, as it is defined; "" is none.
func (r *request) route() string {
	path := r.http.Pattern
	if _, below, found := strings.Cut(path, " "); found {
		path = below
	}
	if path == "/" {
		return "" // the handler for paths without a route
	}
	return path
}

// writeTime is how long the caller's side may take to receive an answer.
const writeTime = 30 * time.Second

// write answers with a body.
func (r *request) write(w http.ResponseWriter, status int, contentType string, body []byte) {
	r.status = status
	h := w.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // the type isn't HTML, and nosniff is set; the caller may have gone
}

// listed yields the elements of the lists in a header's values.
func listed(values []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, value := range values {
			for one := range strings.SplitSeq(value, ",") {
				if !yield(one) {
					return
				}
			}
		}
	}
}

// accepts reports whether the caller accepts an answer of a media type. Without an
// Accept header it accepts any type.
func (r *request) accepts(mediaType string) bool {
	accepted := r.http.Header.Values("Accept")
	if len(accepted) == 0 {
		return true
	}
	group, _, _ := strings.Cut(mediaType, "/")
	for part := range listed(accepted) {
		name, params, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != mediaType && name != "*/*" && name != group+"/*" {
			continue
		}
		if q := strings.ReplaceAll(params, " ", ""); !refusing().MatchString(q) {
			return true
		}
	}
	return false
}

// refusing is a weight of zero, which means that a type isn't accepted.
var refusing = core.Pattern(`(^|;)q=0(\.0*)?(;|$)`)

// mustAccept refuses a request whose caller doesn't accept the media type of the answer.
func (r *request) mustAccept(mediaType string) error {
	if r.accepts(mediaType) {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "not_acceptable", "the answer is %s, which the Accept header doesn't take", mediaType).
		WithHint("accept %s", mediaType)
}
