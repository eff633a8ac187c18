package mcpserver

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
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
		`{"s":5}`: {`{"s":"5"}`, 1}, `{"b":1}`: {`{"b":true}`, 1}, `{"b":"yes"}`: {`{"b":true}`, 1}, `{"b":"0"}`: {`{"b":false}`, 1}, `{"items":{"n":1}}`: {`{"items":[{"n":1}]}`, 1},
		`{"l":"['a', 'b']"}`: {`{"l":["a","b"]}`, 1}, `{"l":"a\nb, c"}`: {`{"l":["a","b, c"]}`, 1},
		`{"I":5}`: {`{"i":5}`, 1}, `{"items":[{"N":"1"}]}`: {`{"items":[{"n":1}]}`, 2}, `{"i":5,"x":1}`: {`{"i":5}`, 1}, `{"items":[{"x":1}]}`: {`{"items":[{}]}`, 1},
		// Absent.
		`{"i":""}`: {`{}`, 1}, `{"b":"null"}`: {`{}`, 1}, `{"l":""}`: {`{}`, 1}, `{"o":"None"}`: {`{}`, 1},
		`{"i":null,"s":null,"l":null,"b":null}`: {`{}`, 0}, `{"items":[{"n":null}]}`: {`{"items":[{}]}`, 0},
		// As it was.
		`{"s":"5"}`: {`{"s":"5"}`, 0}, `{"s":"[\"a\"]"}`: {`{"s":"[\"a\"]"}`, 0}, `{"s":"null"}`: {`{"s":"null"}`, 0}, `{"any":null,"none":null}`: {`{"any":null}`, 0},
		`{"any":"[1]"}`: {`{"any":"[1]"}`, 0}, `{"two":"5"}`: {`{"two":"5"}`, 0}, `{"i":5,"f":1.50}`: {`{"i":5,"f":1.50}`, 0},
		// Not what the schema says, and nothing else either.
		`{"i":"5.5"}`: {`{"i":"5.5"}`, 0}, `{"i":"five"}`: {`{"i":"five"}`, 0}, `{"i":"1e400"}`: {`{"i":"1e400"}`, 0}, `{"i":"0x10"}`: {`{"i":"0x10"}`, 0},
		`{"i":"5 6"}`: {`{"i":"5 6"}`, 0}, `{"i":true}`: {`{"i":true}`, 0}, `{"i":"true"}`: {`{"i":"true"}`, 0}, `{"f":"NaN"}`: {`{"f":"NaN"}`, 0},
		`{"b":2}`: {`{"b":2}`, 0}, `{"b":"maybe"}`: {`{"b":"maybe"}`, 0}, `{"dry_run":true}`: {`{"dry_run":true}`, 0}, `{"l":5}`: {`{"l":5}`, 0},
		`{"l":"a,,b"}`: {`{"l":"a,,b"}`, 0}, `{"l":"[a]"}`: {`{"l":"[a]"}`, 0}, `{"l":"{\"a\":1}"}`: {`{"l":"{\"a\":1}"}`, 0},
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
		`{"content":"a","priority":"high"}`: "field_type_invalid", `{"content":"a","priority":"5.5"}`: "field_type_invalid", `{"content":["a"]}`: "field_type_invalid",
		`{"content":"a","tags":"[a"}`: "field_type_invalid", `{"content":"a","importance":true}`: "field_type_invalid", `{"content":null}`: "content_invalid",
	} {
		if got := call(t, session, "observe", json.RawMessage(args)); got.code(t) != code {
			t.Errorf("%s: %s", args, got.text)
		}
	}
}

// sloppyCalls are the calls of a file: tool, arguments, and what they mean or which arguments a refusal names.
func sloppyCalls(t *testing.T, file string) (calls [][3]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		sent, means, is := strings.Cut(strings.TrimSpace(line), " => ")
		tool, args, hasArgs := strings.Cut(sent, " ")
		if !is || !hasArgs {
			t.Fatalf("%s: %q", file, line)
		}
		calls = append(calls, [3]string{tool, args, means})
	}
	return calls
}

// TestTolerant_SloppyCalls: of calls as models send them, one file of which wasn't looked at when the
// reading was built, at least four in five are read as what they mean, and none as anything else.
func TestTolerant_SloppyCalls(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	tools := map[string]*tool{}
	for _, tool := range s.tools {
		tools[tool.row.name] = tool
	}
	for _, file := range []string{"testdata/sloppy.txt", "testdata/sloppy-kept.txt"} {
		meant, read := 0, 0
		for _, c := range sloppyCalls(t, file) {
			if strings.HasPrefix(c[2], "refuse ") {
				continue
			}
			meant++
			as := tools[c[0]].reading()
			body, err := tools[c[0]].read(json.RawMessage(c[1]), &as)
			if err == nil && len(as.wrong) == 0 && equalJSON(t, withoutDetail(body), c[2]) {
				read++
				continue
			}
			t.Logf("%s %s: %s", c[0], c[1], body)
		}
		t.Logf("%s: %d of %d", file, read, meant)
		if read*5 < meant*4 {
			t.Errorf("%s: only %d of %d are understood", file, read, meant)
		}
	}
}

func withoutDetail(body json.RawMessage) string {
	members := slices.DeleteFunc(jsontext.Members(body), func(m jsontext.Member) bool { return m.Key == detailArg })
	return string(jsontext.JoinMembers(members))
}

// TestTolerant_WrongCalls: what a call doesn't say clearly is refused, with every wrong argument at once.
func TestTolerant_WrongCalls(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	session := overStdio(t, s, All, core.Operator("tester"))
	for _, file := range []string{"testdata/sloppy.txt", "testdata/sloppy-kept.txt"} {
		for _, c := range sloppyCalls(t, file) {
			named, is := strings.CutPrefix(c[2], "refuse ")
			if !is {
				continue
			}
			got := call(t, session, c[0], json.RawMessage(c[1]))
			for name := range strings.SplitSeq(named, ",") {
				if !got.isError || !strings.Contains(got.text, name) {
					t.Errorf("%s %s: %s; not refused with %s", c[0], c[1], got.text, name)
				}
			}
		}
	}
}
