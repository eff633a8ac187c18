package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
)

// object is a JSON object of the document. Its members are sorted by name, so that the
// same table gives the same bytes.
type object = map[string]any

// Document describes the API over TCP in the form of OpenAPI 3.1.
func Document(version string) ([]byte, error) { return document(version, false) }

// document describes the API over TCP or over the socket.
func document(version string, socket bool) ([]byte, error) {
	problem, err := schemaOf(reflect.TypeFor[client.Problem](), false)
	if err != nil {
		return nil, err
	}
	delete(problem.Properties, "error") // only over the socket
	paths, schemas := object{}, object{"problem": problem}
	for _, o := range operation.Table() {
		rt := remoteRoute(o)
		if socket {
			rt = newRoute(o)
		}
		if err := describe(rt, paths, schemas); err != nil {
			return nil, err
		}
	}
	describeEvents(paths)
	return jsontext.Print(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Reflectory", "version": version,
			"description": "The operations of a Reflectory server. Every refusal is a problem of RFC 9457, by whose code callers branch.",
		},
		"paths":    paths,
		"security": []object{{"token": []string{}}},
		"components": object{
			"schemas":         schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"responses":       object{"problem": object{"description": "Why it wasn't done.", "content": content(client.ProblemType, ref("problem"))}},
		},
	})
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func content(media string, schema any) object { return object{media: object{"schema": schema}} }

// describe adds an operation to the document.
func describe(rt *route, paths, schemas object) error {
	in, err := schemaOf(rt.In(), true)
	if err != nil {
		return err
	}
	out, err := schemaOf(rt.Out(), false)
	if err != nil {
		return err
	}
	described := object{
		"operationId": rt.Name, "summary": rt.Doc, "description": scopesOf(&rt.Operation), "responses": responses(rt, schemas, out),
	}
	if parameters := rt.parameters(in); len(parameters) > 0 {
		described["parameters"] = parameters
	}
	switch {
	case rt.Body:
		described["requestBody"] = object{"required": true, "content": content(client.LinesType, object{})}
	case !rt.inQuery():
		for _, name := range rt.taken {
			delete(in.Properties, name)
		}
		in.Required = slices.DeleteFunc(in.Required, func(name string) bool { return slices.Contains(rt.taken, name) })
		if len(in.Properties) > 0 || len(in.AnyOf) > 0 {
			schemas[rt.Name+"_request"] = in
			described["requestBody"] = object{
				"required": len(in.Required) > 0, "content": content("application/json", ref(rt.Name+"_request")),
			}
		}
	}
	at, _ := paths[rt.Path].(object)
	if at == nil {
		at = object{}
		paths[rt.Path] = at
	}
	at[lower(rt.Method)] = described
	return nil
}

func lower(method string) string {
	return map[string]string{http.MethodGet: "get", http.MethodPost: "post", http.MethodPut: "put", http.MethodDelete: "delete"}[method]
}

// parameters are the fields in the path and the query, sorted.
func (rt *route) parameters(in *jsonschema.Schema) []object {
	var list []object
	for _, name := range rt.taken {
		list = append(list, object{"name": name, "in": "path", "required": true, "schema": &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}})
	}
	if !rt.inQuery() {
		return list
	}
	for _, name := range names(fieldsOf(rt.In()), rt.taken) {
		schema := in.Properties[name]
		if kinds := slices.DeleteFunc(slices.Clone(schema.Types), func(kind string) bool { return kind == "null" }); len(kinds) == 1 {
			schema.Type, schema.Types = kinds[0], nil // a query has no null
		}
		list = append(list, object{"name": name, "in": "query", "required": slices.Contains(in.Required, name), "schema": schema})
	}
	return list
}

// scopesOf describes the scopes that a caller needs for an operation.
func scopesOf(o *operation.Operation) string {
	var names []string
	for _, s := range o.Scopes() {
		names = append(names, string(s))
	}
	return "Scope: " + strings.Join(names, " or ") + "."
}

// responses are how an operation is answered.
func responses(rt *route, schemas object, out *jsonschema.Schema) object {
	list := object{}
	for _, status := range rt.refusals() {
		list[strconv.Itoa(status)] = object{"$ref": "#/components/responses/problem"}
	}
	if rt.Sink {
		list["200"] = object{"description": "Done, as lines; the trailer " + resultTrailer + " has the result.", "content": content(client.LinesType, object{})}
		return list
	}
	if rt.queues {
		schemas["job_queued"] = out
		list["202"] = object{"description": "A job does it; Location is where the job is.", "content": content("application/json", ref("job_queued"))}
		return list
	}
	if rt.Method == http.MethodGet && rt.HasVersion() {
		list["304"] = object{"description": "The caller has it, by the ETag that If-None-Match names."}
	}
	schemas[rt.Name+"_result"] = out
	list["200"] = object{"description": "Done.", "content": content("application/json", ref(rt.Name+"_result"))}
	return list
}

// refusals are the statuses with which an operation may be refused.
func (rt *route) refusals() []int {
	list := []int{400, 401, 403, 404, 406, 409, 413, 415, 422, 429, 431, 500, 503, 504}
	if !rt.inQuery() || rt.Body {
		list = append(list, http.StatusRequestTimeout)
	}
	if _, compares := fieldsOf(rt.In())["if_version"]; compares {
		list = append(list, http.StatusPreconditionFailed)
	}
	return list
}

// describeEvents adds the routes of events, which aren't operations.
func describeEvents(paths object) {
	problems := func(described object) object {
		list := described["responses"].(object)
		for _, status := range []int{400, 401, 403, 404, 406, 422, 429, 431, 500, 503} {
			list[strconv.Itoa(status)] = object{"$ref": "#/components/responses/problem"}
		}
		return object{"get": described}
	}
	stream := object{"200": object{
		"description": "Server-sent events: the journal's, without content, then bye, lagged or reset where that happens.",
		"content":     content("text/event-stream", object{"type": "string"}),
	}}
	last := object{"name": "Last-Event-ID", "in": "header", "schema": object{"type": "string", "pattern": lastEventID().String()}}
	clone := func(o object) object { return object{"200": o["200"]} }
	paths["/v1/events"] = problems(object{
		"operationId": "events", "summary": "Follow the events of namespaces.", "description": "Scope: " + string(core.ScopeMemoryRead) + ".",
		"parameters": []object{{"name": "namespace", "in": "query", "required": true, "schema": object{
			"type": "array", "items": object{"type": "string"}, "minItems": 1, "maxItems": MaxStreamNamespaces, "uniqueItems": true,
		}}, last},
		"responses": clone(stream),
	})
	paths["/v1/runs/{id}/events"] = problems(object{
		"operationId": "run_events", "summary": "Follow the events of a run, from its first one.", "description": "Scope: " + string(core.ScopeRun) + ".",
		"parameters": []object{{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}}, last},
		"responses":  clone(stream),
	})
	jobs := ""
	if o, err := operation.Find("job_get"); err == nil { // its scopes apply
		jobs = scopesOf(&o)
	}
	paths["/v1/jobs/{id}/events"] = problems(object{
		"operationId": "job_events", "summary": "Follow the events of a job, from its first one, and how far it is.", "description": jobs,
		"parameters": []object{{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}}, last},
		"responses":  clone(stream),
	})
	paths["/v1/openapi.json"] = problems(object{
		"operationId": "openapi", "summary": "Describe the API: this document.",
		"responses": object{"200": object{"description": "This document.", "content": content("application/json", object{"type": "object"})}},
	})
}

func (a *API) openAPI(w http.ResponseWriter, r *request) {
	if err := r.mustAccept("application/json"); err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	text, err := a.document()
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	r.write(w, http.StatusOK, "application/json", text)
}
