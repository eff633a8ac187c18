package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestTolerant_ReadsWhatCanOnlyMeanOneThing, with a note for what was written otherwise, and leaves
// everything else as it is.
func TestTolerant_ReadsWhatCanOnlyMeanOneThing(t *testing.T) {
	typed := func(kind string) *jsonschema.Schema { return &jsonschema.Schema{Type: kind} }
	list := func(of *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{Type: "array", Items: of} }
	item := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"n": typed("integer"), "l": list(typed("string"))}}
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"s": typed("string"), "i": typed("integer"), "f": typed("number"), "b": typed("boolean"), "o": typed("object"), "any": {},
		"l": list(typed("string")), "li": list(typed("integer")), "items": list(item), "two": {Types: []string{"string", "number"}},
	}}
	for sent, want := range map[string]struct {
		read  string
		notes int
	}{
		// Read otherwise than it was written.
		`{"i":"5"}`: {`{"i":5}`, 1}, `{"i":" 5.0 "}`: {`{"i":5}`, 1}, `{"i":"-3"}`: {`{"i":-3}`, 1}, `{"i":"5e0"}`: {`{"i":5}`, 1},
		`{"f":"0.5"}`: {`{"f":0.5}`, 1}, `{"f":"1e-3"}`: {`{"f":1e-3}`, 1}, `{"b":"true"}`: {`{"b":true}`, 1}, `{"b":"False"}`: {`{"b":false}`, 1},
		`{"l":"[\"a\",\"b\"]"}`: {`{"l":["a","b"]}`, 1}, `{"l":"[]"}`: {`{"l":[]}`, 1}, `{"l":"a"}`: {`{"l":["a"]}`, 1}, `{"l":"a, b,c"}`: {`{"l":["a","b","c"]}`, 1},
		`{"o":"{\"a\":1}"}`: {`{"o":{"a":1}}`, 1}, `{"li":"[1,\"2\"]"}`: {`{"li":[1,2]}`, 2}, `{"li":["1",2]}`: {`{"li":[1,2]}`, 1},
		`{"items":"[{\"n\":\"1\",\"l\":\"x\"}]"}`: {`{"items":[{"n":1,"l":["x"]}]}`, 3}, `"{\"i\":\"5\"}"`: {`{"i":5}`, 2},
		// Absent.
		`{"i":null,"s":null,"l":null,"b":null}`: {`{}`, 0}, `{"items":[{"n":null}]}`: {`{"items":[{}]}`, 0},
		// As it was.
		`{"s":"5"}`: {`{"s":"5"}`, 0}, `{"s":"[\"a\"]"}`: {`{"s":"[\"a\"]"}`, 0}, `{"s":"null"}`: {`{"s":"null"}`, 0}, `{"any":null,"none":null}`: {`{"any":null,"none":null}`, 0},
		`{"any":"[1]"}`: {`{"any":"[1]"}`, 0}, `{"two":"5"}`: {`{"two":"5"}`, 0}, `{"i":5,"f":1.50}`: {`{"i":5,"f":1.50}`, 0},
		// Not what the schema says, and nothing else either.
		`{"i":"5.5"}`: {`{"i":"5.5"}`, 0}, `{"i":"five"}`: {`{"i":"five"}`, 0}, `{"i":"1e400"}`: {`{"i":"1e400"}`, 0}, `{"i":""}`: {`{"i":""}`, 0}, `{"i":"0x10"}`: {`{"i":"0x10"}`, 0},
		`{"i":"5 6"}`: {`{"i":"5 6"}`, 0}, `{"i":true}`: {`{"i":true}`, 0}, `{"i":"true"}`: {`{"i":"true"}`, 0}, `{"i":"null"}`: {`{"i":"null"}`, 0}, `{"f":"NaN"}`: {`{"f":"NaN"}`, 0},
		`{"b":1}`: {`{"b":1}`, 0}, `{"b":"yes"}`: {`{"b":"yes"}`, 0}, `{"b":"1"}`: {`{"b":"1"}`, 0}, `{"s":5}`: {`{"s":5}`, 0}, `{"l":5}`: {`{"l":5}`, 0},
		`{"l":""}`: {`{"l":""}`, 0}, `{"l":"a,,b"}`: {`{"l":"a,,b"}`, 0}, `{"l":"[a]"}`: {`{"l":"[a]"}`, 0}, `{"l":"{\"a\":1}"}`: {`{"l":"{\"a\":1}"}`, 0},
		`{"li":"1,2"}`: {`{"li":"1,2"}`, 0}, `{"o":"[1]"}`: {`{"o":"[1]"}`, 0}, `{"o":"x"}`: {`{"o":"x"}`, 0}, `{"o":"{\"a\":1,\"a\":2}"}`: {`{"o":"{\"a\":1,\"a\":2}"}`, 0},
	} {
		var r reading
		if got := r.value(json.RawMessage(sent), schema, ""); string(got) != want.read || len(r.notes) != want.notes {
			t.Errorf("%s: %s with %q; want %s with %d notes", sent, got, r.notes, want.read, want.notes)
		}
	}
}

// TestTolerant_CallsAsModelsSendThem are done, and their results say what was read otherwise. What
// means nothing is still refused.
func TestTolerant_CallsAsModelsSendThem(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	session := overStdio(t, s, All, core.Operator("tester"))
	for _, c := range []struct {
		tool, args string
		note       string // "" is none
	}{
		{"observe", `{"content":"a","tags":"[\"a\",\"b\"]"}`, "tags"},
		{"observe", `{"content":"b","tags":"a, b"}`, "tags"},
		{"observe", `{"content":"c","priority":"7"}`, "priority"},
		{"observe", `{"content":"d","importance":"0.5","metadata":"{\"a\":1}"}`, "importance"},
		{"observe", `{"content":"e","title":null,"tags":null,"priority":null,"metadata":null}`, ""},
		{"observe", `{"content":"[\"a\"]","priority":5.0}`, ""},
		{"retrieve", `{"query":"a","limit":"3"}`, "limit"},
		{"reflect", `{"user_id":"anna","focus":null,"force":"true"}`, "force"},
		{"reflect", `{"user_id":"bert","focus":null,"max_insights":null,"force":null}`, ""},
		{"stats", `{"scope":"memory","user_id":null}`, ""},
	} {
		got := call(t, session, c.tool, json.RawMessage(c.args))
		notes := member[[]string](t, got.text, "notes")
		if got.isError || (c.note == "") != (len(notes) == 0) || c.note != "" && !strings.HasPrefix(notes[0], c.note+": ") || !equalJSON(t, got.structured, got.text) {
			t.Errorf("%s %s: %s", c.tool, c.args, got.text)
		}
	}
	for args, code := range map[string]string{
		`{"content":"a","priority":"high"}`: "field_type_invalid", `{"content":"a","priority":"5.5"}`: "field_type_invalid", `{"content":5}`: "field_type_invalid",
		`{"content":"a","tags":"[a"}`: "field_type_invalid", `{"content":"a","importance":true}`: "field_type_invalid", `{"content":null}`: "content_invalid",
	} {
		if got := call(t, session, "observe", json.RawMessage(args)); got.code(t) != code {
			t.Errorf("%s: %s", args, got.text)
		}
	}
}
