package loop

import "sync/atomic"

// Breaker is a circuit breaker that admits a fixed number of tries and then stays open.
// It is safe for concurrent use: all callers together are admitted exactly that many
// times.
type Breaker struct {
	left atomic.Int64
}

// NewBreaker makes a breaker that admits n tries.
func NewBreaker(n int) *Breaker {
	b := &Breaker{}
	b.left.Store(int64(n))
	return b
}

// Admit takes one of the remaining tries, and reports whether there was one.
func (b *Breaker) Admit() bool {
	for {
		left := b.left.Load()
		if left <= 0 {
			return false
		}
		if b.left.CompareAndSwap(left, left-1) {
			return true
		}
	}
}
