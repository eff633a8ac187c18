package core

import "context"

// A call that was cut off by a crash has either written something or not, and only the
// store knows which. So who has to know puts a mark with the first that is written: in the
// same transaction, since any other moment is too early or too late. The parts that write
// know nothing of it. Their events are what all of their transactions have in common, so
// the journal sets the mark where it appends.

type markKey struct{}

// WithMark returns a context in which each transaction that appends events to the journal
// calls mark too, before it commits. It may run several times, also for one call.
func WithMark(ctx context.Context, mark func(Tx) error) context.Context {
	return context.WithValue(ctx, markKey{}, mark)
}

// Mark calls the mark of a context; it does nothing where there is none.
func Mark(ctx context.Context, tx Tx) error {
	mark, ok := ctx.Value(markKey{}).(func(Tx) error)
	if !ok {
		return nil
	}
	return mark(tx)
}
