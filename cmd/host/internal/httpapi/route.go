package httpapi

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// The routes are the table of operations: nothing here knows one by its name, except the
// rule below.

// route is an operation as it is called over HTTP.
type route struct {
	operation.Operation
	// taken are the request's fields that are in the path.
	taken []string
}

// becomesJob reports whether an operation takes as long as a model or a whole store does,
// and so isn't offered over a network until it is a job, which outlives the connection that
// asked for it. Over the socket such an operation works within its request for now: the
// program's own commands wait for it as if they did it themselves. What is streamed, and the
// check of a store, work within a request anyway.
func becomesJob(o *operation.Operation) bool {
	return o.Long && !o.Body && !o.Sink && o.Name != "store_check"
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

// spell is the route as a hint names it: with the action's arguments in path and query.
// What has yet to be chosen is in braces.
func (rt *route) spell(args sdk.Args) string {
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

// mux routes the operations, and the few other paths that there are.
func (a *API) mux(local bool) *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range a.routes {
		if local || !becomesJob(&rt.Operation) {
			mux.Handle(rt.Method+" "+rt.Path, a.operation(rt))
		}
	}
	mux.Handle("GET /v1/events", a.handle("events", a.namespaceEvents))
	mux.Handle("GET /v1/runs/{id}/events", a.handle("run_events", a.runEvents))
	mux.Handle("GET /v1/openapi.json", a.handle("openapi", a.openAPI))
	if a.metrics != nil {
		mux.Handle("GET /metrics", a.handle("metrics", a.scrape))
	}
	mux.Handle("/", a.handle("", a.unknown(mux)))
	return mux
}

// unknown answers what no route is for: with the methods that the path has, if any.
func (a *API) unknown(mux *http.ServeMux) func(http.ResponseWriter, *request) {
	return func(w http.ResponseWriter, r *request) {
		var methods []string
		for _, method := range []string{"DELETE", "GET", "HEAD", "POST", "PUT"} {
			probe := &http.Request{Method: method, URL: r.http.URL, Host: r.http.Host}
			if _, pattern := mux.Handler(probe); pattern != "/" {
				methods = append(methods, method)
			}
		}
		if len(methods) == 0 {
			a.refuse(w, r, sdk.Errorf(sdk.NotFound, "route_not_found", "there is no such path").WithHint("GET /v1/openapi.json lists what there is"))
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		a.refuse(w, r, sdk.Errorf(sdk.Invalid, "method_not_allowed", "this path has no such method").
			WithHint("it has %s", strings.Join(methods, ", ")).WithDetail("methods", methods))
	}
}
