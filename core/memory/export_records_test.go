package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Remove purges a memory in whatever state, by a decision that the test makes.
func (m *Memories) Remove(ctx context.Context, id string) error {
	decisionID := m.options.IDs.NewID()
	return m.update(ctx, func(t *tx) error {
		memory, err := read(t, id)
		if err != nil {
			return err
		}
		v := &verdict{request: &RevalidateRequest{}, memory: memory, after: &core.Memory{State: core.StatePurged}, decision: &core.GateDecision{
			ID: decisionID, MemoryID: id, Namespace: memory.Namespace, Verdict: core.VerdictObsolete, NextAction: core.NextPurge,
		}}
		if err := v.record(t); err != nil {
			return err
		}
		return v.bury(t, &Options{})
	})
}

// Move brings a memory into a state, whether it may or not.
func (m *Memories) Move(ctx context.Context, id string, state core.MemoryState, event journal.MemoryTransitioned) error {
	return m.update(ctx, func(t *tx) error {
		before, err := read(t, id)
		if err != nil {
			return err
		}
		after := *before
		after.State = state
		if state == core.StateConsolidated {
			after.MergedInto = "keeper"
		}
		return transition(t, before, &after, event)
	})
}
