package httpapi

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Every refusal is a problem of RFC 9457, including refusals of the transport, so that
// callers have one form to read. The status follows from the error's class; a few reasons
// have a separate status, if HTTP has a more specific one. Callers branch on the code, not
// on the status.

// titles are the classes in words, and statuses their HTTP statuses.
var (
	titles = map[sdk.Code]string{
		sdk.Invalid: "Invalid request", sdk.NotFound: "Not found", sdk.Conflict: "Conflict", sdk.Denied: "Denied",
		sdk.Exhausted: "Limit reached", sdk.Timeout: "Timeout", sdk.Cancelled: "Cancelled", sdk.Unavailable: "Unavailable",
		sdk.Incompatible: "Incompatible", sdk.Internal: "Internal error",
	}
	statuses = map[sdk.Code]int{
		sdk.Invalid: 422, sdk.NotFound: 404, sdk.Conflict: 409, sdk.Denied: 403, sdk.Exhausted: 429, sdk.Timeout: 504,
		sdk.Cancelled: 409, sdk.Unavailable: 503, sdk.Incompatible: 409, sdk.Internal: 500,
	}
	// transportStatuses are the statuses of reasons with which this package refuses a request
	// before an operation is called, if HTTP has a more specific status than the class's.
	transportStatuses = map[string]int{
		// Requests that can't be read.
		"json_invalid": 400, "json_too_deep": 400, "json_name_repeated": 400, "utf8_invalid": 400, "query_invalid": 400, "body_unreadable": 400,
		"header_invalid": 400, "last_event_id_invalid": 400,
		// Refusals that HTTP has a status for.
		"unauthenticated": 401, "method_not_allowed": 405, "not_acceptable": 406, "body_timeout": 408,
		"content_type_unsupported": 415, "headers_too_large": 431,
		// Limits that all callers share.
		"streams_full": 503, "connections_full": 503,
	}
	// operationStatuses are the same for an operation's own errors, and for a body that it
	// reads. No other error of an operation may choose a status: a field may be called query,
	// and a plugin is free to choose its reasons.
	operationStatuses = map[string]int{"invalid_page_token": 400, "precondition_failed": 412, "body_unreadable": 400, "body_timeout": 408}
)

// tooLarge ends the reasons of refusals because of size.
const tooLarge = "_too_large"

// statusOf is the status of an error; called is whether an operation returned it.
func statusOf(e *sdk.Error, called bool) int {
	own := transportStatuses
	if called {
		own = operationStatuses
	}
	switch status := own[e.Reason]; {
	case e.FromPlugin:
	case status != 0:
		return status
	case e.Code == sdk.Exhausted && strings.HasSuffix(e.Reason, tooLarge):
		return http.StatusRequestEntityTooLarge
	}
	if status := statuses[e.Code]; status != 0 {
		return status
	}
	return http.StatusInternalServerError
}

// retryAfter is how long to wait if the error has no time.
const retryAfter = time.Second

// problems are what is wrong with requests, as callers may know it.
type problems struct {
	routes    map[string]*route
	folders   []string // of this machine, which messages mustn't name
	challenge string   // of a request without valid credentials
	// decoding waits until a body may be decoded for what a problem quotes of it.
	decoding func(*request) (done func())
}

// of makes the problem of an error.
func (ps *problems) of(r *request, err error) *client.Problem {
	e := sdk.AsError(err)
	status := statusOf(e, r.called)
	p := &client.Problem{
		Title: titles[e.Code], Status: status, Detail: err.Error(), Code: sdk.ReasonOf(err), TraceID: r.trace.ID,
		Hint: ps.hint(e.Hint, e.Try), Try: e.Try, Details: facts(e.Details),
	}
	p.Type = "urn:reflectory:problem:" + p.Code
	if p.Title == "" {
		p.Title = titles[sdk.Internal]
	}
	if r.local {
		p.Error = client.NewErrorData(err)
	}
	if status == http.StatusInternalServerError && !r.local {
		// An internal error may contain anything. The log has it, under the trace's id.
		p.Detail, p.Hint, p.Try, p.Details = "something went wrong inside the server", "give the operator trace_id: the server's log has it", nil, nil
		return p
	}
	if e.Code == sdk.Invalid {
		p.Errors = ps.faultsOf(r, err)
	}
	if !r.local {
		ps.redact(r, e, p)
	}
	return p
}

// facts are the details without those that Errors already contains. Problems of a file
// stay, since they have places in the file, which Errors can't express.
func facts(details map[string]any) map[string]any {
	var out map[string]any
	for name, value := range details {
		if _, said := value.([]*core.ErrorInfo); said || name == "pointer" {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = value
	}
	return out
}

// faultsOf lists everything that is wrong with a request, with the places.
func (ps *problems) faultsOf(r *request, err error) []client.Fault {
	info := core.NewErrorInfo(err)
	problems, _ := info.Details["problems"].([]*core.ErrorInfo)
	if len(problems) == 0 {
		problems = []*core.ErrorInfo{info}
	}
	list := make([]client.Fault, len(problems))
	for i, p := range problems {
		list[i] = client.Fault{Pointer: ps.pointerOf(r, p.Details), Detail: p.Message, Code: p.Code}
		if hint := ps.hint(p.Hint, p.Try); hint != "" && len(problems) > 1 {
			list[i].Detail += " (" + hint + ")"
		}
	}
	return list
}

// pointerOf is the place that an error names: a pointer, or the name of a field of the
// request, such as items[3].content. If the request has no such field, the name may be a
// part of a value, and the place is the whole request.
func (ps *problems) pointerOf(r *request, details map[string]any) string {
	pointer, rt := operation.PointerOf(details), ps.routes[r.op]
	if _, exact := details["pointer"]; exact {
		return pointer
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if rt == nil || fieldsOf(rt.In())[first].typ == nil {
		return ""
	}
	return pointer
}

// refuse answers with the problem of an error.
func (ps *problems) refuse(w http.ResponseWriter, r *request, err error) {
	ps.refuseWith(w, r, err, nil)
}

// refuseWith is refuse for an error that comes with a result.
func (ps *problems) refuseWith(w http.ResponseWriter, r *request, err error, result any) {
	if r.foreign != nil {
		ps.refuseForeign(w, r, err)
		return
	}
	p := ps.of(r, err)
	if result != nil {
		p.Result = jsontext.MustEncode(result)
	}
	r.code, r.status = p.Code, p.Status
	if p.Status == http.StatusInternalServerError {
		r.failure = err
	}
	h := w.Header()
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := sdk.RetryAfter(err)
		if wait <= 0 {
			wait = retryAfter
		}
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", ps.challenge)
	}
	text, encodeErr := jsontext.Line(p)
	if encodeErr != nil { // a detail that is no JSON
		p.Details, p.Error = nil, nil
		text = jsontext.MustEncode(p)
	}
	r.write(w, p.Status, client.ProblemType, access.Hide(text))
}

// hint is an error's hint, with the route of the operation that follows it.
func (ps *problems) hint(hint string, try *sdk.Action) string {
	if try == nil {
		return hint
	}
	route := ps.routeOf(try)
	switch {
	case route == "":
		return hint
	case hint == "":
		return route
	}
	return hint + ": " + route
}

// verbs are the operations that actions name in other words than a noun and a verb.
var verbs = map[string]string{
	"runs list": "run_list", "runs show": "run_get", "jobs list": "job_list", "jobs show": "job_get", "run": "run_start", "resume": "run_resume", "replay": "run_replay",
	"plugin inspect": "plugin_get", "audit show": "audit_streams",
}

// routeOf spells an action as a method and a path; "" if no operation here does it.
func (ps *problems) routeOf(try *sdk.Action) string {
	name := verbs[try.Verb]
	if name == "" {
		name = strings.ReplaceAll(try.Verb, " ", "_")
	}
	if try.Verb == "audit show" && slices.ContainsFunc(try.Args, func(arg sdk.Arg) bool { return arg.Name == "stream" }) {
		name = "audit_entries"
	}
	rt := ps.routes[name]
	if rt == nil {
		return ""
	}
	return rt.callText(try.Args)
}
