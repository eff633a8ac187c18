package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Remove removes a memory as a purge does, but for its event.
func (m *Memories) Remove(ctx context.Context, id string) error {
	return m.update(ctx, func(t *tx) error {
		memory, err := read(t, id)
		if err != nil {
			return err
		}
		return remove(t, memory)
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
