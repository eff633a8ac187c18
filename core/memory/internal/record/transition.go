package record

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Transition writes a memory that changed its state, with its event, whose memory, states
// and score it sets. The caller checks that the transition is allowed.
func Transition(t *Tx, before, after *core.Memory, event journal.MemoryTransitioned) error {
	if err := Put(t, before, after); err != nil {
		return err
	}
	event.MemoryID, event.Before, event.After = after.ID, before.State, after.State
	event.TTLScore = after.Signals.TTLScore
	return t.Record(after.Namespace, event, after.ID)
}

// Change is a memory before and after, with an event if its state changed.
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
