package record

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Transition writes a memory that came into another state, with its event, whose
// memory, states and score it sets. Whether the transition is allowed is the
// caller's to know.
func Transition(t *Tx, before, after *core.Memory, event journal.MemoryTransitioned) error {
	if err := Put(t, before, after); err != nil {
		return err
	}
	event.MemoryID, event.Before, event.After = after.ID, before.State, after.State
	event.TTLScore = after.Signals.TTLScore
	return t.Record(after.Namespace, event, after.ID)
}

// Change is a memory as it was and as it is to be, with its event where it came
// into another state.
type Change struct {
	Before, After *core.Memory
	Event         *journal.MemoryTransitioned
}

// WriteAll writes changes, in their order.
func WriteAll(t *Tx, changes []*Change) error {
	for _, c := range changes {
		var err error
		if c.Event != nil {
			err = Transition(t, c.Before, c.After, *c.Event)
		} else {
			err = Put(t, c.Before, c.After)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
