package core

import "context"

// Later keeps what waits for the end of a transaction. A transaction may run several
// times: what one run of it put off is forgotten when the next begins, so that what
// is told of it is told once. The zero value is ready. It is for one goroutine.
type Later struct{ waiting []func() }

type laterKey struct{}

// Begin begins a run of the transaction, and returns the context in which [AfterTx]
// waits for its end.
func (l *Later) Begin(ctx context.Context) context.Context {
	l.waiting = nil
	return context.WithValue(ctx, laterKey{}, l)
}

// Do does what the last run put off, in order.
func (l *Later) Do() {
	waiting := l.waiting
	l.waiting = nil
	for _, do := range waiting {
		do()
	}
}

// AfterTx calls do once the transaction is over in which ctx was begun, whether it
// was committed or refused; at once for a context of no transaction.
func AfterTx(ctx context.Context, do func()) {
	if l, ok := ctx.Value(laterKey{}).(*Later); ok {
		l.waiting = append(l.waiting, do)
		return
	}
	do()
}
