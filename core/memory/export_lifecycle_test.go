package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
)

// RecordTurn records what a recall returned.
func (m *Memories) RecordTurn(ctx context.Context, session string, number int64, results []core.Recalled) error {
	by := &turn.Recall{TurnRef: core.TurnRef{Session: session, Turn: number}, Namespace: "ns"}
	return m.records.Update(ctx, func(t *record.Tx) error {
		_, _, err := m.turns.Record(t, by, results)
		return err
	})
}

// MoveByDream moves a memory as a step of a dream pass does.
func (m *Memories) MoveByDream(ctx context.Context, id string, to core.MemoryState, into string) error {
	return m.records.Update(ctx, func(t *record.Tx) error {
		before, err := record.Read(t, id)
		if err != nil {
			return err
		}
		if err := lifecycle.Check(before.State, to, lifecycle.ByDream); err != nil {
			return err
		}
		after := *before
		after.State, after.MergedInto = to, into
		return record.Transition(t, before, &after, journal.MemoryTransitioned{Cause: string(lifecycle.ByDream)})
	})
}

// Put writes memories as they are given.
func (m *Memories) Put(ctx context.Context, memories ...*core.Memory) error {
	return m.records.Update(ctx, func(t *record.Tx) error {
		for _, after := range memories {
			before, err := record.Read(t, after.ID)
			if err != nil {
				return err
			}
			if err := record.Put(t, before, after); err != nil {
				return err
			}
		}
		return nil
	})
}
