package gate_test

import (
	"context"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// homes are the namespaces of the memories that are there.
type homes map[string]string

func (h homes) Namespace(_ core.Reader, id string) (string, error) {
	if namespace, ok := h[id]; ok {
		return namespace, nil
	}
	return "", sdk.Errorf(sdk.NotFound, "memory_not_found", "there is no memory %s", id)
}

// UsedIn says that each turn but the ninth used its memories.
func (homes) UsedIn(_ core.Reader, _ string, turn core.TurnRef) (bool, error) {
	return turn.Turn != 9, nil
}

// desk is a store with a recorder of evidence.
type desk struct {
	*testing.T
	store core.Store
	gate.Recorder
}

// newDesk has the memories m and n in "team/a", and x in "team/b".
func newDesk(t *testing.T, s core.Store) *desk {
	t.Helper()
	w := &journal.Writer{Store: s, Clock: &coretest.Clock{}}
	return &desk{t, s, gate.Recorder{Writer: w, Memories: homes{"m": "team/a", "n": "team/a", "x": "team/b"}}}
}

func newMem(t *testing.T) *desk { return newDesk(t, mem.Open()) }

func newPebble(t *testing.T) *desk {
	t.Helper()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return newDesk(t, s)
}

// onEngines runs a test on an empty store of each engine.
func onEngines(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Run("mem", func(t *testing.T) { test(t, newMem(t)) })
	t.Run("pebble", func(t *testing.T) { test(t, newPebble(t)) })
}

func (d *desk) tools(outcomes ...core.ToolOutcome) gate.ToolsRecorded {
	d.Helper()
	done, err := d.RecordTools(d.Context(), outcomes)
	if err != nil {
		d.Fatal(err)
	}
	return done
}

func (d *desk) dag(dag *core.WorkflowDAG) *gate.DAGRecorded {
	d.Helper()
	done, err := d.RecordDAG(d.Context(), dag)
	if err != nil {
		d.Fatal(err)
	}
	return done
}

// view reads the store.
func (d *desk) view(fn func(core.Reader) error) {
	d.Helper()
	if err := d.store.View(d.Context(), fn); err != nil {
		d.Fatal(err)
	}
}

// entries are the entries of a stream, whose chain must hold.
func (d *desk) entries(stream string) (list []journal.Entry) {
	d.Helper()
	d.view(func(r core.Reader) error {
		if _, err := (&journal.Audit{}).Verify(d.Context(), r); err != nil {
			return err
		}
		return journal.Read(r, stream, func(e journal.Entry) error {
			list = append(list, e)
			return nil
		})
	})
	return list
}

// has reports whether a key is there.
func (d *desk) has(key []byte) (found bool) {
	d.Helper()
	d.view(func(r core.Reader) (err error) {
		_, found, err = r.Get(key)
		return err
	})
	return found
}

// says is a policy that always says the same.
type says policypoint.GateOutcome

func (s says) Gate(context.Context, core.Reader, *policypoint.GateInput) policypoint.GateOutcome {
	return policypoint.GateOutcome(s)
}

func (s says) GateWorkings(ctx context.Context, r core.Reader, in *policypoint.GateInput, made policypoint.Decision) policypoint.GateWorkings {
	return defaults().GateWorkings(ctx, r, in, made)
}

// decide lets a policy decide on a case.
func (d *desk) decide(policy gate.Policy, c *verdict.GateCase) *verdict.GateDecision {
	d.Helper()
	var made *verdict.GateDecision
	d.view(func(r core.Reader) (err error) {
		made, err = gate.New(policy).Decide(d.Context(), r, c)
		return err
	})
	return made
}

// memory is m with signals, and the utility of a new one where they have none.
func memory(s core.Signals) *core.Memory {
	if s.Utility == 0 {
		s.Utility = .5
	}
	return &core.Memory{ID: "m", Namespace: "team/a", State: core.StateRevalidatePending, Signals: s}
}

// turns are the turns from..to of a session.
func turns(session string, from, to int64) (list []core.TurnRef) {
	for turn := from; turn <= to; turn++ {
		list = append(list, core.TurnRef{Session: session, Turn: turn})
	}
	return list
}

// tool is an outcome of memory m in session s.
func tool(turn int64, ok, recovered bool, ref string) core.ToolOutcome {
	return core.ToolOutcome{MemoryID: "m", Session: "s", Turn: turn, Tool: "grep", OK: ok, Recovered: recovered, Ref: ref}
}

// line is a → b → c with memories at nodes.
func line(workflow string, memories map[string][]string) *core.WorkflowDAG {
	return &core.WorkflowDAG{
		Workflow: workflow, Entry: []string{"a"}, Exits: []string{"c"},
		Edges: [][2]string{{"a", "b"}, {"b", "c"}}, Memories: memories,
	}
}
