package rate

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/reflectory/reflectory/core"
)

// bucket is the allowance of a name on a host that counts by itself.
type bucket struct {
	clock core.Clock
	*rate.Limiter
}

func newBucket(o *Options) *bucket {
	return &bucket{o.Clock, rate.NewLimiter(rate.Limit(o.PerSecond), int(o.Burst))}
}

// take implements [allowance].
func (b *bucket) take(context.Context) (wait time.Duration, ended bool, err error) {
	now := b.clock.Now()
	next := b.ReserveN(now, 1)
	if wait = next.DelayFrom(now); wait > 0 {
		next.CancelAt(now)
	}
	return wait, false, nil
}

// end implements [allowance]. A bucket that is full again can be forgotten without any effect.
func (b *bucket) end(unused bool) bool {
	return !unused || b.TokensAt(b.clock.Now()) >= float64(b.Burst())
}
