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

// change is a memory as it was and as it is to be, with its event where it came
// into another state.
type change struct {
	before, after *core.Memory
	event         *journal.MemoryTransitioned
}

// writeAll writes changes, in their order.
func writeAll(t *tx, changes []*change) error {
	for _, c := range changes {
		var err error
		if c.event != nil {
			err = transition(t, c.before, c.after, *c.event)
		} else {
			err = put(t, c.before, c.after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
