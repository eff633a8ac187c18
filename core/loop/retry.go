package loop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A call fails in one of three ways. Either something is wrong that no retry changes: a
// key, a config, a template, a denied capability. Or the other side is down, and may soon
// be back. Or the call worked, but produced nothing usable. The first two don't count as
// attempts: otherwise a model that is down for a minute would use up fifty iterations of
// a loop in a second.

// endsTheRun reports whether a generator's failure, when its retries are used up, ends
// the run instead of counting as an attempt. If a call exceeded its deadline, the other
// side counts as down.
func (d *driver) endsTheRun(err error) bool {
	switch d.o.OnGeneratorError {
	case GeneratorErrorStop:
		return true
	case GeneratorErrorAttempt:
		return false
	}
	return sdk.Permanent(err) || sdk.Transient(err) || sdk.CodeOf(err) == sdk.Timeout
}

// Pauses between tries: 200 ms, doubling, half of it random, so that two retries outlast
// a plugin's restart, which takes 0.25 s. The other side may ask for a longer pause, up
// to maxPause, the default deadline of a model call; nobody should wait longer than that.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 120 * time.Second
)

func retryPause(try int, err error) time.Duration {
	full := firstPause << min(try-1, 6)
	return max(full/2+rand.N(full/2), sdk.RetryAfter(err))
}

// retried repeats a call after a transient failure, while the budget lasts. The usage of
// failed calls counts.
func retried[R any](ctx context.Context, d *driver, c sdk.Call, retries int, call func() (*R, error)) (*R, error) {
	for try := 1; ; try++ {
		resp, err := call()
		if err == nil {
			return resp, nil
		}
		d.engine.addUsage(sdk.UsageOf(err))
		pause := retryPause(try, err)
		if !sdk.Transient(err) || sdk.Permanent(err) || try > retries || pause > maxPause || d.engine.overBudget() {
			if try > 1 {
				err = sdk.Wrap(fmt.Sprintf("after %d calls", try), err)
			}
			return nil, err
		}
		d.emit(core.CallRetried{Node: d.o.Node, Iteration: c.Iteration, Role: c.Role, Try: try, Wait: pause, Err: err})
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
