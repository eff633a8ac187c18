package job

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// A worker can be suspended for minutes, by the system or by a debugger, and continue without
// knowing that another worker took its job. So checking first and writing afterwards isn't enough:
// every write of the job reads the job's epoch in the same transaction, which then conflicts with
// any transaction that raised the epoch.

// progressStep is the least time between two writes of a job's progress.
const progressStep = time.Second

// holds returns the record of a lease's job, if the lease is still valid.
func holds(r core.Reader, l Lease) (*record, error) {
	rec, err := find(r, l.JobID)
	if err != nil {
		return nil, err
	}
	if rec == nil || rec.Status != StatusRunning || rec.Epoch != l.Epoch || rec.Holder != l.Holder {
		return nil, leaseLost(l)
	}
	return rec, nil
}

// leased runs fn in a transaction that checks a lease.
func (r *Repository) leased(ctx context.Context, l Lease, fn func(c *change, tx *journal.Tx, rec *record) error) error {
	return r.update(ctx, func(c *change, tx *journal.Tx) error {
		rec, err := holds(c, l)
		if err != nil {
			return err
		}
		return fn(c, tx, rec)
	})
}

// Update runs fn in a transaction that checks a lease: if the lease was lost, the error is
// [LeaseLost] and nothing is written.
func (r *Repository) Update(ctx context.Context, l Lease, fn func(*journal.Tx) error) error {
	return op("work on", l.JobID, r.leased(ctx, l, func(_ *change, tx *journal.Tx, _ *record) error { return fn(tx) }))
}

// Store returns the store through which other parts write for a job: each of its transactions
// checks the lease.
func (r *Repository) Store(l Lease) core.Store { return &leasedStore{r.journal.Store, l} }

type leasedStore struct {
	core.Store
	lease Lease
}

// Update implements [core.Store].
func (s *leasedStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error {
		if _, err := holds(tx, s.lease); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Renew checks that a lease is still valid, and reports whether its job was asked to stop. It writes
// nothing: [Repository.Beat] records that the holder is alive.
func (r *Repository) Renew(ctx context.Context, l Lease) (cancelRequested bool, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		rec, err := holds(reader, l)
		if err == nil {
			cancelRequested = rec.CancelRequested
		}
		return err
	})
	return cancelRequested, op("renew the lease of", l.JobID, err)
}

// holder is what a process that holds jobs records about itself.
type holder struct {
	// Beat counts its signs of life, and At is the time of the newest one, by its own clock.
	Beat uint64    `json:"beat"`
	At   time.Time `json:"at"`
}

// Beat raises a holder's beat, which counts for all jobs that it runs.
func (r *Repository) Beat(ctx context.Context, name string) error {
	return sdk.Wrap("raise the beat of "+core.Cut(name), r.update(ctx, func(c *change, _ *journal.Tx) error {
		var h holder
		if _, err := get(c, holderKey(name), &h); err != nil {
			return err
		}
		h.Beat++
		h.At = c.now
		return put(c, holderKey(name), h)
	}))
}

// Progress records a job's progress, from 0 to 1. A value isn't written within a second of the last
// write, or if it isn't larger than the stored value; a later call writes the newer value.
func (r *Repository) Progress(ctx context.Context, l Lease, progress float64) error {
	if !(progress >= 0 && progress <= 1) { // nor is NaN
		return sdk.Errorf(sdk.Invalid, "progress_invalid", "progress is %v, not from 0 to 1", progress)
	}
	written := false
	err := r.leased(ctx, l, func(c *change, _ *journal.Tx, rec *record) error {
		written = false
		if progress <= rec.Progress {
			return nil
		}
		if rec.ProgressAt != nil {
			if since := c.now.Sub(*rec.ProgressAt); since >= 0 && since < progressStep {
				return nil
			}
		}
		written = true
		at := c.now
		rec.Progress, rec.ProgressAt = progress, &at
		return put(c, jobKey(rec.ID), rec) // nothing follows from it
	})
	if err == nil && written && r.options.Progressed != nil {
		r.options.Progressed(l.JobID, progress)
	}
	return op("record the progress of", l.JobID, err)
}

// SaveStep saves what a job paid for, such as a model's answer, before it is used, under a name
// within the job. A later attempt finds it with [Repository.Step]. memories are the memories whose
// content may be in it. If a memory was purged meanwhile, the error is sdk.Conflict, reason
// "memory_purged"; if a step already has that name, the reason is "step_taken". Steps are removed
// when the job ends.
func (r *Repository) SaveStep(ctx context.Context, l Lease, name string, data json.RawMessage, memories []string) error {
	if !validID(name) || !json.Valid(data) {
		return sdk.Errorf(sdk.Invalid, "step_invalid", "step %q isn't a name with JSON", core.Cut(name)).
			WithHint("a name is 1 to %d letters, digits, dashes, dots and underscores", maxIDBytes)
	}
	if err := checkMemories(memories); err != nil {
		return err
	}
	return op("save step "+name+" of", l.JobID, r.leased(ctx, l, func(c *change, _ *journal.Tx, rec *record) error {
		if rec.Steps >= MaxSteps || rec.StepBytes+len(data) > MaxStepBytes {
			return sdk.Errorf(sdk.Exhausted, "steps_too_large", "it has %d steps (limit %d) of %d bytes, and %d more come (limit %d)",
				rec.Steps, MaxSteps, rec.StepBytes, len(data), MaxStepBytes)
		}
		if _, taken, err := c.Get(stepKey(rec.ID, name)); err != nil || taken {
			if taken {
				err = sdk.Errorf(sdk.Conflict, "step_taken", "it has a step of that name")
			}
			return err
		}
		for _, id := range memories {
			if gone, err := c.options.Purged.Any(c, id); err != nil || gone {
				if gone {
					err = sdk.Errorf(sdk.Conflict, "memory_purged", "memory %s was purged while the job worked with it", id).
						WithHint("do the step again without it").WithDetail("memory_id", id)
				}
				return err
			}
			if err := c.Put(memoryKey(id, rec.ID), nil); err != nil {
				return err
			}
		}
		if err := put(c, stepKey(rec.ID, name), step{data, memories}); err != nil {
			return err
		}
		rec.Steps++
		rec.StepBytes += len(data)
		return put(c, jobKey(rec.ID), rec)
	}))
}

// Step returns what a job saved under a name, and whether it did.
func (r *Repository) Step(ctx context.Context, l Lease, name string) (data json.RawMessage, found bool, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		if _, err := holds(reader, l); err != nil || !validID(name) {
			return err
		}
		var s step
		found, err = get(reader, stepKey(l.JobID, name), &s)
		data = s.Data
		return err
	})
	return data, found, op("read step "+core.Cut(name)+" of", l.JobID, err)
}
