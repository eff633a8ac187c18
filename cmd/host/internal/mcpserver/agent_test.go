package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// bot is a caller as a token for a team makes it.
func bot(scopes ...core.Scope) core.Caller {
	return core.Caller{Subject: "bot", Label: "bot", Scopes: append([]core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, scopes...), Namespaces: []string{"team/**"}}
}

// TestAgent_Turn: an agent whose token is for a team works without naming a namespace, and the answers of a turn are
// short.
func TestAgent_Turn(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	session := overHTTP(t, s, Agent, bot())
	contents, ids := 0, 0
	for _, city := range []string{"Bonn", "Bremen", "Kassel", "Mainz", "Worms"} {
		got := call(t, session, "observe", map[string]any{"content": "The office of the team is in " + city + "."})
		if id := member[string](t, got.text, "id"); got.isError || got.text != `{"id":"`+id+`"}` {
			t.Fatal(got.text)
		}
		contents += len("The office of the team is in " + city + ".")
		ids += 36
	}
	found := call(t, session, "retrieve", map[string]any{"query": "office of the team", "session": "s"})
	memories := member[[]map[string]any](t, found.text, "memories")
	if len(memories) != 5 || memories[0]["handle"] != "m1" || memories[0]["kind"] != "observation" || memories[0]["signals"] != nil {
		t.Fatal(found.text)
	}
	reported := call(t, session, "feedback", map[string]any{"session": "s", "turn": 1, "outcome": "success", "used": []string{"m1"}})
	if reported.text != `{"ok":true}` {
		t.Error(reported.text)
	}
	if rest := len(found.text) + len(reported.text) - contents - ids; rest > 700 {
		t.Errorf("%d characters in addition to contents and ids: %s", rest, found.text)
	}
	full := call(t, session, "retrieve", map[string]any{"query": "office of the team", "detail": "full"})
	if member[[]map[string]any](t, full.text, "memories")[0]["signals"] == nil {
		t.Error(full.text)
	}
	if got := call(t, session, "reflect", map[string]any{"user_id": "anna", "force": true}); !strings.Contains(got.text, `"queued"`) {
		t.Error(got.text)
	} else {
		job := member[string](t, got.text, "job_id")
		for user, want := range map[string]string{"anna": "queued", "bert": "not_found", "": "queued"} {
			got := call(t, session, "reflect_status", map[string]any{"job_id": job, "user_id": user})
			if member[string](t, got.text, "status") != want {
				t.Errorf("user %q: %s", user, got.text)
			}
		}
	}
	denied := call(t, session, "observe", map[string]any{"content": "x", "namespace": "secret"})
	if denied.code(t) != "namespace_denied" || !strings.Contains(denied.text, "team/**") {
		t.Error(denied.text)
	}
	if in := session.InitializeResult().Instructions; !strings.Contains(in, "team/**") {
		t.Error(in)
	}
}

// TestAgent_CorrectsForgetsAndLists with the tools of the smallest profile.
func TestAgent_CorrectsForgetsAndLists(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	for name, c := range map[string]struct {
		caller core.Caller
		status string
	}{"with the scope": {bot(core.ScopeMemoryErase), "erased"}, "without it": {bot(), "waiting"}} {
		session := overHTTP(t, s, Agent, c.caller)
		observe := func(args map[string]any) string {
			return member[string](t, call(t, session, "observe", args).text, "id")
		}
		space := "team/" + strings.ReplaceAll(name, " ", "-")
		listed := func() (list []string) {
			for _, m := range member[[]map[string]any](t, call(t, session, "retrieve", map[string]any{"namespace": space, "query": " "}).text, "memories") {
				list = append(list, m["content"].(string))
			}
			return list
		}
		old := observe(map[string]any{"content": "The office is in Bonn.", "namespace": space})
		gone := observe(map[string]any{"content": "Anna's number is 5.", "namespace": space})
		observe(map[string]any{"content": "The office is in Berlin.", "supersedes": []string{old}})
		if got := listed(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"Anna's number is 5.", "The office is in Berlin."}) {
			t.Errorf("%s: %q", name, got)
		}
		got := call(t, session, "forget", map[string]any{"id": gone})
		if got.isError || member[string](t, got.text, "status") != c.status {
			t.Errorf("%s: %s", name, got.text)
		}
		if got := listed(); !slices.Equal(got, []string{"The office is in Berlin."}) {
			t.Errorf("%s: afterwards %q", name, got)
		}
		if got := call(t, session, "forget", map[string]any{"id": gone, "erase": false}); !got.isError {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	waiting := call(t, overHTTP(t, s, Agent, bot()), "retrieve", map[string]any{"namespace": "team/without-it", "kinds": "notification", "tags": erasureTag})
	if len(member[[]map[string]any](t, waiting.text, "memories")) != 1 {
		t.Errorf("nobody is asked: %s", waiting.text)
	}
}

// TestTools_EveryParameterIsDescribed, in up to 140 characters, and no schema is closed.
func TestTools_EveryParameterIsDescribed(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	listed, err := overStdio(t, s, All, core.Operator("tester")).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		in := string(jsontext.MustEncode(tool.InputSchema))
		var schema struct {
			Properties           map[string]struct{ Description string }
			AdditionalProperties any
		}
		if err := json.Unmarshal([]byte(in), &schema); err != nil {
			t.Fatal(err)
		}
		for name, p := range schema.Properties {
			if n := len([]rune(p.Description)); n == 0 || n > 140 {
				t.Errorf("%s %s: %q", tool.Name, name, p.Description)
			}
		}
		if schema.AdditionalProperties != nil {
			t.Errorf("%s is closed: %v", tool.Name, schema.AdditionalProperties)
		}
	}
}

// TestBrief keeps what is named.
func TestBrief(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":1,"b":2}`, "a", `{"a":1}`}, {`{"a":1,"b":2}`, "", `{"a":1,"b":2}`}, {`{"a":[{"b":1,"c":2},{"b":3}]}`, "a.b", `{"a":[{"b":1},{"b":3}]}`},
		{`{"a":null,"b":"","c":[],"d":false,"e":0}`, "a b c d e", `{"e":0}`}, {`{"a":[{"b":1},{"b":2}]}`, "a[last].b", `{"a":[{"b":2}]}`},
		{`{"a":1}`, "ok=true a", `{"ok":true,"a":1}`}, {`[1]`, "a", `[1]`}, {`{"a":[]}`, "a[last].b", `{"a":[]}`}, {`{"a":{"b":1,"c":2}}`, "a.c", `{"a":{"c":2}}`},
	} {
		if got := brief(json.RawMessage(c[0]), strings.Fields(c[1])); string(got) != c[2] {
			t.Errorf("%s with %q: %s, not %s", c[0], c[1], got, c[2])
		}
	}
}
