package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// shape is a JSON object that the program gives, as a page shows it.
type shape struct {
	Name   string       `json:"name"`
	Doc    string       `json:"doc,omitempty"`
	Fields []shapeField `json:"fields"`
}

// shapeField is a member of an object. Type is Markdown: names of other shapes are links.
type shapeField struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional,omitempty"`
	Doc      string `json:"doc"`
}

// shapes collects the objects that results hold, each once.
type shapes struct {
	*sources
	texts *fieldTexts
	seen  map[reflect.Type]bool
	list  []shape
}

func newShapes(s *sources, texts *fieldTexts) *shapes {
	return &shapes{sources: s, texts: texts, seen: map[reflect.Type]bool{}}
}

// results describes the results of all operations.
func (s *shapes) results() {
	for _, o := range operation.Table() {
		s.typeOf(o.Out())
	}
}

// requests describes the requests of all operations.
func (s *shapes) requests() {
	for _, o := range operation.Table() {
		s.typeOf(o.In())
	}
}

// sorted are the objects by name.
func (s *shapes) sorted() []shape {
	slices.SortFunc(s.list, func(a, b shape) int { return strings.Compare(a.Name, b.Name) })
	return s.list
}

// ownJSON are the types that write JSON of their own.
var ownJSON = map[reflect.Type]string{
	reflect.TypeFor[json.RawMessage]():    "any JSON value",
	reflect.TypeFor[time.Time]():          "time",
	reflect.TypeFor[sdk.Args]():           "object",
	reflect.TypeFor[governance.Scalar]():  "string, number or boolean",
	reflect.TypeFor[operation.RunEnded](): "the result of the workflow's last node, as in [workflow.md](workflow.md#results); where a run has none, an object with `run_id`, `status` and `error`",
}

// typeOf is a type in words, and has what it names described.
func (s *shapes) typeOf(t reflect.Type) string {
	if own, is := ownJSON[t]; is {
		return own
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.typeOf(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any JSON value"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string in base64"
		}
		return "list of " + s.typeOf(t.Elem())
	case reflect.Map:
		if of := s.typeOf(t.Elem()); of != "any JSON value" {
			return "object of " + of
		}
		return "object"
	case reflect.String:
		return s.word(t)
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return "string"
		}
		if items, isPage := t.FieldByName("Items"); isPage && bare(t) == "Page" {
			return fmt.Sprintf("[page](#pages) of %s", s.typeOf(items.Type.Elem()))
		}
		name := shapeName(t)
		s.describe(t)
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	return "integer"
}

// word is a string, with its values if they are a few words.
func (s *shapes) word(t reflect.Type) string {
	values := s.of(t).values[t.Name()]
	if len(values) == 0 || slices.Contains(values, "") && len(values) == 1 {
		return "string"
	}
	return oneOfWords(values)
}

// oneOfWords is a string that is one of some words; "" isn't shown.
func oneOfWords(words []string) string {
	var shown []string
	for _, w := range words {
		if w = strings.Trim(w, "`"); w != "" {
			shown = append(shown, code(w))
		}
	}
	return "one of " + strings.Join(shown, ", ")
}

// shapeName is what an object is called: its Go type's name, and for a page also the type
// of its items.
func shapeName(t reflect.Type) string {
	name := t.Name()
	if other, taken := twiceNamed[t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]+"."+name]; taken {
		return other
	}
	return name
}

// twiceNamed are types that share their name with another one, by package and name.
var twiceNamed = map[string]string{
	"operation.Value": "StateValue", "governance.Value": "GovernanceValue",
	"core.Recalled": "RecalledMemory", "knowledge.Recalled": "RecalledKnowledge", "host.Replayed": "RunReplayed", "loop.Replayed": "AttemptReplayed",
	"operation.Head": "RootHead", "journal.Head": "StreamEnd",
	"operation.Run": "RunShown", "operation.Memory": "MemoryShown", "operation.Memories": "MemoryPage",
	"operation.Session": "SessionShown", "operation.Decision": "DecisionShown", "gate.Explanation": "GateExplanation",
	"governance.Explanation": "GovernanceExplanation", "governance.Record": "GovernanceRecord",
	"decisions.Record": "DecisionRecord", "host.Problem": "StoreProblem", "core.Problem": "StoreFault", "operation.Token": "Token",
	"inject.PolicyRequest": "InjectionPolicy", "dream.Change": "DreamChange", "turn.Reflection": "ReflectionRecord", "discover.Usage": "UsageTemplate", "discover.Answer": "Discovered",
}

// describe adds a struct to the list, once.
func (s *shapes) describe(t reflect.Type) {
	if s.seen[t] {
		return
	}
	s.seen[t] = true
	at := len(s.list)
	s.list = append(s.list, shape{})
	described := shape{Name: shapeName(t), Doc: s.of(t).said(s.of(t).docs[bare(t)], bare(t))}
	s.fields(t, &described)
	s.list[at] = described
}

// bare is a type's name without type arguments.
func bare(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// fields adds a struct's fields, and the fields of structs that it embeds, in their order.
func (s *shapes) fields(t reflect.Type, to *shape) {
	source := s.of(t)
	docs := source.fields[bare(t)]
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			s.fields(embedded, to)
			continue
		case name == "":
			name = f.Name
		}
		doc := s.texts.of(to.Name, name, source.said(docs[f.Name], f.Name))
		doc = withJSONNames(doc, t)
		field := shapeField{Name: name, Type: s.typeOf(f.Type), Doc: doc, Optional: strings.Contains(options, "omit")}
		if i := slices.IndexFunc(to.Fields, func(f shapeField) bool { return f.Name == name }); i >= 0 {
			to.Fields[i] = field // an outer field hides an embedded one
			continue
		}
		to.Fields = append(to.Fields, field)
	}
}

// withJSONNames makes a text name other fields as JSON does. A sentence may begin with a
// word that is a field's name too.
func withJSONNames(text string, t reflect.Type) string {
	return goWord.ReplaceAllStringFunc(text, func(found string) string {
		before, name := found[:2], found[2:]
		f, is := t.FieldByName(name)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !is || tag == "" || tag == "-" || before == ". " {
			return found
		}
		return before + code(tag)
	})
}

// goWord is a word that begins with a capital, with the two characters before it.
var goWord = regexp.MustCompile(`[^.] [A-Z][A-Za-z]+\b`)
