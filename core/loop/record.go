package loop

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// recordError marks a failure to make an attempt durable. It ends the loop
// whatever else is going on, because nothing may be built on a lost attempt.
type recordError struct{ error }

func (e *recordError) Unwrap() error { return e.error }

// recordOutput makes the newest attempt durable before it is judged. A
// cancelled run still records what was paid for.
func (d *driver) recordOutput(ctx context.Context, a *core.Attempt) error {
	a.ActiveMillis = d.active.millis()
	if d.o.Recorder == nil {
		return nil
	}
	if err := d.o.Recorder.RecordOutput(context.WithoutCancel(ctx), a); err != nil {
		return &recordError{err}
	}
	return nil
}

// recordVerdict makes a judged attempt durable and tells of it.
func (d *driver) recordVerdict(ctx context.Context, a *core.Attempt) error {
	a.ActiveMillis = d.active.millis()
	if d.o.Recorder != nil {
		if err := d.o.Recorder.RecordVerdict(context.WithoutCancel(ctx), a); err != nil {
			return &recordError{err}
		}
	}
	d.tell(core.AttemptJudged{
		Node: d.o.Node, Attempt: a, Max: d.engine.limits.MaxIterations, Took: d.active.clock.Now().Sub(d.began),
	})
	return nil
}

// activeTime measures how long a loop has been active, over all resumes, and
// bounds it.
type activeTime struct {
	clock  core.Clock
	start  time.Time
	before time.Duration // of the interrupted runs
	limit  time.Duration // 0 is none
	// caller is the error of the caller's own context: the loop's timeout doesn't
	// hide that the caller gave up.
	caller func() error
}

func (t activeTime) elapsed() time.Duration { return t.before + t.clock.Now().Sub(t.start) }
func (t activeTime) millis() int64          { return t.elapsed().Milliseconds() }

// bound gives calls in flight the deadline of the loop, under the caller's context.
func (t *activeTime) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	t.caller = ctx.Err
	if t.limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, t.limit-t.before)
}

func (t activeTime) cancelled() bool { return t.caller() != nil }

func (t activeTime) over(ctx context.Context) bool {
	return ctx.Err() != nil || t.limit > 0 && t.elapsed() >= t.limit
}

// Pauses between the tries of an evaluator: 200 ms doubling, half of it random,
// so that two tries bridge a plugin's restart (0.25 s, spec 2.3).
const firstPause = 200 * time.Millisecond

func retryPause(try int) time.Duration {
	full := firstPause << min(try-1, 6)
	return full/2 + rand.N(full/2)
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

// checkOutput refuses what can't be an attempt.
func checkOutput(output json.RawMessage) error {
	if !json.Valid(output) {
		return sdk.Errorf(sdk.Invalid, "output_invalid", "the output is not a JSON value").
			WithHint("return any JSON value; text is a JSON string")
	}
	return nil
}
