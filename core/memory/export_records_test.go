package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/policypoint"
)

// Remove purges a memory in whatever state, by a decision that the test makes.
func (m *Memories) Remove(ctx context.Context, id string) error {
	decisionID := m.options.IDs.NewID()
	return m.records.Update(ctx, func(t *record.Tx) error {
		memory, err := record.Read(t, id)
		if err != nil {
			return err
		}
		v := &conclusion{request: &RevalidateRequest{}, memory: memory, after: &core.Memory{State: core.StatePurged}, decision: &verdict.GateDecision{
			ID: decisionID, MemoryID: id, Namespace: memory.Namespace, Verdict: policypoint.VerdictObsolete, NextAction: verdict.NextPurge,
		}}
		if err := v.record(t); err != nil {
			return err
		}
		return v.writePurge(t, &Options{})
	})
}

// Move brings a memory into a state, whether it may or not.
func (m *Memories) Move(ctx context.Context, id string, state core.MemoryState, event journal.MemoryTransitioned) error {
	return m.records.Update(ctx, func(t *record.Tx) error {
		before, err := record.Read(t, id)
		if err != nil {
			return err
		}
		after := *before
		after.State = state
		if state == core.StateConsolidated {
			after.MergedInto = "keeper"
		}
		return record.Transition(t, before, &after, event)
	})
}
