package httpapi

import (
	"reflect"
	"strconv"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// describeEvents adds the routes of events, which aren't operations.
func describeEvents(paths, schemas object) error {
	var kinds []object
	for _, t := range []reflect.Type{
		reflect.TypeFor[client.StreamEvent](), reflect.TypeFor[client.StreamProgress](), reflect.TypeFor[client.StreamPiece](), reflect.TypeFor[client.StreamReset](),
		reflect.TypeFor[client.StreamLagged](), reflect.TypeFor[client.StreamFailed](), reflect.TypeFor[client.StreamBye](),
	} {
		s, err := schemaOf(t, false)
		if err != nil {
			return err
		}
		(&annotator{schemas, true}).root(t, s)
		s.Description = textOf(t).Doc
		schemas[t.Name()] = s
		kinds = append(kinds, ref(t.Name()))
	}
	problems := func(described object) object {
		list := described["responses"].(object)
		for _, status := range []int{400, 401, 403, 404, 406, 422, 429, 431, 500, 503} {
			list[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Refused"}
		}
		return object{"get": described}
	}
	stream := object{"200": object{
		"description": "Server-sent events: run.iteration, run.ended, job.ended and the journal's others, without content (StreamEvent), job.progress (StreamProgress), run.piece (StreamPiece), and reset, lagged, failed or bye.",
		"content":     content("text/event-stream", object{"anyOf": kinds, "description": "The data of one event, by its name."}),
	}}
	last := object{"name": "Last-Event-ID", "in": "header", "description": "The id of the last event that was received: what follows it is sent.", "schema": object{"type": "string", "pattern": lastEventID().String()}}
	clone := func(o object) object { return object{"200": o["200"]} }
	ends := func(o object) object {
		return object{"200": o["200"], "204": object{"description": "It has ended, and nothing follows Last-Event-ID."}}
	}
	paths["/v1/events"] = problems(object{
		"operationId": "events", "summary": "Follow the events of namespaces.", "tags": []string{"events"}, "description": "Scope: " + string(core.ScopeMemoryRead) + ".",
		"parameters": []object{{"name": "namespace", "in": "query", "description": "A namespace to follow; it may be given several times.", "required": true, "schema": object{
			"type": "array", "items": object{"type": "string"}, "minItems": 1, "maxItems": MaxStreamNamespaces, "uniqueItems": true,
		}}, last},
		"responses": clone(stream),
	})
	paths["/v1/runs/{id}/events"] = problems(object{
		"operationId": "run_events", "summary": "Follow the events of a run, from its first one.", "tags": []string{"runs"}, "description": "Scope: " + string(core.ScopeRun) + ".",
		"parameters": []object{{"name": "id", "in": "path", "description": "The run's id.", "required": true, "schema": object{"type": "string"}}, last},
		"responses":  ends(stream),
	})
	jobs := ""
	if o, err := operation.Find("job_get"); err == nil { // its scopes apply
		jobs = scopesOf(&o)
	}
	paths["/v1/jobs/{id}/events"] = problems(object{
		"operationId": "job_events", "summary": "Follow the events of a job, from its first one, and how far it is.", "tags": []string{"jobs"}, "description": jobs,
		"parameters": []object{{"name": "id", "in": "path", "description": "The job's id.", "required": true, "schema": object{"type": "string"}}, last},
		"responses":  ends(stream),
	})
	paths["/v1/openapi.json"] = problems(object{
		"operationId": "openapi", "summary": "Describe the API: this document.", "description": "Any token.", "tags": []string{tagOf("/v1/openapi.json")},
		"responses": object{"200": object{"description": "This document.", "content": content("application/json", object{"type": "object"})}},
	})
	return nil
}
