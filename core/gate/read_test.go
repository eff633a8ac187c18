package gate_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

const (
	one = `{"memory_id": "m", "session": "s", "turn": 1, "tool": "grep", "ok": false, "recovered": true, "ref": "log:1"}`
	two = `{"memory_id":"m","session":"s","turn":2,"tool":"grep","ok":true}`
)

func TestToolsAreReadInEachForm(t *testing.T) {
	first := tool(1, false, true, "log:1")
	second := tool(2, true, false, "")
	for text, want := range map[string][]core.ToolOutcome{
		one:                           {first},
		" \n" + one + "\n":            {first},
		one + "\n" + two + "\n":       {first, second},
		one + two:                     {first, second},
		"[" + one + ",\n" + two + "]": {first, second},
		"\t[" + two + "]\r\n":         {second},
	} {
		got, err := gate.ReadTools([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, error %v", text, got, err)
		}
	}
}

func TestWhatIsntToolsIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"":                                   "there is no tool outcome",
		"[]":                                 "there is no tool outcome",
		"[" + one:                            "the list of outcomes: the text ends too early",
		"[" + one + "] x":                    "more text after the end",
		"[" + one + "] " + two:               "more text after the end",
		one + ",":                            "outcome 2:",
		one + "]":                            "more text after the end",
		`{"memory_id": "m"`:                  "outcome 1: the text ends too early",
		`{"memory": "m"}`:                    `outcome 1: unknown field "memory"`,
		`{"turn": "1"}`:                      "outcome 1:",
		`{"turn": 1.5}`:                      "outcome 1:",
		`{"turn": 1e400}`:                    "outcome 1:",
		"null":                               "outcome 1: memory_id",
		"\n7":                                "outcome 1: it is a number where an object must be (line 2)",
		"[\n" + one + ",\n[]]":               "outcome 2: it is a list where an object must be (line 3)",
		"[\n" + one + ",\n\n{x}]":            "outcome 2: invalid character 'x' looking for beginning of object key string (line 4)",
		one + "\n{\n\"turn\":\n[]}":          "outcome 2: turn has a list where a whole number must be (line 4)",
		one + "\n{\"ok\":true,\n\"tern\":1}": `outcome 2: unknown field "tern" (line 3)`,
		one + "\n{\"memory_id\":\n\n":        "outcome 2: the text ends too early (line 2)",
		`{"turn": "1"} `:                     "outcome 1: turn has a text where a whole number must be",
		`{"ok":true,"ok":false}`:             `outcome 1: the key "ok" is there twice`,
		`{"ok": 1}`:                          "outcome 1: ok has a number where true or false must be",
		two + strings.Replace(two, `,"ok":true`, "", 1): "outcome 2: ok is missing",
		two + strings.Replace(two, `"turn":2,`, "", 1):  "outcome 2: turn is missing",
		two + strings.Replace(two, "true", "null", 1):   "outcome 2: ok is missing",
		`"text"`:                    "outcome 1:",
		two + "\n" + `{"ok":true}`:  "outcome 2: memory_id",
		"\xff":                      "isn't UTF-8",
		`{"ref": "` + "\xff" + `"}`: "isn't UTF-8",
		strings.Repeat(two, 10_001): "(limit 10000)",
		strings.Repeat(" ", gate.MaxEvidenceBytes+1): "16777217 bytes (limit 16777216)",
	} {
		_, err := gate.ReadTools([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || sdk.AsError(err).Hint == "" && sdk.AsError(err).Details == nil && says != "the list of outcomes: the text ends too early" {
			t.Errorf("%.60q: %v (hint %q), want %s", text, err, sdk.AsError(err).Hint, says)
		}
	}
}

const graph = `{"workflow": "w", "entry": ["a"], "exits": ["c"], "edges": [["a", "b"], ["b", "c"]], "memories": {"m": ["b"]}}`

func TestAGraphIsRead(t *testing.T) {
	got, err := gate.ReadDAG([]byte("\n" + graph + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(line("w", map[string][]string{"m": {"b"}}), got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsntAGraphIsRefused(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(graph, from, to, 1) }
	for text, says := range map[string]string{
		"":                                    "the graph: the text ends too early",
		graph + graph:                         "more text after the end",
		graph[:40]:                            "the graph: the text ends too early",
		"[" + graph + "]":                     "the graph: it is a list where an object must be",
		change("edges", "edge"):               `unknown field "edge"`,
		change(`["a", "b"]`, `["a"]`):         "edge 1 has 1 nodes",
		change(`["b", "c"]`, `["b","c","d"]`): "edge 2 has 3 nodes",
		change(`["b", "c"]`, `null`):          "edge 2 has 0 nodes",
		change(`["b", "c"]`, `["b", "a"]`):    "a → b → a",
		change(`["b", "c"]`, `["b", null]`):   `edge 2: a node is ""`,
		change(`["b"]}`, `"b"}`):              "the graph: memories has a text where a list must be",
		"null":                                "workflow is",
		"\xff":                                "isn't UTF-8",
		strings.Repeat(" ", gate.MaxEvidenceBytes+1): "16777217 bytes",
	} {
		_, err := gate.ReadDAG([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v, want %s", text, err, says)
		}
	}
}

// fuzzDesk records into a fresh store.
func fuzzDesk() *gate.Recorder {
	return &gate.Recorder{Writer: &journal.Writer{Store: mem.Open(), Clock: &coretest.Clock{}}, Memories: anywhere{}}
}

// anywhere has every memory in one namespace.
type anywhere struct{}

func (anywhere) Namespace(core.Reader, string) (string, error) { return "n", nil }

func (anywhere) UsedIn(core.Reader, string, core.TurnRef) (bool, error) { return false, nil }

// FuzzReadTools: what is read can be recorded, once, and used for a decision.
func FuzzReadTools(f *testing.F) {
	for _, seed := range []string{one, two, one + two, "[" + one + "," + two + "]", "[", "null", `{"turn":-1}`, `{"REF":"x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := gate.ReadTools(data)
		if err != nil {
			refusedWell(t, err)
			return
		}
		r := fuzzDesk()
		first, err := r.RecordTools(t.Context(), list)
		if err != nil || first.Recorded == 0 || first.Recorded+first.Duplicates != len(list) {
			t.Fatalf("%+v, error %v", first, err)
		}
		if again, err := r.RecordTools(t.Context(), list); err != nil || again.Recorded != 0 {
			t.Fatalf("again: %+v, error %v", again, err)
		}
		decided(t, r, list[0].MemoryID)
	})
}

// FuzzReadDAG: what is read can be recorded, comes out the same in any order, and
// is decided by.
func FuzzReadDAG(f *testing.F) {
	for _, seed := range []string{graph, `{}`, `null`, `[`, strings.ReplaceAll(graph, `"b"`, `"a"`),
		`{"workflow":"w","entry":["a"],"exits":["a"],"memories":{"m":["z"]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dag, err := gate.ReadDAG(data)
		if err != nil {
			refusedWell(t, err)
			return
		}
		r := fuzzDesk()
		if done, err := r.RecordDAG(t.Context(), dag); err != nil || done.Unchanged {
			t.Fatalf("%+v, error %v", done, err)
		}
		for i, j := 0, len(dag.Edges)-1; i < j; i, j = i+1, j-1 {
			dag.Edges[i], dag.Edges[j] = dag.Edges[j], dag.Edges[i]
		}
		if done, err := r.RecordDAG(t.Context(), dag); err != nil || !done.Unchanged {
			t.Fatalf("in another order: %+v, error %v", done, err)
		}
		for id := range dag.Memories {
			if n := decided(t, r, id); !n.GraphKnown {
				t.Fatalf("memory %s: %+v", id, n)
			}
		}
	})
}

func refusedWell(t *testing.T, err error) {
	t.Helper()
	if code := sdk.CodeOf(err); code != sdk.Invalid && code != sdk.Exhausted || len(err.Error()) > 64<<10 {
		t.Fatalf("%s error of %d bytes: %.200v", code, len(err.Error()), err)
	}
}

func decided(t *testing.T, r *gate.Recorder, id string) verdict.GateNumbers {
	t.Helper()
	var n verdict.GateNumbers
	err := r.Writer.Store.View(t.Context(), func(reader core.Reader) error {
		made, err := gate.New(retains).Decide(t.Context(), reader, &verdict.GateCase{Memory: &core.Memory{ID: id, Namespace: "n"}})
		if err == nil {
			n = made.Numbers
		}
		return err
	})
	if err != nil || n.React < 0 || n.React > 1 || n.Graph < 0 || n.Graph > 1 {
		t.Fatalf("%+v, error %v", n, err)
	}
	return n
}

// TestReadTools_TakesWholeNumbersAsIntegers, however they are written.
func TestReadTools_TakesWholeNumbersAsIntegers(t *testing.T) {
	for _, five := range []string{"5", "5.0", "5e0", "5E+0", "50e-1", "0.5e1", "5.000", "500.0e-2"} {
		list, err := gate.ReadTools([]byte(`{"memory_id": "m", "session": "s", "turn": ` + five + `, "tool": "t", "ok": true}`))
		if err != nil || list[0].Turn != 5 || !list[0].OK {
			t.Errorf("%s: %v, %v", five, list, err)
		}
	}
	for _, no := range []string{"5.5", "5e-1", `"5"`, "null", "true", "[5]"} {
		if _, err := gate.ReadTools([]byte(`{"memory_id": "m", "session": "s", "turn": ` + no + `, "tool": "t", "ok": true}`)); err == nil {
			t.Errorf("turn %s is accepted", no)
		}
	}
}
