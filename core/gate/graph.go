package gate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// graph is the stored form of a workflow's graph: in one normal form, whatever order it was
// given in. Numbers are indices into Nodes.
type graph struct {
	// Nodes are sorted.
	Nodes []string `json:"nodes"`
	Entry []int32  `json:"entry"`
	Exits []int32  `json:"exits"`
	Edges edges    `json:"edges"`
	// Memories are the nodes of each memory.
	Memories map[string][]int32 `json:"memories"`
}

// newGraph brings a graph into its normal form. Its nodes are all nodes that it names.
func newGraph(dag *core.WorkflowDAG) *graph {
	g := &graph{Nodes: nodesOf(dag), Memories: make(map[string][]int32, len(dag.Memories))}
	places := make(map[string]int32, len(g.Nodes))
	for i, node := range g.Nodes {
		places[node] = int32(i)
	}
	number := func(nodes []string) []int32 {
		list := make([]int32, len(nodes))
		for i, node := range nodes {
			list[i] = places[node]
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	g.Entry, g.Exits = number(dag.Entry), number(dag.Exits)
	g.Edges = make(edges, len(dag.Edges))
	for i, edge := range dag.Edges {
		g.Edges[i] = [2]int32{places[edge[0]], places[edge[1]]}
	}
	slices.SortFunc(g.Edges, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	g.Edges = slices.Compact(g.Edges)
	for memory, nodes := range dag.Memories {
		g.Memories[memory] = number(nodes)
	}
	return g
}

// nodesOf lists the nodes that a graph names, sorted.
func nodesOf(dag *core.WorkflowDAG) []string {
	named := map[string]bool{}
	name := func(nodes []string) {
		for _, node := range nodes {
			named[node] = true
		}
	}
	name(dag.Entry)
	name(dag.Exits)
	for i := range dag.Edges {
		name(dag.Edges[i][:])
	}
	for _, nodes := range dag.Memories {
		name(nodes)
	}
	return slices.Sorted(maps.Keys(named))
}

// cycle is a cycle of the graph, which ends with its first node; nil if there is none.
func (g *graph) cycle() []string {
	left := g.inCycles()
	before := make([]int32, len(g.Nodes)) // a remaining node that leads to it
	at := int32(-1)
	for _, edge := range g.Edges {
		if left[edge[0]] && left[edge[1]] {
			before[edge[1]], at = edge[0], edge[1]
		}
	}
	if at < 0 {
		return nil
	}
	// Each remaining node has one before it, so walking back must close a cycle.
	seen := make([]bool, len(g.Nodes))
	for ; !seen[at]; at = before[at] {
		seen[at] = true
	}
	path := []string{g.Nodes[at]}
	for node := before[at]; node != at; node = before[node] {
		path = append(path, g.Nodes[node])
	}
	path = append(path, g.Nodes[at])
	slices.Reverse(path)
	return path
}

// inCycles reports which nodes have no place in a topological order: nodes of cycles, and
// nodes after them (Kahn's algorithm).
func (g *graph) inCycles() []bool {
	next := g.follow()
	waits, left := make([]int, len(g.Nodes)), make([]bool, len(g.Nodes))
	for _, edge := range g.Edges {
		waits[edge[1]]++
	}
	var free []int32
	for node := range left {
		if left[node] = waits[node] > 0; !left[node] {
			free = append(free, int32(node))
		}
	}
	for len(free) > 0 {
		node := free[len(free)-1]
		free = free[:len(free)-1]
		for _, edge := range next.of(node) {
			to := edge[1]
			if waits[to]--; waits[to] == 0 {
				left[to] = false
				free = append(free, to)
			}
		}
	}
	return left
}

// following finds the edges that leave a node. The edges are sorted by their start.
type following struct {
	edges edges
	start []int32
}

func (g *graph) follow() following {
	f := following{edges: g.Edges, start: make([]int32, len(g.Nodes)+1)}
	for _, edge := range g.Edges {
		f.start[edge[0]+1]++
	}
	for i := range g.Nodes {
		f.start[i+1] += f.start[i]
	}
	return f
}

func (f following) of(node int32) edges { return f.edges[f.start[node]:f.start[node+1]] }

// reach reports which nodes can be reached from others, these included, by paths that
// avoid blocked nodes.
func (f following) reach(from []int32, blocked []bool) []bool {
	reached := make([]bool, len(f.start)-1)
	var todo []int32
	visit := func(node int32) {
		if !reached[node] && (blocked == nil || !blocked[node]) {
			reached[node] = true
			todo = append(todo, node)
		}
	}
	for _, node := range from {
		visit(node)
	}
	for len(todo) > 0 {
		node := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, edge := range f.of(node) {
			visit(edge[1])
		}
	}
	return reached
}

// evidence is what the graph shows about a memory.
func (g *graph) evidence(memory string) policypoint.GraphEvidence {
	e := policypoint.GraphEvidence{Known: true}
	next := g.follow()
	reached := next.reach(g.Entry, nil)
	own := make([]bool, len(g.Nodes))
	var after []int32 // the nodes that follow the memory's reachable ones
	for _, node := range g.Memories[memory] {
		own[node] = true
		if reached[node] {
			e.PathReachable = true
			for _, edge := range next.of(node) {
				after = append(after, edge[1])
			}
		}
	}
	if !e.PathReachable {
		return e
	}
	without := next.reach(g.Entry, own)
	exits, lost := 0, 0
	for _, exit := range g.Exits {
		if reached[exit] {
			exits++
			if !without[exit] {
				lost++
			}
		}
	}
	e.Dependency = share(lost, exits)
	downstream := next.reach(after, nil)
	for node := range downstream { // the memory's own nodes aren't downstream of it
		downstream[node] = downstream[node] && !own[node]
	}
	e.Decomposition = share(count(downstream), count(reached))
	return e
}

// share is part divided by whole; 0 if whole is 0.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func count(set []bool) (n int) {
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

// sound reports whether a graph that was read can be used: all numbers are indices of
// nodes, and the edges are sorted by their start.
func (g *graph) sound() bool {
	ok := func(nodes ...int32) bool {
		return !slices.ContainsFunc(nodes, func(n int32) bool { return n < 0 || int(n) >= len(g.Nodes) })
	}
	if !ok(g.Entry...) || !ok(g.Exits...) {
		return false
	}
	for i, edge := range g.Edges {
		if !ok(edge[:]...) || i > 0 && g.Edges[i-1][0] > edge[0] {
			return false
		}
	}
	for _, nodes := range g.Memories {
		if !ok(nodes...) {
			return false
		}
	}
	return true
}
