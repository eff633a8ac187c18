package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// apiGroup are the routes of a noun.
type apiGroup struct {
	Noun   string
	Routes []apiRoute
}

// apiRoute is an operation as it is called over HTTP.
type apiRoute struct {
	Route, Name, Doc, Scope, Result, Command string
	// Notes say what callers should know, such as that it only reads.
	Notes  []string
	Fields []apiField
	// Streams is whether the request's body is lines rather than JSON.
	Streams bool
}

// apiField is a field of a request.
type apiField struct {
	shapeField
	In     string
	Needed bool
}

// apiDocument is what is taken from the OpenAPI document.
type apiDocument struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name, In string
			Required bool
			Schema   apiSchema
		}
		RequestBody *struct{}
	}
	Components struct {
		Schemas map[string]struct {
			Required   []string
			Properties map[string]json.RawMessage // some are only true: any value
		}
	}
}

// apiSchema has the bounds of a field, and its values if they are a few.
type apiSchema struct {
	Minimum, Maximum   *float64
	MinItems, MaxItems *int
	Enum               []string
}

func apiPage(t *testing.T) any {
	text, err := httpapi.Document("")
	if err != nil {
		t.Fatal(err)
	}
	var document apiDocument
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	texts := readFieldTexts(t)
	s, results := newShapes(newSources(t), texts), newShapes(newSources(t), texts)
	groups := map[string]*apiGroup{}
	for _, o := range operation.Table() {
		if _, offered := document.Paths[o.Path][strings.ToLower(o.Method)]; !offered {
			t.Errorf("%s isn't in the OpenAPI document", o.Name)
		}
		rt := routeOf(t, s, &document, o)
		rt.Result = elsewhere(results.typeOf(o.Out()), []shape{{Name: "page"}})
		noun := strings.Split(strings.TrimPrefix(o.Path, "/v1/"), "/")[0]
		if groups[noun] == nil {
			groups[noun] = &apiGroup{Noun: noun}
		}
		groups[noun].Routes = append(groups[noun].Routes, rt)
	}
	var list []*apiGroup
	for _, g := range groups {
		slices.SortFunc(g.Routes, func(a, b apiRoute) int { return strings.Compare(a.Name, b.Name) })
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *apiGroup) int { return strings.Compare(a.Noun, b.Noun) })
	return map[string]any{
		"Groups": list, "Objects": s.sorted(), "Answers": httpapi.Answers(), "Limits": httpapi.DefaultLimits(),
		"Headers": int64(httpapi.DefaultLimits().Headers), "MaxKey": httpapi.MaxKey, "MaxDepth": httpapi.MaxJSONDepth, "MaxNamespaces": httpapi.MaxStreamNamespaces,
		"DefaultLimit": operation.DefaultLimit, "MaxLimit": operation.MaxLimit, "Listen": httpapi.DefaultListen,
		"Deadline": operation.Deadline, "Scopes": scopeRows(),
	}
}

// routeOf describes an operation's route and request.
func routeOf(t *testing.T, s *shapes, document *apiDocument, o operation.Operation) apiRoute {
	rt := apiRoute{
		Route: o.Method + " " + o.Path, Name: o.Name, Doc: o.Doc, Scope: scopesOf(o), Command: commandOf(t, o), Streams: o.Body,
	}
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{o.ReadOnly, "only reads"}, {o.Destructive, "removes something"}, {!o.ReadOnly && o.Idempotent, "a second call changes nothing more"},
		{o.Long, "may take long"}, {o.Secret, "the result has a secret, which is shown this once"},
	} {
		if note.holds {
			rt.Notes = append(rt.Notes, note.text)
		}
	}
	request := shape{Name: shapeName(o.In())}
	s.fields(o.In(), &request)
	at := document.Paths[o.Path][strings.ToLower(o.Method)]
	body := document.Components.Schemas[o.Name+"_request"]
	for _, f := range request.Fields {
		field := apiField{f, "body", slices.Contains(body.Required, f.Name)}
		var bounds apiSchema
		_ = json.Unmarshal(body.Properties[f.Name], &bounds) // without bounds, where it is none
		for _, p := range at.Parameters {
			if p.Name == f.Name {
				field.In, field.Needed, bounds = p.In, p.Required, p.Schema
			}
		}
		if len(bounds.Enum) > 0 {
			field.Type = oneOfWords(bounds.Enum)
		}
		field.Type += bounds.text()
		rt.Fields = append(rt.Fields, field)
	}
	return rt
}

// text is what the bounds of a field are.
func (b apiSchema) text() string {
	switch {
	case b.Minimum != nil && b.Maximum != nil:
		return fmt.Sprintf(", %s to %s", number(*b.Minimum), number(*b.Maximum))
	case b.MaxItems != nil:
		return fmt.Sprintf(", at most %d", *b.MaxItems)
	}
	return ""
}

// scopesOf are the scopes of which a caller needs one.
func scopesOf(o operation.Operation) string {
	var names []string
	for _, s := range o.Scopes() {
		names = append(names, string(s))
	}
	return strings.Join(names, "` or `")
}

// scopeRows are the scopes with the operations that need each.
func scopeRows() [][2]string {
	var rows [][2]string
	for _, scope := range core.Scopes() {
		var names []string
		for _, o := range operation.Table() {
			if slices.Contains(o.Scopes(), scope) {
				names = append(names, code(o.Name))
			}
		}
		if scrape := operation.Scrape(); slices.Contains(scrape.Scopes(), scope) {
			names = append(names, code(scrape.Method+" "+scrape.Path))
		}
		if scope == operation.ModelAsk().Scope {
			names = append(names, "the [gateway](gateway.md), and nothing else")
		}
		rows = append(rows, [2]string{string(scope), strings.Join(names, ", ")})
	}
	return rows
}
