package gateway

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// fault is an error of the host as a client of a family reads it.
type fault struct {
	status              int
	code, message, path string
	wait                time.Duration
}

// refusal is an upstream's answer that is no reply. It reaches the client as it is.
type refusal struct {
	status int
	header http.Header
	body   []byte
}

// Error implements error. What the upstream says isn't quoted, since it may echo what it was sent.
func (r *refusal) Error() string { return "the upstream answered " + strconv.Itoa(r.status) }

// rejected is the reason of a request that got no reply that passes its check.
const rejected = "reply_rejected"

// faultOf describes an error.
func faultOf(err error) *fault {
	e := sdk.AsError(err)
	f := &fault{code: sdk.ReasonOf(err), message: e.Error(), wait: sdk.RetryAfter(err)}
	var refused *refusal
	switch status := map[string]int{
		"unauthenticated": 401, "method_not_allowed": 405, "not_acceptable": 406, "body_timeout": 408, rejected: 422, "headers_too_large": 431, unreachable: 502,
	}[e.Reason]; {
	case errors.As(err, &refused):
		f.status = refused.status
	case status != 0:
		f.status = status
	case e.Code == sdk.Exhausted && strings.HasSuffix(e.Reason, "_too_large"):
		f.status = http.StatusRequestEntityTooLarge
	default:
		f.status = map[sdk.Code]int{
			sdk.Invalid: 400, sdk.NotFound: 404, sdk.Conflict: 409, sdk.Denied: 403, sdk.Exhausted: 429, sdk.Timeout: 504,
			sdk.Cancelled: 409, sdk.Unavailable: 503, sdk.Incompatible: 409, sdk.Internal: 500,
		}[e.Code]
	}
	if f.status == http.StatusInternalServerError { // it may contain anything, and is logged
		f.code, f.message = string(sdk.Internal), "something went wrong inside the server"
		return f
	}
	if e.Hint != "" {
		f.message += " (" + e.Hint + ")"
	}
	f.path, _ = e.Details["pointer"].(string)
	return f
}

// kind is what a family calls the error.
func (f *fault) kind(family Family) string {
	type names struct{ openAI, anthropic string }
	n, known := map[int]names{
		401: {"authentication_error", "authentication_error"}, 403: {"permission_error", "permission_error"},
		404: {"invalid_request_error", "not_found_error"}, 413: {"invalid_request_error", "request_too_large"},
		429: {"rate_limit_error", "rate_limit_error"}, 503: {"server_error", "overloaded_error"}, 504: {"server_error", "timeout_error"},
	}[f.status]
	switch {
	case !known && f.status >= 500:
		n = names{"server_error", "api_error"}
	case !known:
		n = names{"invalid_request_error", "invalid_request_error"}
	}
	if family == Anthropic {
		return n.anthropic
	}
	return n.openAI
}

// param is the place in the request, as OpenAI writes it; nil if there is none.
func (f *fault) param() any {
	if p := strings.ReplaceAll(strings.TrimPrefix(f.path, "/"), "/", "."); p != "" {
		return p
	}
	return nil
}

func (f *fault) openAI() []byte {
	return jsontext.MustEncode(map[string]any{"error": map[string]any{
		"message": f.message, "type": f.kind(OpenAI), "param": f.param(), "code": f.code,
	}})
}

// responses is the event of a stream of responses.
func (f *fault) responses() []byte {
	return jsontext.MustEncode(map[string]any{"type": "error", "message": f.message, "code": f.code, "param": f.param(), "sequence_number": 0})
}

func (f *fault) anthropic() []byte {
	e := map[string]any{"type": f.kind(Anthropic), "message": f.message}
	if f.code == "previous_response_not_found" { // with this, the official client sends the whole conversation
		e["details"] = map[string]any{"error_code": "thread_not_found"}
	}
	return jsontext.MustEncode(map[string]any{"type": "error", "error": e})
}

// write answers with the error.
func (f *fault) write(w http.ResponseWriter, family Family) {
	body := f.openAI()
	if family == Anthropic {
		body = f.anthropic()
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(cmp.Or(f.wait, time.Second).Seconds()))))
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(body) //nolint:gosec // it is JSON, and says so; the client may be gone
}

// Refuse answers a request for a path of the gateway with an error, in the form of the path's family. It is for
// what mounts the handler, and checks a request before it.
func Refuse(w http.ResponseWriter, path string, err error) {
	faultOf(err).write(w, familyOf(path))
}
