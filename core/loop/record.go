package loop

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// recordError marks a failure to make an attempt durable. Such an error ends
// the loop even while the loop is being cancelled, because nothing may be built on a lost attempt.
type recordError struct{ error }

func (e *recordError) Unwrap() error { return e.error }

// recordOutput makes the newest attempt durable before it is judged. Even a cancelled run
// records it, because it was paid for.
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

// recordVerdict makes a judged attempt durable and sends its event.
func (d *driver) recordVerdict(ctx context.Context, a *core.Attempt) error {
	a.ActiveMillis = d.active.millis()
	if d.o.Recorder != nil {
		if err := d.o.Recorder.RecordVerdict(context.WithoutCancel(ctx), a); err != nil {
			return &recordError{err}
		}
	}
	d.emit(core.AttemptJudged{
		Node: d.o.Node, Attempt: a, Max: d.engine.limits.MaxIterations, Took: d.active.clock.Now().Sub(d.began),
	})
	return nil
}

// checkOutput refuses an output that isn't a JSON value.
func checkOutput(output json.RawMessage) error {
	if !json.Valid(output) {
		return sdk.Errorf(sdk.Invalid, "output_invalid", "the output is not a JSON value").
			WithHint("return any JSON value; text is a JSON string")
	}
	return nil
}
