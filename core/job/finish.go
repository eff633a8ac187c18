package job

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// Outcome is how a job ended: its result or its failure.
type Outcome struct {
	// Result is shown to callers that ask for it. It has up to [MaxResultBytes] of JSON. A
	// memory's content is in an object with its memory_id; Memories names other memories whose
	// content is in the result.
	Result   json.RawMessage
	Memories []string
	// Reason is a stable word for how the job ended. Default [Done] for a completed job.
	Reason string
	// Message explains a failure, and is shortened. If a memory is purged whose content the
	// job had, the message is removed, since it isn't known what the message quotes.
	Message string
	// Failure is the error of a failed job. It is removed together with the message.
	Failure *Failure
	// Progress is the progress of a job that didn't complete, from 0 to 1. A value below the
	// stored one changes nothing.
	Progress float64
	// Effects is what the job writes as it ends, in the same transaction. It may run several
	// times, like any transaction's function. It runs only if the job completes. With the error
	// [ErrAgain] the job doesn't end, but goes back to its queue.
	Effects func(*journal.Tx) error
}

// check refuses an outcome with which a job can't end.
func (o *Outcome) check() error {
	if len(o.Result) > MaxResultBytes || len(o.Result) > 0 && !json.Valid(o.Result) {
		return sdk.Errorf(sdk.Invalid, "job_result_invalid", "the result has %d bytes (limit %d), or isn't JSON", len(o.Result), MaxResultBytes)
	}
	return checkMemories(o.Memories)
}

// Complete ends a job that did its work: its effects, its result, its end and the
// notification are one commit. An error of the effects is returned as an [EffectsError],
// and the job is still running.
func (r *Repository) Complete(ctx context.Context, l Lease, o *Outcome) error {
	end := *o
	if end.Reason == "" {
		end.Reason = Done
	}
	return op("complete", l.JobID, r.end(ctx, l, StatusCompleted, &end))
}

// Fail ends a job that couldn't do its work, and won't be tried again.
func (r *Repository) Fail(ctx context.Context, l Lease, o *Outcome) error {
	end := *o
	if end.Effects = nil; end.Reason == "" {
		end.Reason = string(sdk.Internal)
	}
	return op("fail", l.JobID, r.end(ctx, l, StatusFailed, &end))
}

// Cancelled ends a job that stopped because it was asked to. Its commits stay, and its
// result shows how much was done.
func (r *Repository) Cancelled(ctx context.Context, l Lease, o *Outcome) error {
	end := *o
	end.Effects = nil
	return op("cancel", l.JobID, r.end(ctx, l, StatusCancelled, &end))
}

// ErrAgain means that there is new work for a job that was about to end. It runs again at once,
// which doesn't count as another attempt.
var ErrAgain = errors.New("there is more to do")

// EffectsError is an error in a job's effects, as opposed to an error in ending the job.
type EffectsError struct{ Err error }

// Error implements error.
func (e *EffectsError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *EffectsError) Unwrap() error { return e.Err }

// end ends the job of a lease.
func (r *Repository) end(ctx context.Context, l Lease, status Status, o *Outcome) error {
	if err := o.check(); err != nil {
		return err
	}
	return r.ending(ctx, func(c *change, tx *journal.Tx) error {
		rec, err := holds(c, l)
		if err != nil {
			return err
		}
		if o.Effects != nil {
			if err := o.Effects(tx); err != nil {
				return &EffectsError{err}
			}
		}
		return c.end(rec, status, o)
	})
}

// ending runs a transaction that may end jobs. If a notification is refused, for example
// because the namespace is full, the transaction runs again without notifications, since
// the jobs must end.
func (r *Repository) ending(ctx context.Context, fn func(c *change, tx *journal.Tx) error) error {
	n := &notifier{}
	run := func(c *change, tx *journal.Tx) error {
		n.tx, n.refused, c.notifier = tx, nil, n
		return fn(c, tx)
	}
	err := r.update(ctx, run)
	if err != nil && n.refused != nil && ctx.Err() == nil {
		n.skipped = sdk.ReasonOf(n.refused)
		err = r.update(ctx, run)
	}
	return err
}

// notifier notifies about the ends of a transaction's jobs.
type notifier struct {
	tx *journal.Tx
	// refused is the reason why the notification failed; skipped is that reason while the
	// transaction runs again without notifications.
	refused error
	skipped string
}

// notify writes the notification about a job's end to its namespace.
func (c *change) notify(rec *record, result json.RawMessage) error {
	n := c.notifier
	if n == nil || n.skipped != "" || !c.notifies(rec) {
		return nil
	}
	ended := rec.shown()
	ended.Result = result
	n.refused = c.options.Notify(n.tx, notification(&ended))
	return n.refused
}

// notifies reports whether the end of a job is notified.
func (c *change) notifies(rec *record) bool {
	return c.options.Notify != nil && rec.Type.notifies() && rec.Status != StatusCancelled
}

// end ends a job in any status, and writes its event and notification.
func (c *change) end(rec *record, status Status, o *Outcome) error {
	since := rec.QueuedAt
	if rec.StartedAt != nil {
		since = *rec.StartedAt
	}
	at := c.now
	rec.Status, rec.CompletedAt, rec.NotBefore, rec.Wait = status, &at, nil, 0
	rec.Reason = shorten(o.Reason, maxReasonBytes)
	if rec.Reason == "" {
		rec.Reason = CancelledByRequest
		if rec.CancelReason != "" {
			rec.Reason = rec.CancelReason
		}
	}
	if rec.Progress = max(rec.Progress, min(o.Progress, 1)); status == StatusCompleted {
		rec.Progress = 1
	}
	if c.notifier != nil && c.notifies(rec) {
		rec.NotificationFailure = c.notifier.skipped
	}
	if err := c.keepResult(rec, o); err != nil {
		return err
	}
	if err := c.save(rec); err != nil {
		return err
	}
	if err := c.appendEvents(rec.UserID, ended(rec, at.Sub(since))); err != nil {
		return err
	}
	return c.notify(rec, o.Result)
}

// keepResult writes what a job ended with, and removes its saved steps.
func (c *change) keepResult(rec *record, o *Outcome) error {
	var quoted []string
	if o.Message != "" || o.Failure != nil { // they may quote anything that the job received or saved
		var err error
		if quoted, err = memoriesOf(c, rec.ID); err != nil {
			return err
		}
	}
	if err := c.dropSteps(rec); err != nil {
		return err
	}
	if len(o.Result) == 0 && o.Message == "" && o.Failure == nil {
		return nil
	}
	data, memories, gone, err := c.keep(rec.ID, o.Result, o.Memories)
	if err != nil {
		return err
	}
	end := result{Result: data, Message: shorten(o.Message, maxMessageBytes), Failure: o.Failure, Memories: memories, Quoted: without(quoted, memories...)}
	if gone || rec.Forgot {
		end.purgeWords()
	}
	for _, memory := range end.Quoted { // dropSteps removed them from the index
		if err := c.Put(memoryKey(memory, rec.ID), nil); err != nil {
			return err
		}
	}
	return put(c, resultKey(rec.ID), end)
}

// ended is the event of a job's end.
func ended(rec *record, took time.Duration) journal.Event {
	how := ref(rec, took)
	switch rec.Status {
	case StatusCompleted:
		return journal.JobCompleted{JobRef: how, Reason: rec.Reason}
	case StatusFailed:
		return journal.JobFailed{JobRef: how, Reason: rec.Reason}
	}
	return journal.JobCancelled{JobRef: how, Reason: rec.Reason}
}

// dropSteps removes a job's saved steps: nothing needs them any more, and they contain
// texts of memories.
func (c *change) dropSteps(rec *record) error {
	if rec.Steps == 0 {
		return nil
	}
	rec.Steps, rec.StepBytes = 0, 0
	return removeSteps(c, rec.ID, func(*step) bool { return true })
}

// Retry puts back a job whose attempt failed, to be tried again after a while, or ends it
// as failed if that was the last attempt. It reports whether the job is tried again. A job
// that was asked to stop is cancelled.
func (r *Repository) Retry(ctx context.Context, l Lease, o *Outcome) (again bool, err error) {
	return r.again(ctx, "retry", l, o, func(c *change, rec *record) (bool, error) {
		if rec.Attempts >= c.options.Attempts {
			return false, nil
		}
		return true, c.back(rec, o.Reason, c.options.backoff(rec.Attempts))
	})
}

// Snooze postpones a job that can't work now, for example because of a model's rate limit,
// without counting an attempt. After Options.Snoozes snoozes it acts as
// [Repository.Retry]. A wait of 0 or less means the first backoff.
func (r *Repository) Snooze(ctx context.Context, l Lease, wait time.Duration, o *Outcome) (again bool, err error) {
	return r.again(ctx, "snooze", l, o, func(c *change, rec *record) (bool, error) {
		switch {
		case rec.Snoozes < c.options.Snoozes:
			if wait <= 0 {
				wait = c.options.Backoff
			}
			rec.Snoozes++
			return true, c.giveBack(rec, o.Reason, wait)
		case rec.Attempts < c.options.Attempts:
			return true, c.back(rec, o.Reason, max(wait, c.options.backoff(rec.Attempts)))
		}
		return false, nil
	})
}

// again calls try to put a job back, and ends the job as failed if try doesn't.
func (r *Repository) again(ctx context.Context, what string, l Lease, o *Outcome, try func(*change, *record) (bool, error)) (again bool, err error) {
	if err := o.check(); err != nil {
		return false, op(what, l.JobID, err)
	}
	end := *o
	if end.Effects = nil; end.Reason == "" {
		end.Reason = string(sdk.Internal)
	}
	err = r.ending(ctx, func(c *change, _ *journal.Tx) error {
		again = false
		rec, err := holds(c, l)
		if err != nil {
			return err
		}
		if rec.CancelRequested {
			end.Reason = ""
			return c.end(rec, StatusCancelled, &end)
		}
		if again, err = try(c, rec); err != nil || again {
			return err
		}
		return c.end(rec, StatusFailed, &end)
	})
	return again && err == nil, op(what, l.JobID, err)
}

// Release puts back a job whose pool stops. The start doesn't count as an attempt, and the
// job may run again at once. A job that was asked to stop is cancelled.
func (r *Repository) Release(ctx context.Context, l Lease) error {
	return r.release(ctx, l, Drained)
}

func (r *Repository) release(ctx context.Context, l Lease, reason string) error {
	return op("release", l.JobID, r.leased(ctx, l, func(c *change, _ *journal.Tx, rec *record) error {
		if rec.CancelRequested {
			return c.end(rec, StatusCancelled, &Outcome{})
		}
		return c.giveBack(rec, reason, 0)
	}))
}

// giveBack is back, without counting the attempt.
func (c *change) giveBack(rec *record, reason string, wait time.Duration) error {
	attempt := rec.Attempts
	rec.Attempts--
	return c.backAfter(rec, attempt, reason, wait)
}

// back puts a running job back at the head of its queue.
func (c *change) back(rec *record, reason string, wait time.Duration) error {
	return c.backAfter(rec, rec.Attempts, reason, wait)
}

func (c *change) backAfter(rec *record, attempt int, reason string, wait time.Duration) error {
	how := ref(rec, c.now.Sub(*rec.StartedAt))
	how.Attempt = attempt
	rec.Status, rec.StartedAt, rec.Reason = StatusQueued, nil, shorten(reason, maxReasonBytes)
	rec.Progress, rec.ProgressAt = 0, nil
	if wait > 0 {
		rec.putOff(c, wait)
	}
	if err := c.save(rec); err != nil {
		return err
	}
	return c.appendEvents(rec.UserID, journal.JobRetried{JobRef: how, Reason: rec.Reason})
}
