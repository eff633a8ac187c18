package httpapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
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
	paths, schemas := object{}, object{"Problem": problem}
	(&annotator{schemas, true}).root(reflect.TypeFor[client.Problem](), problem)
	delete(problem.Properties, "error") // only over the socket
	delete(schemas, "ErrorData")
	for _, o := range operation.Table() {
		rt := remoteRoute(o)
		if socket {
			rt = newRoute(o)
		}
		if err := describe(rt, paths, schemas); err != nil {
			return nil, err
		}
	}
	if err := describeEvents(paths, schemas); err != nil {
		return nil, err
	}
	return jsontext.Print(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Reflectory", "version": version,
			"description": "The operations of a Reflectory server. Every refusal is a problem of RFC 9457, by whose code callers branch.",
			"license":     object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
			"contact":     object{"name": "Reflectory", "url": "https://github.com/reflectory/reflectory"},
		},
		"servers":  []object{{"url": "/", "description": "the server that answers this document"}},
		"paths":    paths,
		"tags":     tagsOf(paths),
		"security": []object{{"token": []string{}}},
		"components": object{
			"schemas":         schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"responses":       object{"Refused": object{"description": "Why it wasn't done.", "content": content(client.ProblemType, ref("Problem"))}},
			"parameters":      headerParameters(),
			"headers":         responseHeaders(),
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
	(&annotator{}).root(rt.In(), in)
	(&annotator{schemas, true}).root(rt.Out(), out)
	answers, err := responses(rt, schemas, out)
	if err != nil {
		return err
	}
	described := object{"operationId": rt.Name, "summary": rt.Doc, "description": scopesOf(&rt.Operation), "responses": answers, "tags": []string{tagOf(rt.Path)}}
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
			body := object{"schema": ref(rt.Name + "_request")}
			example := maps.Clone(rt.example())
			maps.DeleteFunc(example, func(name string, _ json.RawMessage) bool { return in.Properties[name] == nil })
			if len(example) > 0 {
				body["example"] = example
			}
			described["requestBody"] = object{"required": len(in.Required) > 0, "content": object{"application/json": body}}
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

// parameters are the fields in the path and the query, sorted, and the headers.
func (rt *route) parameters(in *jsonschema.Schema) []object {
	var list []object
	example := rt.example()
	add := func(name, where string, required bool, schema *jsonschema.Schema) {
		p := object{"name": name, "in": where, "description": cmp.Or(schema.Description, textOf(rt.In()).Fields[name]), "required": required}
		said := *schema
		said.Description = ""
		p["schema"] = &said
		if value, has := example[name]; has {
			p["example"] = value
		}
		list = append(list, p)
	}
	for _, name := range rt.taken {
		add(name, "path", true, &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)})
	}
	if rt.inQuery() {
		for _, name := range names(fieldsOf(rt.In()), rt.taken) {
			add(name, "query", slices.Contains(in.Required, name), in.Properties[name])
		}
	}
	return append(list, rt.headers()...)
}

// responses are how an operation is answered.
func responses(rt *route, schemas object, out *jsonschema.Schema) (object, error) {
	list := object{}
	for _, status := range rt.refusals() {
		list[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Refused"}
	}
	if rt.Sink {
		list["200"] = object{"description": "Done, as lines; the trailer " + resultTrailer + " has the result.", "content": content(client.LinesType, object{})}
		return list, nil
	}
	if rt.queues {
		schemas["job_queued"] = out
		list["202"] = object{
			"description": "A job does it; Location is where the job is.", "content": content("application/json", ref("job_queued")),
			"headers": object{"Location": header("Location")},
		}
		var err error
		if out, err = schemaOf(rt.direct.Out(), false); err != nil {
			return nil, err
		}
		(&annotator{schemas, true}).root(rt.direct.Out(), out)
	}
	if _, waits := fieldsOf(rt.In())["wait"]; waits && rt.Name == "job_result" {
		list["202"] = object{"description": "The job hasn't ended within the time that the request waited.", "content": content("application/json", ref(rt.Name+"_result"))}
	}
	if rt.showsVersion() {
		list["304"] = object{"description": "The caller has it, by the ETag that If-None-Match names."}
	}
	schemas[rt.Name+"_result"] = out
	done := "Done."
	if rt.queues {
		done = "Done: at once, or, with Prefer: wait, by a job that ended in time."
	}
	list["200"] = object{"description": done, "content": content("application/json", ref(rt.Name+"_result"))}
	if sent := rt.sends(); len(sent) > 0 {
		list["200"].(object)["headers"] = sent
	}
	return list, nil
}

// refusals are the statuses with which an operation may be refused.
func (rt *route) refusals() []int {
	list := []int{400, 401, 403, 404, 406, 409, 413, 415, 422, 429, 431, 500, 503, 504}
	if !rt.inQuery() || rt.Body {
		list = append(list, http.StatusRequestTimeout)
	}
	if rt.compares() {
		list = append(list, http.StatusPreconditionFailed)
	}
	return list
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
