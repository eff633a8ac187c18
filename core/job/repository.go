package job

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// Repository stores jobs. It is safe for concurrent use. A process has one for each store,
// since it knows which holders are in this process.
type Repository struct {
	journal *journal.Writer
	clock   core.Clock
	ids     core.IDs
	options Options

	mu sync.Mutex
	// held are the working holders of this process.
	held map[string]bool
	// listeners are the pools that are notified of changes.
	listeners listeners
	// known is what its claims saw.
	known known
	// turns determine which of the ready jobs is next.
	turns *turns
}

// New returns the repository on the writer's store. The writer's subscribers get the jobs'
// events.
func New(w *journal.Writer, ids core.IDs, o Options) (*Repository, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	clock := w.Clock
	if clock == nil {
		clock = core.SystemClock{}
	}
	r := &Repository{clock: clock, ids: ids, options: o.withDefaults(), held: map[string]bool{}, listeners: listeners{channels: map[chan struct{}]bool{}}, known: known{claimedIn: map[string]shard{}}, turns: newTurns(o.Exclusive)}
	r.journal = &journal.Writer{Store: w.Store, Clock: clock, Subscribers: append(w.Subscribers[:len(w.Subscribers):len(w.Subscribers)], r.Wake)}
	return r, nil
}

// Wake is a [journal.Subscriber]. If another part's writer has it as a subscriber, pools
// are notified at once of jobs that were queued in that part's transactions. Otherwise the
// pools find these jobs at the next poll.
func (r *Repository) Wake(stream string, _ journal.Entry) {
	if strings.HasPrefix(stream, streamPrefix) {
		r.listeners.wake()
	}
}

// listeners are channels that are notified of changes. They are safe for concurrent use.
type listeners struct {
	mu       sync.Mutex
	channels map[chan struct{}]bool
}

// wake makes the pools look for jobs.
func (l *listeners) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for listener := range l.channels {
		select {
		case listener <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// listen returns a channel that is notified of changes until stop is called.
func (l *listeners) listen() (changed <-chan struct{}, stop func()) {
	listener := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.channels[listener] = true
	return listener, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.channels, listener)
	}
}

// update runs fn in a transaction.
func (r *Repository) update(ctx context.Context, fn func(c *change, tx *journal.Tx) error) error {
	return r.journal.Update(ctx, func(tx *journal.Tx) error { return fn(r.change(ctx, tx, tx.Now()), tx) })
}

func (r *Repository) change(ctx context.Context, tx core.Tx, now time.Time) *change {
	return &change{Tx: tx, ctx: ctx, options: &r.options, now: now.UTC().Round(0), elsewhere: r.known.elsewhere, turns: r.turns}
}

// view runs fn on a snapshot.
func (r *Repository) view(ctx context.Context, fn func(core.Reader) error) error {
	return r.journal.Store.View(ctx, fn)
}

// lives reports whether a holder works in this process.
func (r *Repository) lives(holder string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[holder]
}

// register adds a holder of this process until stop is called. If the store is exclusive, a
// holder that isn't registered counts as gone.
func (r *Repository) register(holder string) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[holder] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.held, holder)
	}
}

// op adds to an error what was being done to a job; a nil error stays nil.
func op(what, id string, err error) error { return sdk.Wrap(what+" job "+core.Cut(id), err) }
