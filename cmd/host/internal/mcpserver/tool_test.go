package mcpserver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/discover"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject/tokenizer"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestTools_FitAnAgentsContext: what a list costs in each turn is bounded, in each profile,
// and the lists are the same over both transports.
func TestTools_FitAnAgentsContext(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	operator := core.Operator("tester")
	reader := core.Caller{Subject: "reader", Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{"**"}}
	agent := []string{
		"cancel_reflection", "feedback", "forget", "memory_explain", "memory_get", "memory_reflect", "observe", "reflect", "reflect_status", "retrieve", "stats",
	}
	reads := []string{"discover", "gate", "inject", "memory_explain", "memory_get", "reflect_status", "retrieve", "stats"}
	loop := append(slices.Clone(agent), "correct", "discover", "evaluate", "loop_status", "run_loop")
	all := append(slices.Clone(loop), "dream", "gate", "inject", "memory_link")
	for name, c := range map[string]struct {
		profile Profile
		caller  core.Caller
		want    []string
		most    int
	}{
		"agent":       {Agent, operator, agent, 11_000},
		"loop":        {Loop, operator, loop, 15_500},
		"all":         {All, operator, append(slices.Clone(all), "approve"), 22_000},
		"all, reader": {All, reader, reads, 11_000},
	} {
		lists := map[string]string{}
		for way, open := range transports {
			listed, err := open(t, s, c.profile, c.caller).ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
				if n := len([]rune(tool.Description)); n > 300 || n < 50 {
					t.Errorf("%s: the description has %d characters", tool.Name, n)
				}
			}
			if want := slices.Sorted(slices.Values(c.want)); !slices.Equal(names, want) {
				t.Errorf("%s: %v, not %v", name, names, want)
			}
			if listed.CacheScope != "private" || listed.TTLMs <= 0 {
				t.Errorf("%s: cached as %s for %d ms", name, listed.CacheScope, listed.TTLMs)
			}
			text := jsontext.MustEncode(listed)
			if len(text) > c.most {
				t.Errorf("%s: %d characters (limit %d)", name, len(text), c.most)
			}
			t.Logf("%s over %s: %d characters", name, way, len(text))
			lists[way] = string(jsontext.MustEncode(listed.Tools))
		}
		if lists["stdio"] != lists["http"] {
			t.Errorf("%s: the lists differ", name)
		}
	}
}

// TestTools_CostFewTokens: what an agent pays for the tools in each turn, as function tools of a model, and
// for the calls of a turn in addition to what it stores and finds. The bounds of the lists are what was measured and 5 %.
func TestTools_CostFewTokens(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	count := tokenizer.Named(tokenizer.O200K).Count
	s := newServerOf(t, operationtest.New(t))
	type function struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  any    `json:"parameters"`
	}
	for profile, most := range map[Profile]int{Agent: 2_140, Loop: 3_110, All: 4_560} {
		listed, err := overHTTP(t, s, profile, core.Operator("tester")).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var functions []function
		for _, tool := range listed.Tools {
			functions = append(functions, function{tool.Name, tool.Description, tool.InputSchema})
		}
		if n := count(string(jsontext.MustEncode(functions))); n > most {
			t.Errorf("%s: %d tokens (limit %d)", profile, n, most)
		} else {
			t.Logf("%s: %d tokens", profile, n)
		}
	}
	session, contents, tokens := overHTTP(t, s, Agent, bot()), 0, 0
	turn := func(name string, args map[string]any) called {
		got := call(t, session, name, args)
		tokens += count(got.text) + count(string(jsontext.MustEncode(args)))
		return got
	}
	for _, city := range []string{"Bonn", "Bremen", "Kassel", "Mainz"} {
		text := "The office of the team is in " + city + "."
		call(t, session, "observe", map[string]any{"content": text})
		contents += count(text)
	}
	last := "The office of the team is in Worms."
	turn("observe", map[string]any{"content": last})
	contents += 2 * count(last) // it is sent, and found
	found := turn("retrieve", map[string]any{"query": "office of the team", "session": "s"})
	if n := len(member[[]map[string]any](t, found.text, "memories")); n != 5 {
		t.Errorf("%d memories: %s", n, found.text)
	}
	turn("feedback", map[string]any{"session": "s", "turn": 1, "outcome": "success", "used": []string{"m1"}})
	if t.Logf("a turn: %d tokens in addition to contents", tokens-contents); tokens-contents > 600 {
		t.Errorf("a turn costs %d tokens in addition to contents (limit 600)", tokens-contents)
	}
}

// TestTools_AnnotationsAreTheTables: what a tool may do is what its operations may.
func TestTools_AnnotationsAreTheTables(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	type notes struct{ reads, destroys, repeats bool }
	got := map[string]notes{}
	for _, tool := range s.tools {
		a := tool.described.Annotations
		got[tool.row.name] = notes{a.ReadOnlyHint, a.DestructiveHint != nil && *a.DestructiveHint, a.IdempotentHint}
		if a.ReadOnlyHint != (a.DestructiveHint == nil) {
			t.Errorf("%s: %+v", tool.row.name, a)
		}
		if *a.OpenWorldHint {
			t.Errorf("%s is open to the world", tool.row.name)
		}
	}
	want := map[string]notes{
		"approve": {}, "correct": {reads: true}, "dream": {}, "discover": {reads: true}, "evaluate": {reads: true}, "feedback": {repeats: true}, "forget": {destroys: true}, "gate": {destroys: true}, "inject": {},
		"loop_status": {reads: true}, "memory_explain": {reads: true}, "memory_get": {reads: true}, "memory_link": {repeats: true},
		"memory_reflect": {}, "observe": {}, "cancel_reflection": {repeats: true}, "reflect": {}, "reflect_status": {reads: true}, "retrieve": {}, "run_loop": {}, "stats": {reads: true},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// operations are the tools of each operation, with the action.
func operations(s *Server) map[string][2]string {
	list := map[string][2]string{}
	for _, t := range s.tools {
		for action, o := range t.operations {
			list[o.Name] = [2]string{t.row.name, action}
		}
	}
	return list
}

// asArguments is an operation's request as the arguments of its tool, by the tool's name and
// action. It is nil for a request that Go can have and JSON can't.
func asArguments(tool [2]string, in any) json.RawMessage {
	text, err := jsontext.Encode(in)
	if err != nil {
		return nil
	}
	members := jsontext.Members(text)
	action := tool[1]
	if tool[0] == "loop_status" {
		for i, m := range members {
			if m.Key == idArg {
				members[i].Key = action
			}
		}
	} else if action != "" {
		members = append(members, jsontext.Member{Key: actionArg, Value: jsontext.MustEncode(action)})
	}
	for _, r := range table() {
		if r.name == tool[0] && len(r.brief) > 0 {
			members = append(members, jsontext.Member{Key: detailArg, Value: jsontext.MustEncode(fullDetail)})
		}
	}
	return jsontext.JoinMembers(members)
}

// TestTools_AnswerAsOperationsDo for a caller who waits for no model: each valid request, each refusal and each denial of each
// tool's operation gives the operation's result to the byte, as text and as structured
// content that the tool's schema allows, or the operation's code, message and details. It is
// asked over both transports, in worlds that are alike.
func TestTools_AnswerAsOperationsDo(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	tools := operations(newServerOf(t, operationtest.New(t)))
	asked := map[string]bool{}
	for _, c := range operationtest.Cases() {
		tool, known := tools[c.Operation]
		if !known {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			world := c.Worlds(t)
			w, in := world(t)
			want := operationtest.AskQueued(w, c.Operation, in)
			if c.String() == "memory_recall/no query" {
				return // the tool lists the newest
			}
			for way, open := range transports {
				w, in := world(t)
				args := asArguments(tool, in)
				if args == nil {
					continue
				}
				w.Open()
				s := newServerOf(t, w)
				session := open(t, s, All, core.Operator(operationtest.Agent))
				got := call(t, session, tool[0], args)
				w.Must(w.Host.Close())
				if got.isError {
					sameRefusal(t, way, got.text, want)
					continue
				}
				asked[c.Operation] = true
				if want := spokenHere(t, s, c.Operation, want); length([]byte(want)) <= maxResult && got.text != want {
					t.Errorf("over %s:\n%s\n%s", way, got.text, want)
				}
				if !equalJSON(t, got.structured, got.text) {
					t.Errorf("over %s: the structured content is %s", way, got.structured)
				}
				mayBe(t, s, tool[0], got.text)
			}
		})
	}
	for name := range tools {
		if !asked[name] && name != "gate_request" {
			t.Errorf("%s never succeeded", name)
		}
	}
}

// sameRefusal compares a tool's refusal with an operation's.
func sameRefusal(t *testing.T, way, got, want string) {
	t.Helper()
	type refusal struct {
		Code, Message string
		Details       map[string]any
	}
	g, w := member[refusal](t, got, "error"), member[refusal](t, want, "error")
	delete(w.Details, "problems")
	delete(w.Details, "pointer")
	if strings.HasPrefix(g.Code, "field_") { // the tool's schema refuses it before the operation does
		return
	}
	if g.Code != w.Code || g.Message != w.Message || len(g.Details) != len(w.Details) {
		t.Errorf("over %s:\n%s\n%s", way, got, want)
	}
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := jsontext.Decode([]byte(a))
	if err != nil {
		t.Fatal(err)
	}
	y, err := jsontext.Decode([]byte(b))
	if err != nil {
		t.Fatal(err)
	}
	return string(jsontext.MustEncode(x)) == string(jsontext.MustEncode(y))
}

// mayBe checks a result against its tool's schema.
func mayBe(t *testing.T, s *Server, name, text string) {
	t.Helper()
	for _, tool := range s.tools {
		if tool.row.name != name {
			continue
		}
		schema, err := tool.described.OutputSchema.(*jsonschema.Schema).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDiscover_NamesTools: whatever is asked, each tool that an answer names is the caller's, and takes the
// arguments that the answer writes.
func TestDiscover_NamesTools(t *testing.T) {
	session := overHTTP(t, newServerOf(t, operationtest.New(t)), All, core.Operator("tester"))
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]map[string]any{}
	for _, tool := range listed.Tools {
		args[tool.Name], _ = tool.InputSchema.(map[string]any)["properties"].(map[string]any)
	}
	named := 0
	for _, intent := range coretest.Intents(t, "../../../../core/host/operation/testdata/intents.txt") {
		type ranked struct {
			Usage struct{ Call string } `json:"usage_template"`
		}
		var answer struct {
			Recommended         *ranked
			Candidates, Nearest []ranked
		}
		if err := json.Unmarshal([]byte(call(t, session, "discover", map[string]any{"intent": intent}).text), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Recommended != nil {
			answer.Candidates = append(answer.Candidates, *answer.Recommended)
		}
		for _, r := range append(answer.Candidates, answer.Nearest...) {
			name, text, _ := strings.Cut(strings.TrimPrefix(r.Usage.Call, "call "), " with ")
			var given map[string]any
			if err := json.Unmarshal([]byte(text), &given); err != nil || args[name] == nil {
				t.Errorf("%s: %q: %v", intent, r.Usage.Call, err)
			}
			for arg := range given {
				if args[name][arg] == nil {
					t.Errorf("%s: %q has no argument %s", intent, r.Usage.Call, arg)
				}
			}
			named++
		}
	}
	if named < 40 {
		t.Errorf("only %d calls are named", named)
	}
}

// spokenHere is what an operation answers, in the words of the tools.
func spokenHere(t *testing.T, s *Server, name, answer string) string {
	t.Helper()
	var a discover.Answer
	if name != "discover" || json.Unmarshal([]byte(answer), &a) != nil || a.Intent == "" {
		return answer
	}
	in := setOf(All, core.Operator(operationtest.Agent))
	return string(jsontext.MustEncode(a.WithCalls(func(name string, arguments map[string]any) string {
		return s.callOf(in, name, operation.CallArgs(arguments))
	})))
}
