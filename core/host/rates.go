package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Limits are how much is done at once, and how often.
type Limits struct {
	config *Config
	id     string
	store  core.Store
	turns  atomic.Pointer[share.Share] // of what is worked on at once; nil if there is no limit
}

// Rate returns a limiter with a limit for each name, such as for each subject's requests:
// perSecond on average, and burst at once. A perSecond of 0 or less is no limit. Hosts that
// share a store share the limit. A host has one limiter for each what.
func (l *Limits) Rate(what string, perSecond, burst float64) *rate.Limiter {
	o := rate.Options{What: what, PerSecond: perSecond, Burst: burst}
	if l.config.shared() {
		o.Store, o.Host = l.store, l.id
	}
	return rate.New(o)
}

// turnWait is how long an operation waits for its turn: half of the time that an operation takes at
// most.
const turnWait = 5 * time.Second

// WorkAtOnce limits how many operations are worked on at once for remote callers, whose tenants take
// turns for the next. 0 is no limit, which is the default.
func (l *Limits) WorkAtOnce(n int) {
	if n <= 0 {
		l.turns.Store(nil)
		return
	}
	l.turns.Store(share.New(share.Options{Places: int64(n)}))
}

// Turn waits until an operation may begin for a caller. done must be called at its end.
func (l *Limits) Turn(ctx context.Context, c core.Caller) (done func(), err error) {
	turns := l.turns.Load()
	if turns == nil {
		return func() {}, nil
	}
	tenant := c.Tenant()
	if done, free := turns.Free(tenant, "", 1); free {
		return done, nil
	}
	waiting, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	if done, err = turns.Take(waiting, tenant, 1); err == nil || ctx.Err() != nil {
		return done, err
	}
	return nil, sdk.Errorf(sdk.Exhausted, "turns_exhausted", "too many requests of %s wait for their turn", tenant).
		WithHint("make fewer requests at once, or ask the operator to raise limits.at_once in reflectory.yaml, then to restart the server").WithDetail("limit", "at_once").WithDetail("key", tenant).
		WithDetail(sdk.RetryAfterDetail, time.Second.Milliseconds())
}
