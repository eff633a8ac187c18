package llmeval

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/reflectory/reflectory/sdk"
)

// How temporary faults are tried again.
const (
	// maxTries is how often a question is sent at most. With the delays below, this
	// survives a fault of about 4 s. It leaves longer faults to the host, which retries
	// an evaluator by itself.
	maxTries = 4
	// The delays double from firstDelay to maxDelay, and jitter varies them in both
	// directions.
	firstDelay = 500 * time.Millisecond
	maxDelay   = 8 * time.Second
	jitter     = 0.25
	// maxWait limits the wait that an endpoint may ask for in Retry-After if the call
	// has no deadline: the time limit of a judge.
	maxWait = 120 * time.Second
)

// retry calls try until it succeeds, fails permanently, or has used its tries. It never
// begins a wait that would end after the call's deadline.
func (e *endpoint) retry(ctx context.Context, try func() error) (tries int, err error) {
	delays := backoff.ExponentialBackOff{
		InitialInterval: firstDelay, MaxInterval: maxDelay, Multiplier: 2, RandomizationFactor: jitter,
	}
	delays.Reset()
	for {
		tries++
		err = try()
		var f *fault
		if !errors.As(err, &f) || f.class() != sdk.Unavailable || tries == f.most() || ctx.Err() != nil {
			return tries, err
		}
		wait := f.wait
		if wait == 0 {
			wait = delays.NextBackOff()
		}
		if limit := timeLeft(ctx); wait >= limit {
			return tries, e.tooLong(f, wait, limit, tries)
		}
		if sleep(ctx, wait) != nil {
			return tries, err
		}
	}
}

// most is how often a question with this fault is sent at most: only once to an endpoint that can't be
// reached, since nothing listens there, or its name is unknown. That doesn't change within seconds, and
// the host repeats a generator or an evaluator by itself.
func (f *fault) most() int {
	var name *net.DNSError
	if f.status == 0 && (errors.Is(f.err, syscall.ECONNREFUSED) || sdk.ReasonOf(f.err) == "network_unreachable" || errors.As(f.err, &name) && name.IsNotFound) {
		return 1
	}
	return maxTries
}

// timeLeft is how long the call may still wait.
func timeLeft(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return maxWait
	}
	return time.Until(deadline)
}

// tooLong reports a wait that would be too long to begin.
func (e *endpoint) tooLong(f *fault, wait, limit time.Duration, tries int) error {
	reason := fmt.Sprintf("the next try would be in %s", wait.Round(time.Millisecond))
	if f.wait > 0 {
		reason = fmt.Sprintf("it asks to wait %s (Retry-After)", f.wait.Round(time.Millisecond))
	}
	return sdk.Errorf(sdk.Unavailable, "llm_unavailable", "%s gave no reply after %d tries: %s; %s, and the call may last only %s more",
		e.url, tries, e.key.scrub(f.Error()), reason, limit.Round(time.Millisecond)).
		WithDetail("endpoint", e.url).WithDetail("tries", tries).WithDetail("status", f.status).
		WithDetail(sdk.RetryAfterDetail, wait.Milliseconds()).
		WithHint("try again later, or raise the timeout")
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
