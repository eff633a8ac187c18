package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/coretest"
)

// typeTexts is what the OpenAPI document says of a type.
type typeTexts struct {
	// Type is the package's and the type's name, and Name what the document calls the type.
	Type   string            `json:"type"`
	Name   string            `json:"name"`
	Doc    string            `json:"doc,omitempty"`
	Fields map[string]string `json:"fields"`
}

// TestDocs_OpenAPISaysWhatFieldsAre makes the texts of the OpenAPI document from the comments.
func TestDocs_OpenAPISaysWhatFieldsAre(t *testing.T) {
	s := newShapes(newSources(t), readFieldTexts(t))
	s.requests()
	s.results()
	for _, of := range []reflect.Type{
		reflect.TypeFor[client.Problem](), reflect.TypeFor[client.StreamEvent](), reflect.TypeFor[client.StreamProgress](), reflect.TypeFor[client.StreamPiece](),
		reflect.TypeFor[client.StreamReset](), reflect.TypeFor[client.StreamLagged](), reflect.TypeFor[client.StreamFailed](), reflect.TypeFor[client.StreamBye](),
	} {
		s.typeOf(of)
	}
	var types []typeTexts
	for of := range s.seen {
		one := shape{Name: shapeName(of)}
		s.fields(of, &one)
		texts := typeTexts{of.PkgPath()[strings.LastIndex(of.PkgPath(), "/")+1:] + "." + of.Name(), one.Name, s.docOf(of), map[string]string{}}
		for _, f := range one.Fields {
			texts.Fields[f.Name] = unlinked(f.Doc)
		}
		types = append(types, texts)
	}
	slices.SortFunc(types, func(a, b typeTexts) int { return strings.Compare(a.Type, b.Type) })
	coretest.Golden(t, "../internal/httpapi/fields.json", "["+inLines(types)+"]\n")
}

// docOf is what a type's comment says of it.
func (s *shapes) docOf(t reflect.Type) string {
	return unlinked(s.of(t).said(s.of(t).docs[bare(t)], bare(t)))
}
