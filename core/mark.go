package core

import "context"

// A call that was interrupted by a crash has either written something or not, and only
// the store knows which. Code that has to know this adds a mark to the call's first
// write, in the same transaction: any other moment is too early or too late. The parts
// that write know nothing about the mark. All of their transactions write events, so the
// journal sets the mark where it appends an event.

type markKey struct{}

// WithMark returns a context in which each transaction that appends events to the journal
// also calls mark, before it commits. mark may be called several times, even for one
// call.
func WithMark(ctx context.Context, mark func(Tx) error) context.Context {
	return context.WithValue(ctx, markKey{}, mark)
}

// Mark calls the mark of a context, if it has one.
func Mark(ctx context.Context, tx Tx) error {
	mark, ok := ctx.Value(markKey{}).(func(Tx) error)
	if !ok {
		return nil
	}
	return mark(tx)
}
