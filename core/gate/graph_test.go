package gate_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// edges reads "a>b b>c".
func edges(text string) (list [][2]string) {
	for _, pair := range strings.Fields(text) {
		from, to, _ := strings.Cut(pair, ">")
		list = append(list, [2]string{from, to})
	}
	return list
}

func dagOf(entry, exits, links, nodes string) *core.WorkflowDAG {
	return &core.WorkflowDAG{
		Workflow: "w", Entry: strings.Fields(entry), Exits: strings.Fields(exits), Edges: edges(links),
		Memories: map[string][]string{"m": strings.Fields(nodes)},
	}
}

// The numbers were counted by hand on paper drawings of the graphs.
func TestTheGraphLane(t *testing.T) {
	const diamond = "a>b a>c b>d c>d"
	cases := []struct {
		name                       string
		entry, exits, links, nodes string
		reachable                  bool
		dependency, decomposition  float64
		lane                       float64
	}{
		{"the middle of a line", "a", "c", "a>b b>c", "b", true, 1, 1.0 / 3, .4 + .35 + .25/3},
		{"the start of a line", "a", "c", "a>b b>c", "a", true, 1, 2.0 / 3, .4 + .35 + .5/3},
		{"the end of a line", "a", "c", "a>b b>c", "c", true, 1, 0, .75},
		{"the only node", "a", "a", "", "a", true, 1, 0, .75},
		{"one side of a diamond", "a", "d", diamond, "b", true, 0, .25, .4625},
		{"both sides of a diamond", "a", "d", diamond, "b c", true, 1, .25, .8125},
		{"a node and what follows it", "a", "d", diamond, "a b", true, 1, .5, .875},
		{"one of two exits", "a", "b c", "a>b a>c", "b", true, .5, 0, .575},
		{"one of two entries", "a b", "c", "a>c b>c", "a", true, 0, 1.0 / 3, .4 + .25/3},
		{"an exit that nothing reaches doesn't count", "a", "b x", "a>b y>x", "b", true, 1, 0, .75},
		{"no exit is reached", "a", "x", "a>b y>x", "b", true, 0, 0, .4},
		{"a dead end", "a", "c", "a>b a>c", "b", true, 0, 0, .4},
		{"a part that nothing leads to", "a", "b", "a>b x>y", "x y", false, 0, 0, 0},
		{"a node that the graph no longer has", "a", "b", "a>b", "old", false, 0, 0, 0},
		{"a reachable node and one that isn't", "a", "c", "a>b b>c x>c", "b x", true, 1, 1.0 / 3, .4 + .35 + .25/3},
		{"what follows an unreachable node isn't downstream", "a", "d", "a>d b>c x>b", "d x", true, 1, 0, .75},
		{"an edge twice is one edge", "a", "c", "a>b a>b b>c b>c", "b", true, 1, 1.0 / 3, .4 + .35 + .25/3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := gate.Graph(dagOf(c.entry, c.exits, c.links, c.nodes), "m")
			if err != nil {
				t.Fatal(err)
			}
			want := policypoint.GraphEvidence{Known: true, PathReachable: c.reachable, Dependency: c.dependency, Decomposition: c.decomposition}
			if got != want || math.Abs(got.Lane()-c.lane) > 1e-12 {
				t.Errorf("%+v, lane %v; want %+v, lane %v", got, got.Lane(), want, c.lane)
			}
		})
	}
}

func TestACycleIsNamed(t *testing.T) {
	for links, want := range map[string]string{
		"a>b b>a":                     "a → b → a",
		"a>a":                         "a → a",
		"a>b b>c c>d d>b d>e":         "b → c → d → b",
		"a>b x>y y>z z>x":             "x → y → z → x",
		"a>b b>c c>b c>d d>e e>f f>g": "b → c → b",
	} {
		_, err := gate.Graph(dagOf("a", "b", links, "b"), "m")
		if sdk.ReasonOf(err) != "dag_cyclic" || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", links, err)
			continue
		}
		cycle := sdk.AsError(err).Details["cycle"].([]string)
		if !isTurnOf(strings.Join(cycle, " → "), want) || !strings.Contains(err.Error(), strings.Join(cycle, " → ")) {
			t.Errorf("%s: %v, want %s", links, err, want)
		}
	}
}

// isTurnOf reports whether two cycles are the same, wherever they begin.
func isTurnOf(got, want string) bool {
	a, b := strings.Split(got, " → "), strings.Split(want, " → ")
	if len(a) != len(b) {
		return false
	}
	for range a {
		b = append(b[1:], b[1])
		if slices.Equal(a, b) {
			return true
		}
	}
	return false
}

func TestALongCycleIsCutShort(t *testing.T) {
	dag := dagOf("n0", "n1", "", "n0")
	for i := range 5000 {
		dag.Edges = append(dag.Edges, [2]string{fmt.Sprint("n", i), fmt.Sprint("n", (i+1)%5000)})
	}
	_, err := gate.Graph(dag, "m")
	if sdk.ReasonOf(err) != "dag_cyclic" || len(err.Error()) > 500 || !strings.Contains(err.Error(), "4980 more") {
		t.Errorf("%v", err)
	}
	if cycle := sdk.AsError(err).Details["cycle"].([]string); len(cycle) != 100 {
		t.Errorf("the detail has %d nodes", len(cycle))
	}
}

// drawn is a random graph of up to 7 nodes, with cycles or without.
func drawn(t *rapid.T, acyclic bool) *core.WorkflowDAG {
	node := rapid.Map(rapid.IntRange(0, 6), func(i int) string { return string(rune('a' + i)) })
	nodes := func(name string) []string { return rapid.SliceOfN(node, 1, 3).Draw(t, name) }
	dag := &core.WorkflowDAG{Workflow: "w", Entry: nodes("entry"), Exits: nodes("exits"), Memories: map[string][]string{"m": nodes("m")}}
	for range rapid.IntRange(0, 12).Draw(t, "edges") {
		from, to := node.Draw(t, "from"), node.Draw(t, "to")
		if acyclic && from == to {
			continue
		}
		if acyclic && from > to {
			from, to = to, from
		}
		dag.Edges = append(dag.Edges, [2]string{from, to})
	}
	return dag
}

// paths calls fn with every simple path that begins at a node.
func paths(dag *core.WorkflowDAG, path []string, fn func([]string)) {
	fn(path)
	for _, edge := range dag.Edges {
		if edge[0] == path[len(path)-1] && !slices.Contains(path, edge[1]) {
			paths(dag, append(slices.Clone(path), edge[1]), fn)
		}
	}
}

// byPaths is the evidence, by looking at every path there is.
func byPaths(dag *core.WorkflowDAG, memory string) policypoint.GraphEvidence {
	own := dag.Memories[memory]
	reached, free, after := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, entry := range dag.Entry {
		paths(dag, []string{entry}, func(path []string) {
			end := path[len(path)-1]
			reached[end] = true
			meets := slices.IndexFunc(path, func(node string) bool { return slices.Contains(own, node) })
			if meets < 0 {
				free[end] = true
			} else if meets < len(path)-1 && !slices.Contains(own, end) {
				after[end] = true
			}
		})
	}
	exits, lost := map[string]bool{}, 0
	for _, exit := range dag.Exits {
		if reached[exit] && !exits[exit] {
			exits[exit] = true
			if !free[exit] {
				lost++
			}
		}
	}
	e := policypoint.GraphEvidence{Known: true, PathReachable: slices.ContainsFunc(own, func(n string) bool { return reached[n] })}
	if e.PathReachable && len(exits) > 0 {
		e.Dependency = float64(lost) / float64(len(exits))
	}
	if e.PathReachable {
		e.Decomposition = float64(len(after)) / float64(len(reached))
	}
	return e
}

func TestTheGraphLaneIsWhatThePathsShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dag := drawn(t, true)
		got, err := gate.Graph(dag, "m")
		if err != nil {
			t.Fatal(err)
		}
		if want := byPaths(dag, "m"); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if lane := got.Lane(); lane < 0 || lane > 1 {
			t.Fatalf("lane %v", lane)
		}
	})
}

// TestACycleIsFoundWhereThereIsOne compares with a look at every path: one that
// can continue to where it began.
func TestACycleIsFoundWhereThereIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dag := drawn(t, false)
		has := false
		for _, edge := range dag.Edges {
			paths(dag, []string{edge[1]}, func(path []string) { has = has || path[len(path)-1] == edge[0] })
		}
		_, err := gate.Graph(dag, "m")
		if !has {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if sdk.ReasonOf(err) != "dag_cyclic" {
			t.Fatalf("the cycle wasn't found: %v", err)
		}
		cycle := sdk.AsError(err).Details["cycle"].([]string)
		if len(cycle) < 2 || cycle[0] != cycle[len(cycle)-1] {
			t.Fatalf("%v is no cycle", cycle)
		}
		for i := range cycle[1:] {
			if !slices.Contains(dag.Edges, [2]string{cycle[i], cycle[i+1]}) {
				t.Fatalf("%v: there is no edge from %s to %s", cycle, cycle[i], cycle[i+1])
			}
		}
	})
}
