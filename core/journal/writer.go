package journal

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Subscriber is told of an entry that was committed, in the goroutine that
// committed it. It must return soon, and mustn't write to the store.
type Subscriber func(stream string, e Entry)

// Writer changes a store and tells what it did, in one transaction, and then its
// subscribers. The zero value of Clock is the system's.
type Writer struct {
	Store       core.Store
	Clock       core.Clock
	Subscribers []Subscriber
}

// Tx is a transaction that can append events. Like the one in it, it is valid
// only inside its Update.
type Tx struct {
	core.Tx
	now  time.Time
	told []told
}

type told struct {
	stream string
	entry  Entry
}

// Update runs fn in a transaction, as core.Store's Update does, and after the
// commit tells the subscribers what fn appended, in order.
func (w *Writer) Update(ctx context.Context, fn func(*Tx) error) error {
	clock := w.Clock
	if clock == nil {
		clock = core.SystemClock{}
	}
	var tx *Tx
	err := w.Store.Update(ctx, func(inner core.Tx) error {
		tx = &Tx{Tx: inner, now: clock.Now()}
		return fn(tx)
	})
	if err != nil {
		return err
	}
	for _, t := range tx.told {
		for _, tell := range w.Subscribers {
			tell(t.stream, t.entry)
		}
	}
	return nil
}

// Now is the transaction's time: all that it writes bears the same.
func (tx *Tx) Now() time.Time { return tx.now }

// Append adds events to the end of a stream.
func (tx *Tx) Append(stream string, events ...Event) error {
	last, err := ReadHead(tx, stream)
	if err != nil {
		return err
	}
	for _, event := range events {
		e := next(stream, last, tx.now, event)
		if last, err = put(tx, stream, e); err != nil {
			return err
		}
		tx.told = append(tx.told, told{stream, e})
	}
	return mark(tx, stream, last)
}

// NamespaceStream is the stream of a namespace's memories.
func NamespaceStream(namespace string) string { return "namespace/" + namespace }
