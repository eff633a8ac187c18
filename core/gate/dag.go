package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// DAGRecorded is the result of recording a graph.
type DAGRecorded struct {
	Workflow string `json:"workflow"`
	// Digest identifies the graph, whatever order its parts were given in.
	Digest   string `json:"digest"`
	Nodes    int    `json:"nodes"`
	Edges    int    `json:"edges"`
	Memories int    `json:"memories"`
	// Unreachable are memories that no entry leads to, sorted, at most 20. The names of
	// their nodes may be misspelt.
	Unreachable []string `json:"unreachable,omitempty"`
	// Unknown are memories that don't exist and never did, sorted, at most 20: a graph
	// must have their full ids.
	Unknown []string `json:"unknown,omitempty"`
	// Unchanged is whether the same graph was already recorded.
	Unchanged bool `json:"unchanged,omitempty"`
}

// maxUnreachable is how many unreachable and unknown memories are listed.
const maxUnreachable = 20

// keptDAG is the stored form of a graph, with its digest, which shows whether two graphs are
// equal.
type keptDAG struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	Graph  *graph    `json:"graph"`
}

// DAGStream is the journal's stream of a workflow's graphs.
func DAGStream(workflow string) string { return "evidence/" + workflow }

// RecordDAG stores the graph of a workflow, replacing the previous one, and writes an
// event to [DAGStream]. Recording the same graph again changes nothing. A graph without
// memories removes the earlier entries of memories. The memories needn't exist: a
// workflow may name one that was purged. A node that only a memory names has no incoming
// edges.
func (Evidence) RecordDAG(tx *journal.Tx, dag *core.WorkflowDAG) (*DAGRecorded, error) {
	g, err := checkDAG(dag)
	if err != nil {
		return nil, err
	}
	encoded := jsontext.MustEncode(g)
	kept := keptDAG{Digest: core.Digest(encoded), At: tx.Now().UTC(), Graph: g}
	done := &DAGRecorded{
		Workflow: dag.Workflow, Digest: kept.Digest, Nodes: len(g.Nodes), Edges: len(g.Edges),
		Memories: len(g.Memories), Unreachable: g.unreachable(),
	}
	before, err := readDAG(tx, dag.Workflow)
	if err != nil && !table.Corrupt(err) { // a damaged one is replaced
		return nil, err
	}
	if done.Unchanged = before.Digest == kept.Digest; done.Unchanged {
		return done, nil
	}
	if err := roomFor(tx, dag.Workflow, g); err != nil {
		return nil, err
	}
	if err := dags.Index(tx, dag.Workflow, before, &kept); err != nil {
		return nil, err
	}
	if err := tx.Put(dagKey(dag.Workflow), jsontext.MustEncode(kept)); err != nil {
		return nil, err
	}
	return done, tx.Append(DAGStream(dag.Workflow), journal.DAGEvidenceRecorded{
		Workflow: done.Workflow, Nodes: done.Nodes, Edges: done.Edges, Memories: done.Memories,
		Graph: done.Digest, Replaced: before.Digest, AgentID: tx.Caller().Label,
	})
}

// roomFor refuses a graph with a memory that too many others name.
func roomFor(r core.Reader, workflow string, g *graph) error {
	for _, memory := range slices.Sorted(maps.Keys(g.Memories)) {
		others, err := workflowsOf(r, memory)
		if err != nil {
			return err
		}
		if len(others) >= MaxWorkflows && !slices.Contains(others, workflow) {
			return sdk.Errorf(sdk.Exhausted, "evidence_full", "memory %s is already named by %d workflows, the most that are allowed", memory, len(others)).
				WithHint("leave the memory out, or record one of those graphs again without it")
		}
	}
	return nil
}

// workflowsOf are the workflows whose graphs name a memory, sorted.
func workflowsOf(r core.Reader, memory string) ([]string, error) {
	return core.Suffixes(r, indexKey(memory, ""), MaxWorkflows)
}

// readDAG reads the graph of a workflow; an empty one if there is none, or if it is damaged.
func readDAG(r core.Reader, workflow string) (*keptDAG, error) {
	kept, err := dags.Get(r, workflow)
	if kept == nil {
		kept = &keptDAG{Graph: &graph{}}
	}
	return kept, err
}

// unreachable lists the memories none of whose nodes an entry leads to.
func (g *graph) unreachable() []string {
	reached := g.follow().reach(g.Entry, nil)
	var list []string
	for memory, nodes := range g.Memories {
		if !slices.ContainsFunc(nodes, func(n int32) bool { return reached[n] }) {
			list = append(list, memory)
		}
	}
	slices.Sort(list)
	return list[:min(len(list), maxUnreachable)]
}

// CheckDAG refuses an invalid or too large graph, and lists everything that is wrong with it.
func CheckDAG(dag *core.WorkflowDAG) error {
	_, err := checkDAG(dag)
	return err
}

// checkDAG refuses an invalid or too large graph, and lists everything that is wrong with
// it.
func checkDAG(dag *core.WorkflowDAG) (*graph, error) {
	var p problems
	p.in("workflow").name(dag.Workflow, "workflow")
	places := 0
	for _, nodes := range dag.Memories {
		places += len(nodes)
	}
	small := p.in("edges").atMost("edges", len(dag.Edges), MaxEdges)
	small = p.in("entry").atMost("entries", len(dag.Entry), MaxNodes) && small
	small = p.in("exits").atMost("exits", len(dag.Exits), MaxNodes) && small
	small = p.in("memories").atMost("memories", len(dag.Memories), MaxGraphMemories) && small
	small = p.atMost("nodes of memories", places, MaxGraphPlaces) && small
	if !small {
		return nil, p.err()
	}
	g := newGraph(dag)
	p.in("edges").atMost("nodes", len(g.Nodes), MaxNodes)
	p.nodes(dag)
	if err := p.err(); err != nil {
		return nil, err
	}
	if cycle := g.cycle(); cycle != nil {
		return nil, cyclic(dag.Workflow, cycle)
	}
	return g, nil
}

// nodes checks the names in a graph.
func (p *problems) nodes(dag *core.WorkflowDAG) {
	p.in("entry").nodeList("entry", dag.Entry)
	p.in("exits").nodeList("exits", dag.Exits)
	for i, edge := range dag.Edges {
		p.list, p.item, p.field = "edges", i, ""
		for _, node := range edge {
			p.id(node, "edge %d: a node", i+1)
		}
	}
	p.list = ""
	for _, memory := range slices.Sorted(maps.Keys(dag.Memories)) {
		p.in("memories").id(memory, "a memory")
		p.nodeList(fmt.Sprintf("memory %.128q", memory), dag.Memories[memory])
	}
}

// nodeList checks a list of nodes.
func (p *problems) nodeList(where string, nodes []string) {
	if len(nodes) == 0 {
		p.add("name at least one node", "%s: the list is empty", where)
	}
	for i, node := range nodes {
		p.id(node, "%s: node %d", where, i+1)
	}
}

// maxShown is how many nodes of a cycle a message names.
const maxShown = 20

// cyclic is the error for a cycle, which it names. The detail has up to 100 of its nodes.
func cyclic(workflow string, cycle []string) error {
	shown := strings.Join(cycle, " → ")
	if len(cycle) > maxShown {
		shown = fmt.Sprintf("%s → … %d more … → %s", strings.Join(cycle[:maxShown], " → "), len(cycle)-maxShown-1, cycle[len(cycle)-1])
	}
	return sdk.Errorf(sdk.Invalid, "dag_cyclic", "the graph of workflow %q has a cycle: %s", workflow, shown).
		WithHint("leave one of its edges out: a graph shows what leads to what, so a loop is one node").
		WithDetail("cycle", cycle[:min(len(cycle), 5*maxShown)])
}
