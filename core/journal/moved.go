package journal

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
)

// A tenant's streams can be moved to another database. The root of the first one still has their
// heads, and events in a stream of their own, which is never moved, say where those streams are.

// MovedStream is the stream of the events about streams that were moved to another database.
const MovedStream = "moved"

// AdoptHead writes the head of a stream whose entries were copied from another store, as it was
// there, and marks it for the root.
func AdoptHead(tx core.Tx, stream string, value []byte) error {
	head, err := decodeHead(stream, value)
	if err != nil {
		return err
	}
	return putHead(tx, stream, head)
}

// readMoved returns the newest head of each stream that was moved.
func readMoved(r core.Reader) (map[string]Head, error) {
	moved := map[string]Head{}
	err := Read(r, MovedStream, func(e Entry) error {
		event, is := As[TenantMoved](&e)
		if !is {
			return broken(MovedStream, e.Seq, "the entry doesn't say which streams were moved")
		}
		for _, s := range event.Streams {
			if s.Seq >= moved[s.Stream].Seq {
				moved[s.Stream] = s.Head
			}
		}
		return nil
	})
	return moved, err
}

// movedAway checks a head of a stream that isn't here. done is false if it wasn't moved either.
func (h *StreamHead) movedAway(r core.Reader, moved map[string]Head, entry uint64) (done bool, err error) {
	last := moved[h.Stream]
	if h.Seq > last.Seq {
		return false, nil
	}
	if _, found, err := r.Get(headKey(h.Stream)); err != nil || found {
		return false, err
	}
	if h.Seq == last.Seq && h.Hash != last.Hash {
		return true, broken(MovedStream, 0, fmt.Sprintf("the head of %s isn't the one that the root recorded in its entry %d", core.Cut(h.Stream), entry))
	}
	return true, nil
}
