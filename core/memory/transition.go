package memory

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// transition writes a memory that came into another state, with its event, whose
// memory, states and score it sets. Whether the transition is allowed is the
// caller's to know.
func transition(t *tx, before, after *core.Memory, event journal.MemoryTransitioned) error {
	if err := put(t, before, after); err != nil {
		return err
	}
	event.MemoryID, event.Before, event.After = after.ID, before.State, after.State
	event.TTLScore = after.Signals.TTLScore
	return t.record(after.Namespace, event, after.ID)
}
