package core

import "context"

// TxHooks are calls to be made at the end of a transaction, whether it is committed or
// refused. A transaction may run several times: the calls of one run are dropped when the
// next run begins, so that each call is made once. The zero value is ready to use. It is
// for one goroutine.
type TxHooks struct {
	waiting []func()
	reader  Reader
}

type txHooksKey struct{}

// Begin begins a run of the transaction. In the context that it returns, [AfterTx] makes
// its calls after the transaction's end, and [TxReader] returns r.
func (h *TxHooks) Begin(ctx context.Context, r Reader) context.Context {
	h.waiting, h.reader = nil, r
	return context.WithValue(ctx, txHooksKey{}, h)
}

// Run makes the calls of the last run, in order.
func (h *TxHooks) Run() {
	waiting := h.waiting
	h.waiting = nil
	for _, do := range waiting {
		do()
	}
}

// AfterTx calls do when the transaction of ctx is over, whether it was committed or
// refused; at once if ctx has no transaction.
func AfterTx(ctx context.Context, do func()) {
	if h, ok := ctx.Value(txHooksKey{}).(*TxHooks); ok {
		h.waiting = append(h.waiting, do)
		return
	}
	do()
}

// TxReader returns the reader of ctx's transaction; nil if ctx has none. It is for parts
// that are called in a transaction but don't get its reader as an argument, such as
// policies.
func TxReader(ctx context.Context) Reader {
	if h, ok := ctx.Value(txHooksKey{}).(*TxHooks); ok {
		return h.reader
	}
	return nil
}
