package journal

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Subscriber receives each entry that its own [Writer] committed, in the goroutine that
// committed it and before Update returns, so that a terminal shows what a command did
// before the command ends. It must return soon, and mustn't write to the store. It
// doesn't receive entries of other writers, in this process or another: to receive all
// entries, follow a stream, see [Feed].
type Subscriber func(stream string, e Entry)

// Writer changes a store and records in the same transaction what it did. After the
// commit it notifies its subscribers. A nil Clock means the system clock.
type Writer struct {
	Store       core.Store
	Clock       core.Clock
	Subscribers []Subscriber
}

// Tx is a transaction that can append events. Like the store transaction that it wraps,
// it is valid only inside its Update.
type Tx struct {
	core.Tx
	now      time.Time
	caller   core.Caller
	appended []appended
	// heads are the heads of the streams that were appended to. They are written at the
	// end.
	heads []StreamHead
}

type appended struct {
	stream string
	entry  Entry
}

// Update runs fn in a transaction, as core.Store's Update does, and after the commit
// passes the subscribers what fn appended, in order. The entries get the subject of the
// context's [core.Caller], which must be valid. If something was appended, the context's
// mark is set with it: see [core.WithMark].
func (w *Writer) Update(ctx context.Context, fn func(*Tx) error) error {
	caller := core.CallerOf(ctx)
	if err := caller.Validate(); err != nil {
		return err
	}
	clock := w.Clock
	if clock == nil {
		clock = core.SystemClock{}
	}
	var tx *Tx
	err := w.Store.Update(ctx, func(inner core.Tx) error {
		tx = &Tx{Tx: inner, now: clock.Now(), caller: caller}
		if err := fn(tx); err != nil {
			return err
		}
		if len(tx.heads) == 0 {
			return nil
		}
		if err := tx.putHeads(); err != nil {
			return err
		}
		return core.Mark(ctx, inner)
	})
	if err != nil {
		return err
	}
	for _, t := range tx.appended {
		for _, notify := range w.Subscribers {
			notify(t.stream, t.entry)
		}
	}
	return nil
}

// Now is the transaction's time: everything that it writes has the same time.
func (tx *Tx) Now() time.Time { return tx.now }

// Caller is who asked for the transaction. Its label is the agent_id of events that have
// one.
func (tx *Tx) Caller() core.Caller { return tx.caller }

// Append adds events to the end of a stream. The stream's new head is written when the
// transaction ends: until then only [Tx.Head] knows it, not [ReadHead].
func (tx *Tx) Append(stream string, events ...Event) error {
	return tx.AppendFor(tx.caller.Subject, stream, events...)
}

// AppendFor is Append for events with another subject than the transaction's caller, such
// as the events of a batch that was gathered from many callers.
func (tx *Tx) AppendFor(subject, stream string, events ...Event) error {
	if err := (core.Caller{Subject: subject}).Validate(); err != nil {
		return err
	}
	last, err := tx.Head(stream)
	if err != nil || len(events) == 0 {
		return err
	}
	for _, event := range events {
		e := next(stream, last, tx.now, subject, event)
		if err := put(tx, stream, e); err != nil {
			return err
		}
		last = e.head()
		tx.appended = append(tx.appended, appended{stream, e})
	}
	if at := tx.at(stream); at >= 0 {
		tx.heads[at].Head = last
	} else {
		tx.heads = append(tx.heads, StreamHead{stream, last})
	}
	return nil
}

// Head returns the head of a stream, including what the transaction appended.
func (tx *Tx) Head(stream string) (Head, error) {
	if at := tx.at(stream); at >= 0 {
		return tx.heads[at].Head, nil
	}
	return ReadHead(tx, stream)
}

// at is the index of a stream in heads; -1 if it isn't there. Heads are few.
func (tx *Tx) at(stream string) int {
	return slices.IndexFunc(tx.heads, func(h StreamHead) bool { return h.Stream == stream })
}

func (tx *Tx) putHeads() error {
	for _, h := range tx.heads {
		if err := putHead(tx, h.Stream, h.Head); err != nil {
			return err
		}
	}
	return nil
}

// NamespaceStream is the stream of a namespace's memories.
func NamespaceStream(namespace string) string { return "namespace/" + namespace }
