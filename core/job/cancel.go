package job

import (
	"context"

	"github.com/reflectory/reflectory/core/journal"
)

// Cancellation is the outcome of a request to cancel a job.
type Cancellation struct {
	// Job is the job after the request. A running job is still running, and stops soon.
	Job
	// Changed is whether the request changed anything. It doesn't change a job that has ended,
	// or one that was asked to stop before.
	Changed bool
}

// Cancel ends a waiting job, and asks a running job to stop. Reason is a word for why; ""
// is [CancelledByRequest].
func (r *Repository) Cancel(ctx context.Context, id, reason string) (*Cancellation, error) {
	if reason == "" || !validWord(reason) {
		reason = CancelledByRequest
	}
	var done Cancellation
	err := r.update(ctx, func(c *change, _ *journal.Tx) error {
		done = Cancellation{}
		rec, err := read(c, id)
		if err != nil {
			return err
		}
		switch {
		case rec.Status == StatusQueued:
			done.Changed = true
			err = c.end(rec, StatusCancelled, &Outcome{Reason: reason})
		case rec.Status == StatusRunning && !rec.CancelRequested:
			done.Changed = true
			rec.CancelRequested, rec.CancelReason = true, reason
			err = put(c, jobKey(rec.ID), rec) // nothing follows from it
		}
		done.Job = rec.shown()
		return err
	})
	if err != nil {
		return nil, op("cancel", id, err)
	}
	r.listeners.wake()
	return &done, nil
}
