package journal_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// A head in the root whose stream is in another database is proven by the event that says so, and by
// nothing else.
func TestMoved_HeadsOfTheRoot(t *testing.T) {
	const stream = "run/a"
	for name, c := range map[string]struct {
		event func(journal.Head) []journal.Event
		keep  bool
		want  bool
	}{
		"it was moved":     {event: moved(0), want: true},
		"no event says so": {event: func(journal.Head) []journal.Event { return nil }},
		"an older head": {event: func(h journal.Head) []journal.Event {
			h.Seq--
			return moved(0)(h)
		}},
		"another hash": {event: func(h journal.Head) []journal.Event {
			h.Hash = core.Digest([]byte("x"))
			return moved(0)(h)
		}},
		"a newer head":      {event: moved(1), want: true},
		"the head is there": {event: moved(0), keep: true},
	} {
		b, _ := journalOf(t)
		b.record()
		err := b.Update(t.Context(), func(tx *journal.Tx) error {
			head, err := journal.ReadHead(tx, stream)
			if err != nil {
				return err
			}
			for seq := range head.Seq {
				if err := tx.Delete(journal.EntryKey(stream, seq+1)); err != nil {
					return err
				}
			}
			if !c.keep {
				if err := tx.Delete([]byte("event-head/" + stream)); err != nil {
					return err
				}
			}
			return tx.Append(journal.MovedStream, c.event(head)...)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = b.Store.View(t.Context(), func(r core.Reader) error {
			_, err := (&journal.Audit{}).Verify(t.Context(), r)
			return err
		})
		if (err == nil) != c.want || err != nil && !journal.IsBroken(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// moved is an event with a head that is so many entries later.
func moved(later uint64) func(journal.Head) []journal.Event {
	return func(h journal.Head) []journal.Event {
		h.Seq += later
		return []journal.Event{journal.TenantMoved{Tenant: "team", Database: "d", Epoch: 1, Streams: []journal.StreamHead{{Stream: "run/a", Head: h}}}}
	}
}
