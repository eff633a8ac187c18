package httpapi

import (
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The routes are made from the table of operations: nothing here knows an operation by
// name.

// route is an operation as it is called over HTTP.
type route struct {
	operation.Operation
	// taken are the request's fields that are in the path.
	taken []string
	// queues is whether a job does it, unless it asks no model: direct is the operation itself, which
	// then answers at once. The route's own operation is its form as a job.
	queues bool
	direct operation.Operation
}

// preferred is the route for a caller's preferences: only one that asks for it gets a job for work
// that takes no time.
func (rt *route) preferred(p preferences) *route {
	if !rt.queues || p.async {
		return rt
	}
	at := *rt
	at.Operation = rt.direct
	return &at
}

// remoteRoute is the route of an operation over a network. There, an operation that may
// take as long as a model, or reads a whole store, is a job, which outlives the connection.
// Over the socket the operation is done within the request: commands wait for it as if they
// did the work themselves.
func remoteRoute(o operation.Operation) *route {
	queued, queues := o.AsJob()
	rt := newRoute(queued)
	rt.queues, rt.direct = queues, o
	return rt
}

// newRoute reads an operation's path.
func newRoute(o operation.Operation) *route {
	rt := &route{Operation: o}
	for _, part := range strings.Split(o.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			rt.taken = append(rt.taken, strings.TrimSuffix(name, "}"))
		}
	}
	return rt
}

// inQuery reports whether the fields that aren't in the path are in the query.
func (rt *route) inQuery() bool {
	return rt.Method == http.MethodGet || rt.Method == http.MethodDelete || rt.Body
}

// callText is the route as a hint names it: with the action's arguments in path and query.
// Arguments that the user must choose are in braces.
func (rt *route) callText(args sdk.Args) string {
	path, query := rt.Path, url.Values{}
	known := fieldsOf(rt.In())
	for _, arg := range args {
		name := arg.Name
		for _, field := range rt.taken {
			if field != name && (field == "id" || field == "from") && !slices.Contains(rt.taken, name) && known[name].typ == nil {
				name = field // the command line's word for it, such as memory or run
			}
		}
		value, isText := arg.Value.(string)
		switch {
		case slices.Contains(rt.taken, name) && isText:
			path = strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1)
		case isText && rt.inQuery() && known[name].typ != nil:
			query.Set(name, value)
		case arg.Value == true && rt.inQuery() && known[name].typ != nil && known[name].typ.Kind() == reflect.Bool:
			query.Set(name, "true")
		}
	}
	if text := query.Encode(); text != "" {
		path += "?" + text
	}
	return rt.Method + " " + path
}

// requestFor is a request for an operation, with its body.
func (a *API) requestFor(name string, arguments map[string]any) string {
	rt := a.routes[name]
	if rt == nil {
		return ""
	}
	text := strings.NewReplacer("%3C", "<", "%3E", ">").Replace(rt.callText(operation.CallArgs(arguments))) // what the caller fills in
	if body := maps.Clone(arguments); !rt.inQuery() {
		for _, field := range rt.taken {
			delete(body, field)
		}
		text += " " + string(jsontext.MustEncode(body))
	}
	return text
}

// mux routes the operations, and the few other paths.
func (a *API) mux(local bool) http.Handler {
	mux := http.NewServeMux()
	for _, rt := range a.routes {
		if !local {
			rt = remoteRoute(rt.Operation)
		}
		mux.Handle(rt.Method+" "+rt.Path, a.operation(rt))
	}
	if local {
		mux.Handle("POST "+client.CancelPath("{call}"), a.handle("call_cancel", a.cancelCall))
	}
	for path, h := range a.config.Mounts {
		if !local {
			mux.Handle(path, a.mounted(path, h))
		}
	}
	mux.Handle("GET /v1/events", a.handle("events", a.namespaceEvents))
	mux.Handle("GET /v1/runs/{id}/events", a.handle("run_events", a.runEvents))
	mux.Handle("GET /v1/jobs/{id}/events", a.handle("job_events", a.jobEvents))
	mux.Handle("GET /v1/openapi.json", a.handle("openapi", a.openAPI))
	if a.metrics != nil {
		mux.Handle("GET /metrics", a.handle("metrics", a.scrape))
	}
	unknown := a.handle("", a.unknown(mux))
	mux.Handle("/", unknown)
	return cleanOnly(mux, unknown)
}

// cleanOnly keeps certain paths away from a mux, since the mux would answer them itself,
// such as //v1, /v1/.. and the * of OPTIONS. For these it calls other, so that they pass
// the same checks, limits and log as any unknown path.
func cleanOnly(mux *http.ServeMux, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isClean(r) {
			mux.ServeHTTP(w, r)
		} else {
			other.ServeHTTP(w, r)
		}
	})
}

// isClean reports whether a request names a path as routes are written.
func isClean(r *http.Request) bool {
	at := r.URL.EscapedPath()
	return strings.HasPrefix(at, "/") && (path.Clean(at) == strings.TrimSuffix(at, "/") || at == "/")
}

// unknown answers requests without a route, with the methods of the path, if it has any.
func (a *API) unknown(mux *http.ServeMux) func(http.ResponseWriter, *request) {
	return func(w http.ResponseWriter, r *request) {
		var methods []string
		for _, method := range []string{"DELETE", "GET", "HEAD", "POST", "PUT"} {
			if !isClean(r.http) {
				break
			}
			probe := &http.Request{Method: method, URL: r.http.URL, Host: r.http.Host}
			if _, pattern := mux.Handler(probe); pattern != "/" {
				methods = append(methods, method)
			}
		}
		if len(methods) == 0 {
			a.problems.refuse(w, r, sdk.Errorf(sdk.NotFound, "route_not_found", "there is no such path").WithHint("GET /v1/openapi.json lists what there is"))
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		a.problems.refuse(w, r, sdk.Errorf(sdk.Invalid, "method_not_allowed", "this path has no such method").
			WithHint("it has %s", strings.Join(methods, ", ")).WithDetail("methods", methods))
	}
}
