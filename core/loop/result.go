package loop

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TypeNotEvaluated is the type of the finding on a last attempt that was made
// but never judged, because the loop ended first.
const TypeNotEvaluated = "not_evaluated"

// result describes how the loop ended. cause is the error of the step that ended it, if
// one did.
func (d *driver) result(reason core.StopReason, cause error) (*core.LoopResult, error) {
	e := &d.engine
	var lost *recordError
	if errors.As(cause, &lost) {
		reason = core.StopStoreError
	}
	r := &core.LoopResult{
		RunID: d.o.RunID, Status: status(reason, cause, e.limits.OnFailure), StopReason: reason,
		Output: json.RawMessage("null"), Errors: []sdk.Finding{}, History: []sdk.HistoryEntry{},
		Usage: core.RunUsage{Usage: e.usage, WallMillis: d.active.millis()},
	}
	r.Exhausted = r.Status == core.StatusExhausted || r.Status == core.StatusRaised
	if e.best >= 0 {
		r.Best = core.Best{Iteration: e.attempts[e.best].Iteration, Score: e.attempts[e.best].Score}
	}
	for i := range e.attempts {
		r.History = append(r.History, entry(&e.attempts[i], reason))
	}
	if a := d.chosen(r.Status); a >= 0 {
		h := r.History[a]
		r.Valid, r.Score, r.Iteration, r.Output, r.Errors = h.Valid, h.Score, h.Iteration, h.Output, h.Errors
		r.Accepted = e.attempts[a].Accepted
	}
	err := ending(r, cause)
	r.Error = core.NewErrorInfo(err)
	if r.Status == core.StatusExhausted && e.producedNothing() {
		r.Error = core.NewErrorInfo(d.checkProduced())
	}
	if r.Error != nil && r.Status == core.StatusRaised {
		r.Error.Details = nil // the history is next to it
	}
	return r, err
}

// checkProduced is the error of a loop that has no output because all generations failed.
func (d *driver) checkProduced() error {
	last := d.engine.last().Errors[0]
	err := sdk.Errorf(sdk.Exhausted, "nothing_generated", "the generator made nothing usable in %d attempts; the last: %s",
		len(d.engine.attempts), last.Message)
	if cause := sdk.AsError(d.engine.failure); cause != nil {
		err.Hint, err.Try = cause.Hint, cause.Try
	}
	return err
}

func entry(a *core.Attempt, reason core.StopReason) sdk.HistoryEntry {
	h := a.HistoryEntry()
	if !a.Judged {
		h.Errors = []sdk.Finding{{Type: TypeNotEvaluated, Message: fmt.Sprintf("not evaluated: the loop ended first (%s)", reason)}}
	}
	return h
}

// chosen is the index of the attempt that becomes the result: the attempt that passed,
// or else the attempt that the failure strategy selects. It is -1 if there is none.
func (d *driver) chosen(s core.Status) int {
	e := &d.engine
	if s == core.StatusPassed || e.limits.OnFailure == ReturnLast || e.best < 0 {
		return len(e.attempts) - 1
	}
	return e.best
}

func status(reason core.StopReason, cause error, strategy OnFailure) core.Status {
	switch {
	case cause != nil:
		return core.StatusError
	case reason == core.StopValid:
		return core.StatusPassed
	case reason == core.StopCancelled:
		return core.StatusCancelled
	case strategy == Raise:
		return core.StatusRaised
	}
	return core.StatusExhausted
}

// ending is the error for a status; nil for passed and exhausted.
func ending(r *core.LoopResult, cause error) error {
	switch r.Status {
	case core.StatusError:
		return cause
	case core.StatusCancelled:
		return sdk.Errorf(sdk.Cancelled, "", "the loop was cancelled after %d attempts", len(r.History))
	case core.StatusRaised:
		return sdk.Errorf(sdk.Exhausted, "loop_raised", "no attempt passed: %s after %d attempts, best score %.2f in iteration %d",
			r.StopReason, len(r.History), r.Best.Score, r.Best.Iteration).
			WithDetail("stop_reason", r.StopReason).WithDetail("best", r.Best).WithDetail("history", r.History)
	}
	return nil
}
