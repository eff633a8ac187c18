package loop

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A call that fails is one of three things. Something is wrong that no other try
// changes: a key, a config, a template, a denied capability. Or the other side is
// down, and may be back in a moment. Or it worked, and made nothing that can be
// used. The first two are no attempt: fifty iterations of a loop would otherwise be
// used up in a second by a model that is down for a minute.

// endsTheRun reports whether a generator's failure, its retries used up, ends the
// run rather than count as an attempt. A call that ran past its deadline is as good
// as down.
func (d *driver) endsTheRun(err error) bool {
	switch d.o.OnGeneratorError {
	case GeneratorErrorStop:
		return true
	case GeneratorErrorAttempt:
		return false
	}
	return sdk.Permanent(err) || sdk.Transient(err) || sdk.CodeOf(err) == sdk.Timeout
}

// Pauses between tries: 200 ms doubling, half of it random, so that two tries
// bridge a plugin's restart, which takes 0.25 s. The other side may ask for more, up
// to maxPause, what a call of a model may take by default; for longer than that
// nobody is kept waiting.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 120 * time.Second
)

func retryPause(try int, err error) time.Duration {
	full := firstPause << min(try-1, 6)
	return max(full/2+rand.N(full/2), sdk.RetryAfter(err))
}

// retried calls again after a transient fault, while the budget lasts. What failed
// calls consumed counts.
func retried[R any](ctx context.Context, d *driver, c sdk.Call, retries int, call func() (*R, error)) (*R, error) {
	for try := 1; ; try++ {
		resp, err := call()
		if err == nil {
			return resp, nil
		}
		d.engine.spent(sdk.UsageOf(err))
		pause := retryPause(try, err)
		if !sdk.Transient(err) || try > retries || pause > maxPause || d.engine.overBudget() {
			return nil, err
		}
		d.tell(core.CallRetried{Node: d.o.Node, Iteration: c.Iteration, Role: c.Role, Try: try, Wait: pause, Err: err})
		if wait(ctx, pause) != nil {
			return nil, err
		}
	}
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
