package job

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Handler does the work of one type of jobs.
type Handler interface {
	// Run does the job and returns its outcome; nil is an empty one. The context has the caller
	// that asked for the job. It ends when the job is cancelled, when its time is up, and when the
	// pool stops. Run must then return soon, with an error and, if possible, an outcome that shows
	// how much was done.
	//
	// After an error of class unavailable, timeout or exhausted the job is tried again, unless the
	// error is permanent (see [sdk.Permanent]). A [SnoozeError] postpones it without counting an attempt. Any other error ends it as failed, with the error's
	// reason. Run must write through the job: with [Running.Update], [Running.Store], or the
	// outcome's Effects.
	Run(ctx context.Context, j *Running) (*Outcome, error)
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(ctx context.Context, j *Running) (*Outcome, error)

// Run implements [Handler].
func (f HandlerFunc) Run(ctx context.Context, j *Running) (*Outcome, error) { return f(ctx, j) }

// SnoozeError means that a job can't work now through no fault of its own, for example because
// of a model's rate limit or an open breaker.
type SnoozeError struct {
	// Wait is how long to postpone the job; 0 is the first backoff.
	Wait time.Duration
	Err  error
}

// Error implements error.
func (e *SnoozeError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SnoozeError) Unwrap() error { return e.Err }

// Running is a job while its handler works on it. It is safe for concurrent use.
type Running struct {
	// Job is the job at its start, with its payload. It doesn't change.
	Job
	lease Lease
	jobs  *Repository
	// suspect is whether it must run without another suspect.
	suspect bool
	// pool has its worker, place, which is nil while it waits; waits counts what it waits for. The
	// pool's mu guards both.
	pool  *Pool
	place *share.Slot
	waits int

	// ctx is the handler's context, whose cause is the reason for its end, and cancel ends it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// settled is whether the job's end, or its return to the queue, was written. Either the code
	// that runs the handler writes it, or the code that has waited too long for the handler;
	// settling lets one try at a time. If one fails, the other tries.
	settled  atomic.Bool
	settling chan struct{}

	mu sync.Mutex
	// progress is the greatest progress that the handler reported; written is the stored one,
	// and writtenAt when it was stored.
	progress, written float64
	writtenAt         time.Time
	// stoppedAt is when the context ended; zero while it hasn't.
	stoppedAt time.Time
}

// Lease is the lease under which the handler works, for [Repository]'s functions.
func (j *Running) Lease() Lease { return j.lease }

// Update runs fn in a transaction that writes only while the job belongs to the handler;
// after that the error is sdk.Conflict, reason [LeaseLost].
func (j *Running) Update(ctx context.Context, fn func(*journal.Tx) error) error {
	return j.jobs.Update(ctx, j.lease, fn)
}

// Store is the store to give to other parts: each of its transactions writes only while the
// job belongs to the handler.
func (j *Running) Store() core.Store { return j.jobs.Store(j.lease) }

// Step returns what the job saved under a name in this or an earlier attempt. If nothing
// was saved, it calls do and saves the answer before it returns. So each answer is paid for
// only once, and an answer is never used before it is saved for later attempts. do also returns
// the memories whose content may be in the answer.
func (j *Running) Step(ctx context.Context, name string, do func(context.Context) (answer json.RawMessage, memories []string, err error)) (json.RawMessage, error) {
	answer, found, err := j.jobs.Step(ctx, j.lease, name)
	if err != nil || found {
		return answer, err
	}
	answer, memories, err := do(ctx)
	if err != nil {
		return nil, err
	}
	// A paid answer is saved even if the job was asked to stop meanwhile.
	return answer, j.jobs.SaveStep(context.WithoutCancel(ctx), j.lease, name, answer, memories)
}

// Progress reports the job's progress, from 0 to 1; a smaller value than before changes
// nothing. It is written soon, at most once a second.
func (j *Running) Progress(progress float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if progress > j.progress { // this is also false for NaN
		j.progress = min(progress, 1)
	}
}

// writeProgress writes progress that isn't stored yet, a second after the last.
func (j *Running) writeProgress(ctx context.Context, now time.Time) error {
	j.mu.Lock()
	progress := j.progress
	due := progress > j.written && now.Sub(j.writtenAt) >= progressStep
	j.mu.Unlock()
	if !due {
		return nil
	}
	if err := j.jobs.Progress(ctx, j.lease, progress); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written, j.writtenAt = progress, now
	return nil
}

// stop ends the job's context, for a cause.
func (j *Running) stop(cause error, now time.Time) {
	j.mu.Lock()
	if j.stoppedAt.IsZero() {
		j.stoppedAt = now
	}
	j.mu.Unlock()
	j.cancel(cause)
}

// stopped is when the job's context ended.
func (j *Running) stopped() (at time.Time, is bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stoppedAt, !j.stoppedAt.IsZero()
}

// The causes for which a job's context ends.
var (
	errCancelled = errors.New("the job was cancelled")
	errDrained   = errors.New("the pool stops")
	errLost      = errors.New("the job is another's")
	errTimedOut  = errors.New("the job's time is up")
)

// settle writes a job's outcome, unless it was written. If the job belongs to another
// holder, it writes nothing.
func (j *Running) settle(ctx context.Context, cause error, o *Outcome, failure error) error {
	j.settling <- struct{}{}
	defer func() { <-j.settling }()
	if j.settled.Load() {
		return nil
	}
	end := Outcome{}
	if o != nil {
		end = *o
	}
	j.mu.Lock()
	end.Progress = max(end.Progress, j.progress)
	j.mu.Unlock()
	err := j.write(ctx, cause, &end, failure)
	if sdk.ReasonOf(err) == LeaseLost {
		err = nil
	}
	j.settled.Store(err == nil)
	return err
}

// write writes a job's outcome, without the checks of settle.
func (j *Running) write(ctx context.Context, cause error, o *Outcome, failure error) error {
	if failure == nil {
		err := j.jobs.Complete(ctx, j.lease, o)
		var effects *EffectsError
		switch {
		case errors.As(err, &effects) && errors.Is(effects.Err, ErrAgain):
			return j.jobs.release(ctx, j.lease, MoreToDo)
		case errors.As(err, &effects):
			failure = effects.Err // as if the handler had failed
		case sdk.CodeOf(err) == sdk.Invalid, sdk.CodeOf(err) == sdk.Exhausted:
			failure = err // its outcome can't be written, whatever the number of tries
			o = &Outcome{Progress: o.Progress}
		default:
			return err
		}
	}
	switch {
	case errors.Is(cause, errLost) || sdk.ReasonOf(failure) == LeaseLost:
		return nil // the job belongs to another holder
	case errors.Is(cause, errCancelled):
		return j.jobs.Cancelled(ctx, j.lease, &Outcome{Result: o.Result, Memories: o.Memories, Progress: o.Progress})
	case errors.Is(cause, errDrained):
		return j.jobs.Release(ctx, j.lease)
	case errors.Is(cause, errTimedOut):
		failure = sdk.Errorf(sdk.Timeout, "job_timeout", "the job didn't end in time: %w", failure)
	}
	return j.fail(ctx, o, failure)
}

// fail writes that a job's attempt failed.
func (j *Running) fail(ctx context.Context, o *Outcome, failure error) (err error) {
	end := *o
	end.Effects, end.Message, end.Failure = nil, failure.Error(), NewFailure(failure)
	if end.Reason == "" {
		end.Reason = sdk.ReasonOf(failure)
	}
	var snooze *SnoozeError
	switch {
	case errors.As(failure, &snooze):
		_, err = j.jobs.Snooze(ctx, j.lease, snooze.Wait, &end)
	case passing(failure):
		_, err = j.jobs.Retry(ctx, j.lease, &end)
	default:
		err = j.jobs.Fail(ctx, j.lease, &end)
	}
	if err != nil && sdk.CodeOf(err) == sdk.Invalid {
		end.Result, end.Memories = nil, nil // they can't be written
		err = j.jobs.Fail(ctx, j.lease, &end)
	}
	return err
}

// passing reports whether an error is temporary, so that another try may succeed.
func passing(err error) bool {
	if sdk.Permanent(err) {
		return false
	}
	switch sdk.CodeOf(err) {
	case sdk.Unavailable, sdk.Timeout, sdk.Exhausted:
		return !sdk.Permanent(err)
	}
	return false
}
