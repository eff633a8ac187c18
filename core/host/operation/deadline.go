package operation

import (
	"context"
	"sync"
	"time"
)

// limited is a context with a deadline whose timer is made once something waits for it: most operations
// end without ever waiting, and only ask now and then whether there is time left. It is safe for
// concurrent use.
type limited struct {
	context.Context // the parent
	at              time.Time

	mu sync.Mutex
	// timed has the timer; nil before something waits.
	timed  context.Context
	cancel context.CancelFunc
	ended  bool
}

var _ context.Context = (*limited)(nil)

// withLimit is [context.WithTimeout]; end must be called.
func withLimit(ctx context.Context, limit time.Duration) *limited {
	at := time.Now().Add(limit)
	if sooner, is := ctx.Deadline(); is && sooner.Before(at) {
		at = sooner
	}
	return &limited{Context: ctx, at: at}
}

// end ends the context.
func (l *limited) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended = true; l.timed != nil {
		l.cancel()
	}
}

// Deadline implements [context.Context].
func (l *limited) Deadline() (time.Time, bool) { return l.at, true }

// Done implements [context.Context].
func (l *limited) Done() <-chan struct{} { return l.waited().Done() }

// waited is the context with its timer.
func (l *limited) waited() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.timed != nil:
	case l.ended:
		l.timed, l.cancel = context.WithCancel(l.Context)
		l.cancel()
	default:
		l.timed, l.cancel = context.WithDeadline(l.Context, l.at)
	}
	return l.timed
}

// Value implements [context.Context]. Once there is a timer, package context finds its context by a value, and
// ends what is made from this one without a goroutine.
func (l *limited) Value(key any) any {
	l.mu.Lock()
	from := l.timed
	l.mu.Unlock()
	if from == nil {
		from = l.Context
	}
	return from.Value(key)
}

// Err implements [context.Context].
func (l *limited) Err() error {
	l.mu.Lock()
	fresh := l.timed == nil && !l.ended && l.Context.Err() == nil && time.Now().Before(l.at)
	l.mu.Unlock()
	if fresh {
		return nil
	}
	return l.waited().Err() // as the timer says, so that Err and Done agree
}
