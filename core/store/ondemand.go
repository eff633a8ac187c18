package store

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// OnDemand is a store that is opened by its first transaction. A command that stores
// nothing then needs no lock, and everything that uses the store can be built before it
// is open. It is safe for concurrent use.
type OnDemand struct {
	open func(context.Context) (Closable, error)

	store  atomic.Pointer[Closable] // nil until it is open
	opened chan struct{}

	mu     sync.Mutex // guards opening and closing
	closed bool
}

// Closable is a store that can be closed.
type Closable interface {
	core.Store
	Close() error
}

var (
	_ Closable                = (*OnDemand)(nil)
	_ core.ScrubberWithCopies = (*OnDemand)(nil)
	_ Compacter               = (*OnDemand)(nil)
)

// NewOnDemand returns a store that calls open when it is needed. If open fails, so does
// the transaction that needed it, and the next one tries again.
func NewOnDemand(open func(context.Context) (Closable, error)) *OnDemand {
	return &OnDemand{open: open, opened: make(chan struct{})}
}

// Open opens the store, unless it is open, and returns the result of its open function.
// Other callers wait meanwhile.
func (o *OnDemand) Open(ctx context.Context) (Closable, error) {
	if s := o.store.Load(); s != nil {
		return *s, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.store.Load(); s != nil {
		return *s, nil
	}
	if o.closed {
		return nil, ErrClosed()
	}
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	o.store.Store(&s)
	close(o.opened)
	return s, nil
}

// Reopen closes the store, which waits for its transactions, and opens it again: a store that can't
// write any more may be able to once its disk can. Transactions that begin meanwhile fail. If the store
// can't be opened, they fail until the next Reopen. If it was never opened, nothing is done.
func (o *OnDemand) Reopen(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.store.Load()
	if old == nil || o.closed {
		return nil
	}
	_ = (*old).Close() // which the call that met the fault has reported
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	o.store.Store(&s)
	return nil
}

// Shut calls fn, which requires that the store isn't open, and prevents it from being
// opened meanwhile: callers that need it wait. If it is already open, the error is
// sdk.Conflict, reason "store_in_use".
func (o *OnDemand) Shut(fn func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.store.Load() != nil {
		return sdk.Errorf(sdk.Conflict, "store_in_use", "the store is open").WithHint("do this before anything else needs the store")
	}
	return fn()
}

// Opened is closed once the store is open.
func (o *OnDemand) Opened() <-chan struct{} { return o.opened }

// Close closes the store, if it was opened, and prevents it from being opened again. It
// is idempotent.
func (o *OnDemand) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	s := o.store.Swap(nil)
	if s == nil {
		return nil
	}
	return (*s).Close()
}

// View implements [core.Store].
func (o *OnDemand) View(ctx context.Context, fn func(core.Reader) error) error {
	s, err := o.Open(ctx)
	if err != nil {
		return err
	}
	return s.View(ctx, fn)
}

// Update implements [core.Store]. A fence of [WithFence] in its context may refuse it.
func (o *OnDemand) Update(ctx context.Context, fn func(core.Tx) error) error {
	s, err := o.Open(ctx)
	if err != nil {
		return err
	}
	if fence := fenceOf(ctx); fence != nil {
		return (&fenced{s, fence}).Update(ctx, fn)
	}
	return s.Update(ctx, fn)
}

// MarkPurged implements [core.Scrubber]. If the store keeps no files, it does nothing.
func (o *OnDemand) MarkPurged(tx core.Tx, name string, keys [][]byte) error {
	if s, ok := o.now().(core.Scrubber); ok {
		return s.MarkPurged(tx, name, keys)
	}
	return nil
}

// Scrub implements [core.Scrubber].
func (o *OnDemand) Scrub(ctx context.Context) (held string, err error) {
	if s, ok := o.now().(core.Scrubber); ok {
		return s.Scrub(ctx)
	}
	return "", nil
}

// RetainedIn implements [core.ScrubberWithCopies]. A store of which nobody keeps copies has none.
func (o *OnDemand) RetainedIn() []string {
	if s, ok := o.now().(core.ScrubberWithCopies); ok {
		return s.RetainedIn()
	}
	return nil
}

// Compact implements [Compacter].
func (o *OnDemand) Compact(ctx context.Context, from, to []byte) error {
	if s, ok := o.now().(Compacter); ok {
		return s.Compact(ctx, from, to)
	}
	return nil
}

// now is the open store; nil before it is open.
func (o *OnDemand) now() core.Store {
	if s := o.store.Load(); s != nil {
		return *s
	}
	return nil
}
