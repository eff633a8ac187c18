package plugin

import (
	"math"
	"time"
)

// The limits and waits for a plugin that exits without being asked to.
const (
	backoffFirst  = 250 * time.Millisecond
	backoffLimit  = 30 * time.Second
	backoffSpread = 0.2              // a wait is up to this part shorter or longer
	stableAfter   = 60 * time.Second // a life this long starts the backoff again
	exitsToOpen   = 3
	exitsWindow   = 10 * time.Minute
	openFor       = 60 * time.Second
)

// BreakerState is whether a plugin may be started.
type BreakerState string

// The states of a breaker.
const (
	// BreakerClosed lets the plugin start, after the backoff.
	BreakerClosed BreakerState = "closed"
	// BreakerOpen refuses each start.
	BreakerOpen BreakerState = "open"
	// BreakerHalfOpen lets one instance start. The first call that it answers
	// closes the breaker, and an unrequested exit opens it again.
	BreakerHalfOpen BreakerState = "half_open"
)

// breaker decides when a plugin may be started, from its unrequested exits. It is
// not safe for concurrent use: its pool's lock guards it.
type breaker struct {
	exits   []time.Time // unrequested, within exitsWindow, oldest first
	streak  int         // unrequested exits in a row, none after a stable life
	retryAt time.Time   // when the backoff is over
	reopens time.Time   // when the breaker half-opens; zero while it is closed
	trial   bool        // whether an instance is on trial, while it is half-open
	cause   error       // of the last unrequested exit
}

func (b *breaker) state(now time.Time) BreakerState {
	switch {
	case b.reopens.IsZero():
		return BreakerClosed
	case now.Before(b.reopens):
		return BreakerOpen
	}
	return BreakerHalfOpen
}

// admit reports whether the plugin may be started, and after which delay.
func (b *breaker) admit(now time.Time) (delay time.Duration, ok bool) {
	switch b.state(now) {
	case BreakerClosed:
		return max(0, b.retryAt.Sub(now)), true
	case BreakerHalfOpen:
		if !b.trial {
			b.trial = true
			return 0, true
		}
	}
	return 0, false
}

// exited records an unrequested exit, or a start that failed, of an instance that
// lived for the given time. The random number spreads the backoff.
func (b *breaker) exited(now time.Time, lived time.Duration, cause error, random float64) {
	if lived >= stableAfter {
		b.streak = 0
	}
	b.streak++
	b.cause = cause
	b.retryAt = now.Add(backoff(b.streak, random))
	b.exits = append(b.exits, now)
	for now.Sub(b.exits[0]) >= exitsWindow {
		b.exits = b.exits[1:]
	}
	if b.state(now) == BreakerHalfOpen || len(b.exits) >= exitsToOpen {
		b.exits, b.trial, b.reopens = nil, false, now.Add(openFor)
	}
}

// stopped records that the host ended an instance. If that instance was on trial,
// another one takes its place.
func (b *breaker) stopped(now, started time.Time) {
	if b.onTrial(now, started) {
		b.trial = false
	}
}

// answered records that an instance answered a call.
func (b *breaker) answered(now, started time.Time) {
	if b.onTrial(now, started) {
		*b = breaker{cause: b.cause}
	}
}

func (b *breaker) onTrial(now, started time.Time) bool {
	return b.state(now) == BreakerHalfOpen && !started.Before(b.reopens)
}

// backoff is the wait after the n-th unrequested exit in a row, for a random number
// in [0,1).
func backoff(n int, random float64) time.Duration {
	wait := min(float64(backoffLimit), float64(backoffFirst)*math.Pow(2, float64(n-1)))
	return time.Duration(wait * (1 + backoffSpread*(2*random-1)))
}
