package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

var retains = says{Verdict: policypoint.VerdictRetain}

func TestTheNewestGraphOfAWorkflowCounts(t *testing.T) {
	onEngines(t, func(t *testing.T, d *desk) {
		graphOf := func() verdict.GateNumbers {
			return d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{})}).Numbers
		}
		if n := graphOf(); n.GraphKnown || n.Graph != .5 || n.Workflow != "" {
			t.Errorf("without a graph: %+v", n)
		}
		first := d.dag(line("w", map[string][]string{"m": {"b"}, "n": {"b"}}))
		if n := graphOf(); !n.GraphKnown || n.Dependency != 1 || n.Workflow != "w" {
			t.Errorf("the first graph: %+v", n)
		}
		second := d.dag(line("w", map[string][]string{"m": {"lost"}, "n": {"b"}}))
		if n := graphOf(); !n.GraphKnown || n.PathReachable || n.Graph != 0 {
			t.Errorf("the second graph: %+v", n)
		}
		if !slices.Equal(second.Unreachable, []string{"m"}) || len(first.Unreachable) != 0 {
			t.Errorf("unreachable are %v, then %v", first.Unreachable, second.Unreachable)
		}
		d.dag(line("w", map[string][]string{"n": {"b"}}))
		if n := graphOf(); n.GraphKnown {
			t.Errorf("a graph without the memory: %+v", n)
		}
		if d.has(gate.IndexKey("m", "w")) || !d.has(gate.IndexKey("n", "w")) {
			t.Error("the index isn't in step")
		}
	})
}

func TestEventsOfGraphsChainTheirDigests(t *testing.T) {
	d := newMem(t)
	first := d.dag(line("w", map[string][]string{"m": {"b"}}))
	second := d.dag(line("w", nil))
	events := d.entries(gate.DAGStream("w"))
	want := []string{
		fmt.Sprintf(`{"workflow":"w","nodes":3,"edges":2,"memories":1,"graph":%q}`, first.Digest),
		fmt.Sprintf(`{"workflow":"w","nodes":3,"edges":2,"memories":0,"graph":%q,"replaced":%q}`, second.Digest, first.Digest),
	}
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if e.Type != "agent.evidence.dag_recorded" || string(e.Data) != want[i] {
			t.Errorf("%s %s, want %s", e.Type, e.Data, want[i])
		}
	}
}

func TestTheSameGraphInAnotherOrderChangesNothing(t *testing.T) {
	d := newMem(t)
	first := d.dag(dagOf("a b", "d e", "a>c b>c c>d c>e", "a c"))
	again := d.dag(dagOf("b a a", "e d", "c>e b>c c>d a>c a>c", "c a c"))
	if first.Unchanged || !again.Unchanged || first.Digest != again.Digest || again.Edges != 4 || again.Nodes != 5 {
		t.Errorf("%+v, then %+v", first, again)
	}
	if n := len(d.entries(gate.DAGStream("w"))); n != 1 {
		t.Errorf("%d events", n)
	}
}

// many are names n0, n1, and so on.
func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("n", i)
	}
	return list
}

func manyEdges(n int) [][2]string {
	list, names := make([][2]string, n), many(1000)
	for i := range list { // from lower ones to higher ones
		from := i % 500
		list[i] = [2]string{names[from], names[from+1+i/500]}
	}
	return list
}

func TestGraphsAreBounded(t *testing.T) {
	memories := func(n, nodes int) map[string][]string {
		m := map[string][]string{}
		for _, id := range many(n) {
			m[id] = slices.Repeat([]string{"a"}, nodes)
		}
		return m
	}
	cases := []struct {
		name   string
		change func(*core.WorkflowDAG)
		says   string // "" is accepted
	}{
		{"the most nodes", func(d *core.WorkflowDAG) { d.Exits = append(many(9997), "c") }, ""},
		{"a node more", func(d *core.WorkflowDAG) { d.Exits = append(many(9998), "c") }, "10001 nodes (limit 10000)"},
		{"nodes that only a memory names", func(d *core.WorkflowDAG) { d.Memories = map[string][]string{"m": many(9998)} }, "10001 nodes (limit "},
		{"the most edges", func(d *core.WorkflowDAG) { d.Edges = manyEdges(100_000) }, ""},
		{"an edge more", func(d *core.WorkflowDAG) { d.Edges = manyEdges(100_001) }, "100001 edges (limit 100000)"},
		{"too many entries", func(d *core.WorkflowDAG) { d.Entry = many(10_001) }, "10001 entries"},
		{"too many exits", func(d *core.WorkflowDAG) { d.Exits = many(10_001) }, "10001 exits"},
		{"the most memories", func(d *core.WorkflowDAG) { d.Memories = memories(10_000, 10) }, ""},
		{"a memory more", func(d *core.WorkflowDAG) { d.Memories = memories(10_001, 1) }, "10001 memories"},
		{"too many nodes of memories", func(d *core.WorkflowDAG) { d.Memories = memories(1000, 101) }, "101000 nodes of memories"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dag := line("w", nil)
			c.change(dag)
			_, err := gate.Graph(dag, "m")
			if c.says == "" && err != nil || c.says != "" && (sdk.ReasonOf(err) != "evidence_invalid" || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %.300v, want %q", err, c.says)
			}
		})
	}
}

func TestGraphsAreChecked(t *testing.T) {
	cases := []struct {
		name   string
		change func(*core.WorkflowDAG)
		says   string // "" is accepted
	}{
		{"a workflow with spaces", func(d *core.WorkflowDAG) { d.Workflow = "night / build" }, ""},
		{"no edges", func(d *core.WorkflowDAG) { d.Edges = nil }, ""},
		{"no workflow", func(d *core.WorkflowDAG) { d.Workflow = "" }, `workflow is ""`},
		{"a workflow of two lines", func(d *core.WorkflowDAG) { d.Workflow = "a\nb" }, `workflow is "a\nb"`},
		{"no entry", func(d *core.WorkflowDAG) { d.Entry = nil }, "entry: the list is empty"},
		{"no exit", func(d *core.WorkflowDAG) { d.Exits = nil }, "exits: the list is empty"},
		{"an entry that is no id", func(d *core.WorkflowDAG) { d.Entry = []string{"a", "a b"} }, `entry: node 2 is "a b"`},
		{"an exit that is no id", func(d *core.WorkflowDAG) { d.Exits = []string{"ä"} }, `exits: node 1 is "ä"`},
		{"half an edge", func(d *core.WorkflowDAG) { d.Edges[1][1] = "" }, `edge 2: a node is ""`},
		{"a memory without nodes", func(d *core.WorkflowDAG) { d.Memories["m"] = nil }, `memory "m": the list is empty`},
		{"a memory that is no id", func(d *core.WorkflowDAG) { d.Memories["a/b"] = []string{"a"} }, `a memory is "a/b"`},
		{"a memory's node that is no id", func(d *core.WorkflowDAG) { d.Memories["m"] = []string{"a..b"} }, `memory "m": node 1 is "a..b"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			dag := line("w", map[string][]string{"m": {"b"}})
			c.change(dag)
			_, err := d.RecordDAG(t.Context(), dag)
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if sdk.ReasonOf(err) != "evidence_invalid" || !strings.Contains(err.Error(), c.says) || sdk.AsError(err).Hint == "" {
				t.Errorf("error %v, want %s", err, c.says)
			}
		})
	}
}

func TestAMemoryIsNamedByABoundedNumberOfWorkflows(t *testing.T) {
	d := newMem(t)
	for i := range gate.MaxWorkflows {
		d.dag(line(fmt.Sprint("w", i), map[string][]string{"m": {"b"}}))
	}
	one := map[string][]string{"m": {"b"}}
	if _, err := d.RecordDAG(t.Context(), line("more", one)); sdk.ReasonOf(err) != "evidence_full" || sdk.CodeOf(err) != sdk.Exhausted {
		t.Errorf("one more: %v", err)
	}
	d.dag(line("w31", map[string][]string{"m": {"a"}})) // one that names it may change
	d.dag(line("w0", nil))
	d.dag(line("more", one))
	refs := d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{})}).GraphRefs
	if len(refs) != gate.MaxWorkflows {
		t.Errorf("%d references", len(refs))
	}
}

func TestABrokenGraphDecidesNothingAndCanBeRecordedAgain(t *testing.T) {
	for _, value := range []string{
		"?", `{}`, `{"graph":{"nodes":["a"],"entry":[1],"exits":[0],"edges":"","memories":{}}}`,
		`{"graph":{"nodes":["a"],"entry":[0],"exits":[-1],"edges":"","memories":{}}}`,
		`{"graph":{"nodes":["a"],"entry":[0],"exits":[0],"edges":"AAAAAQ==","memories":{}}}`,
		`{"graph":{"nodes":["a"],"entry":[0],"exits":[0],"edges":"","memories":{"m":[7]}}}`,
		`{"graph":{"nodes":["a"],"entry":[0],"exits":[0],"edges":"AAA=","memories":{}}}`,
		`{"graph":{"nodes":["a"],"entry":[0],"exits":[0],"edges":[[0,0]],"memories":{}}}`,
		`{"graph":{"nodes":["a","b"],"entry":[0],"exits":[0],"edges":"AAEAAAAAAAE=","memories":{}}}`,
	} {
		d := newMem(t)
		d.dag(line("w", map[string][]string{"m": {"b"}, "n": {"b"}}))
		put(d, gate.DAGKey("w"), value)
		d.view(func(r core.Reader) error {
			_, err := gate.New(retains).Decide(t.Context(), r, &verdict.GateCase{Memory: memory(core.Signals{})})
			if sdk.ReasonOf(err) != "record_corrupt" || !strings.Contains(err.Error(), "record evidence-dag/w") {
				t.Errorf("%s: %v", value, err)
			}
			return nil
		})
		d.dag(line("w", map[string][]string{"n": {"b"}}))
		if n := d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{})}).Numbers; n.GraphKnown {
			t.Errorf("%s: recorded again without the memory: %+v", value, n)
		}
	}
}

// TestAGraphIsKeptInOneForm checks FORMAT.md's row of it.
func TestAGraphIsKeptInOneForm(t *testing.T) {
	d := newMem(t)
	d.dag(line("w", map[string][]string{"m": {"c", "b"}}))
	const want = `{"digest":"sha256:0b4afb7b4cd1060671e760767c3fedca40c90687b50ef5a0b750e11665c7bfab","at":"2000-01-01T00:00:00Z",` +
		`"graph":{"nodes":["a","b","c"],"entry":[0],"exits":[2],"edges":"AAAAAQABAAI=","memories":{"m":[1,2]}}}`
	if got := pairs(d)["evidence-dag/w"]; got != want {
		t.Errorf("%s", got)
	}
}

// TestKeyLayout checks the rows of core/store/FORMAT.md.
func TestKeyLayout(t *testing.T) {
	o := core.ToolOutcome{MemoryID: "m", Session: "s", Turn: 258, Tool: "t", Ref: "r"}
	cases := []struct{ got, want string }{
		{string(gate.ToolKey(&o))[:33], "evidence-tool/m/s/\x00\x00\x00\x00\x00\x00\x01\x02" + "\x83\xd6R\xc8\xd1T2"},
		{string(gate.TallyKey("m")), "evidence-tally/m"},
		{string(gate.DAGKey("w")), "evidence-dag/w"},
		{string(gate.IndexKey("m", "w")), "evidence-dag-index/m/w"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if n := len(gate.ToolKey(&o)); n != 26+32 {
		t.Errorf("an outcome's key has %d bytes", n)
	}
}
