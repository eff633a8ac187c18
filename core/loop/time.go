package loop

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
)

// activeTime measures how long a loop has been active, over all resumes, and limits it.
type activeTime struct {
	clock  core.Clock
	start  time.Time
	before time.Duration // active time before the last resume
	limit  time.Duration // 0 is none
	// caller returns the error of the caller's own context: the loop's timeout mustn't
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
