package gate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// Memories finds a memory's namespace, and whether a turn used it.
type Memories interface {
	// Namespace is the namespace of a memory; sdk.NotFound if there is no such memory.
	Namespace(r core.Reader, memoryID string) (string, error)
	// UsedIn reports whether a turn used a memory according to the turn's feedback.
	UsedIn(r core.Reader, memoryID string, turn core.TurnRef) (bool, error)
}

// Recorder records evidence in its own transactions.
type Recorder struct {
	Writer   *journal.Writer
	Memories Memories
}

// ToolsRecorded is the result of recording outcomes of tools.
type ToolsRecorded struct {
	Recorded int `json:"recorded"`
	// Duplicates is how many were recorded before.
	Duplicates int `json:"duplicates"`
}

// RecordTools records up to 10,000 outcomes, 1,000 in a transaction, see
// [Evidence.RecordTools]. It checks all of them first; their memories must exist. If it
// fails midway, its result counts what was recorded, and repeating the call records the
// rest.
func (r *Recorder) RecordTools(ctx context.Context, outcomes []core.ToolOutcome) (ToolsRecorded, error) {
	var done ToolsRecorded
	if err := CheckTools(outcomes); err != nil {
		return done, err
	}
	for len(outcomes) > 0 {
		n := min(batch, len(outcomes))
		recorded, err := r.commit(ctx, outcomes[:n])
		if err != nil {
			return done, err
		}
		done.Recorded += recorded
		done.Duplicates += n - recorded
		outcomes = outcomes[n:]
	}
	return done, nil
}

// commit records outcomes in one transaction, grouped by the namespaces of their
// memories.
func (r *Recorder) commit(ctx context.Context, outcomes []core.ToolOutcome) (recorded int, err error) {
	err = r.Writer.Update(ctx, func(tx *journal.Tx) error {
		recorded = 0
		homes := map[string]string{} // of the memories
		byHome := map[string][]core.ToolOutcome{}
		for _, o := range outcomes {
			home, known := homes[o.MemoryID]
			if !known {
				var err error
				if home, err = r.Memories.Namespace(tx, o.MemoryID); err != nil {
					return err
				}
				homes[o.MemoryID] = home
			}
			byHome[home] = append(byHome[home], o)
		}
		for _, home := range slices.Sorted(maps.Keys(byHome)) {
			n, err := Evidence{}.RecordTools(tx, home, byHome[home])
			if err != nil {
				return err
			}
			recorded += n
		}
		return r.noteUses(tx, homes, outcomes)
	})
	return recorded, err
}

// noteUses marks the outcomes whose turns used the memory, by the namespaces of the
// memories.
func (r *Recorder) noteUses(tx *journal.Tx, homes map[string]string, outcomes []core.ToolOutcome) error {
	type use struct {
		memory string
		turn   core.TurnRef
	}
	seen := map[use]bool{}
	for _, o := range outcomes {
		u := use{o.MemoryID, core.TurnRef{Session: o.Session, Turn: o.Turn}}
		if seen[u] {
			continue
		}
		seen[u] = true
		used, err := r.Memories.UsedIn(tx, u.memory, u.turn)
		if err != nil {
			return err
		}
		if used {
			if err := (Evidence{}).Used(tx, homes[u.memory], u.memory, u.turn, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// RecordOmega stores what is known about a memory, replacing what was known before, see
// [Evidence.RecordOmega]. The memory must exist.
func (r *Recorder) RecordOmega(ctx context.Context, known *OmegaEvidence) (*OmegaRecorded, error) {
	if err := CheckOmega(known); err != nil {
		return nil, err
	}
	var done *OmegaRecorded
	err := r.Writer.Update(ctx, func(tx *journal.Tx) error {
		home, err := r.Memories.Namespace(tx, known.MemoryID)
		if err == nil {
			done, err = Evidence{}.RecordOmega(tx, home, known)
		}
		return err
	})
	return done, err
}

// RecordDAG records the graph of a workflow, see [Evidence.RecordDAG], and reports which
// of its memories don't exist.
func (r *Recorder) RecordDAG(ctx context.Context, dag *core.WorkflowDAG) (*DAGRecorded, error) {
	var done *DAGRecorded
	err := r.Writer.Update(ctx, func(tx *journal.Tx) (err error) {
		if done, err = (Evidence{}).RecordDAG(tx, dag); err == nil {
			done.Unknown, err = r.unknown(tx, dag)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// RunWorkflow is the name under which runs of a namespace record the graph of a workflow. No
// other namespace has the same, because a namespace holds no space.
func RunWorkflow(namespace, workflow string) string {
	name := cmp.Or(namespace, core.DefaultNamespace) + " " + workflow
	if len(name) > maxNameBytes {
		name = core.Digest([]byte(name))
	}
	return name
}

// AddDAG records the graph of a workflow. Memories that its previous graph named keep
// their nodes if those still exist. If there are more of them than a graph may hold, the
// previous ones are left out.
func (r *Recorder) AddDAG(ctx context.Context, dag *core.WorkflowDAG) error {
	return r.Writer.Update(ctx, func(tx *journal.Tx) error {
		before, err := readDAG(tx, dag.Workflow)
		if err != nil && !table.Corrupt(err) {
			return err
		}
		_, err = Evidence{}.RecordDAG(tx, before.Graph.addTo(dag))
		return err
	})
}

// addTo returns a copy of the workflow's new graph with this graph's memories added.
func (g *graph) addTo(dag *core.WorkflowDAG) *core.WorkflowDAG {
	known := map[string]bool{}
	for _, node := range nodesOf(dag) {
		known[node] = true
	}
	out, places := *dag, 0
	out.Memories = maps.Clone(dag.Memories)
	for memory, nodes := range g.Memories {
		for _, n := range nodes {
			if node := g.Nodes[n]; known[node] && !slices.Contains(out.Memories[memory], node) {
				out.Memories[memory] = append(slices.Clone(out.Memories[memory]), node)
			}
		}
	}
	for _, nodes := range out.Memories {
		places += len(nodes)
	}
	if len(out.Memories) > MaxGraphMemories || places > MaxGraphPlaces {
		return dag
	}
	return &out
}

// unknown lists the memories of a graph that don't exist and weren't purged.
func (r *Recorder) unknown(reader core.Reader, dag *core.WorkflowDAG) ([]string, error) {
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(dag.Memories)) {
		switch _, err := r.Memories.Namespace(reader, id); {
		case sdk.ReasonOf(err) == "memory_not_found":
			if unknown = append(unknown, id); len(unknown) == maxUnreachable {
				return unknown, nil
			}
		case err != nil && sdk.CodeOf(err) != sdk.NotFound:
			return nil, err
		}
	}
	return unknown, nil
}
