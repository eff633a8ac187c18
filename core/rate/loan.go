package rate

import (
	"bytes"
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// loan is the allowance of a name on a host that shares it with others. If a transaction fails,
// or its outcome is unknown, the host uses nothing of what it lent.
type loan struct {
	options *Options
	terms   terms
	id      string // of the record
	// turn is the lock of the fields below: it is full while they are read or changed.
	turn chan struct{}
	// left is how much this host may still use before the time until, or [none].
	left  int64
	until time.Time
	// ask is how much it will ask for next.
	ask int64
	// window is the newest window that it has seen, 0 for none, and since is when it first saw it.
	window uint64
	since  time.Time
	// over is whether the loan was given up: another loan takes its place.
	over bool
}

func newLoan(o *Options, name string) *loan {
	t := termsOf(o)
	return &loan{options: o, terms: t, id: o.What + "/" + name, turn: make(chan struct{}, 1), ask: t.least()}
}

// least and most are the bounds of what a host asks for: little if it rarely uses the name, so
// that other hosts lack little, and up to half of a burst near the limit.
func (t *terms) least() int64 { return max(1, int64(t.burst/16)) }
func (t *terms) most() int64  { return max(1, int64(t.burst/2)) }

// take implements [allowance].
func (l *loan) take(ctx context.Context) (wait time.Duration, ended bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, tooSlow(l.options.What))
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, false, context.Cause(ctx)
	}
	for !l.over && !l.use() {
		if l.left < 0 { // the window had nothing left
			if wait = l.since.Add(l.terms.window).Sub(l.options.Clock.Now()); wait > 0 {
				return wait, false, nil
			}
		}
		if err := l.borrow(ctx); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return 0, false, sdk.Wrap("count "+l.options.What, err)
		}
	}
	return 0, l.over, nil
}

// patience is how long a request waits for the store to count it. It is less than a store that is
// away is waited for, since those that wait do so one after the other.
const patience = 5 * time.Second

func tooSlow(what string) error {
	return sdk.Errorf(sdk.Unavailable, "rate_uncounted", "the store didn't count the %s within %s", what, patience).WithHint("try again later")
}

// use uses one of what was borrowed, if there is one.
func (l *loan) use() bool {
	if l.left <= 0 || !l.options.Clock.Now().Before(l.until) {
		return false
	}
	l.left--
	return true
}

// none is the value of left if the window had nothing to lend.
const none = -1

// borrow gives up what is left, and borrows a part.
func (l *loan) borrow(ctx context.Context) error {
	switch {
	case l.left > 0: // it wasn't used in time
		l.ask = max(l.ask/2, l.terms.least())
	case l.left == 0 && l.window > 0:
		l.ask = min(2*l.ask, l.terms.most())
	}
	l.left = 0
	began := l.options.Clock.Now() // before the transaction: the part ends no later than the others expect
	passed := began.Sub(l.since)   // since it first saw the newest window
	var lent int64
	var window uint64
	err := l.options.Store.Update(ctx, func(tx core.Tx) error {
		rec, before, err := read(tx, l.id, &l.terms)
		if err != nil {
			return err
		}
		delete(rec.Parts, l.options.Host)
		if rec.Window == l.window && passed >= l.terms.window {
			rec.begin(&l.terms, passed)
		}
		lent, window = rec.lend(l.options.Host, l.ask), rec.Window
		if bytes.Equal(before, jsontext.MustEncode(rec)) {
			return nil
		}
		return rates.Add(tx, l.id, rec)
	})
	if err != nil {
		return err
	}
	if l.left, l.until = lent, began.Add(hold); lent == 0 {
		l.left = none
	}
	if window != l.window {
		l.window, l.since = window, l.options.Clock.Now() // after the transaction: it began no later
	}
	return nil
}

// end implements [allowance].
func (l *loan) end(unused bool) bool {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	default:
		return false
	}
	now := l.options.Clock.Now()
	if unused && (now.Before(l.until) || now.Before(l.since.Add(l.terms.window))) {
		return false
	}
	l.over = true
	return true
}
