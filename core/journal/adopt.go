package journal

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// adoptedBytes is roughly how much of a stream one transaction of [Adopt] writes.
const adoptedBytes = 4 << 20

// Adopt copies a stream, entry by entry, from another store to a store that doesn't have
// it, and then appends events. It takes several transactions, so it is for a store that
// is discarded if this fails.
func Adopt(ctx context.Context, w *Writer, from core.Reader, stream string, events ...Event) error {
	head, err := ReadHead(from, stream)
	if err != nil {
		return err
	}
	for next := uint64(1); next <= head.Seq; {
		first := next
		err := w.Update(ctx, func(tx *Tx) error {
			size := 0
			next = first
			return ReadFrom(from, stream, first, func(e Entry) (bool, error) {
				next, size = e.Seq+1, size+len(e.Data)
				return size < adoptedBytes, put(tx, stream, e)
			})
		})
		if err != nil {
			return err
		}
		if next == first {
			return broken(stream, first, "the entry is gone")
		}
	}
	return w.Update(ctx, func(tx *Tx) error {
		if err := putHead(tx, stream, head); err != nil || len(events) == 0 {
			return err
		}
		if err := tx.Delete(newKey(stream, head.Seq)); err != nil { // the next one's mark is enough
			return err
		}
		return tx.Append(stream, events...)
	})
}
