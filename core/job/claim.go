package job

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// dueBatch is how many waiting jobs a transaction takes over at once when their time has
// come: few enough to hold up no other transaction.
const dueBatch = 64

// clockSlack is how far a clock may be off before it counts as one that went back.
const clockSlack = time.Second

// Claim gives a holder the next job of these types, or nil where none may run. Of the users'
// first jobs it is the one whose user was served longest ago; workflow jobs come after
// jobs of the other types, in the order in which they were queued. A holder claims once it
// is registered, which a [Pool] is while it works.
func (r *Repository) Claim(ctx context.Context, holder string, types []Type) (claimed *Claimed, err error) {
	if !validID(holder) {
		return nil, sdk.Errorf(sdk.Invalid, "job_holder_invalid", "%q can't be a holder of jobs", core.Cut(holder))
	}
	all := r.clockWentBack()
	for {
		again := false
		err = r.update(ctx, func(c *change, _ *journal.Tx) error {
			claimed, again = nil, false
			due, err := c.wakeDue(all)
			if err != nil {
				return err
			}
			if again = due == dueBatch; again {
				return nil
			}
			claimed, err = c.claim(holder, types)
			return err
		})
		if err != nil || !again {
			return claimed, sdk.Wrap("claim a job", err)
		}
	}
}

// clockWentBack reports whether the clock shows less than it did, or hasn't been looked at
// yet: then any waiting job may be one that waits for a time that was never meant.
func (r *Repository) clockWentBack() bool {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	back := r.latest.IsZero() || now.Before(r.latest.Add(-clockSlack))
	if r.latest.Before(now) || back {
		r.latest = now
	}
	return back
}

// wakeDue makes waiting jobs ready whose time has come, or that wait for longer than they
// were put off since the clock went back, and returns how many. Those are looked for among
// all that wait, the others in the order of their times.
func (c *change) wakeDue(all bool) (int, error) {
	var ids []string
	var damage error
	err := waitingJobs.each(c, func(item string) bool {
		order, id := parts(item)
		if all {
			var rec *record
			if rec, damage = named(c, waitingJobs.directoryKey(), id); damage != nil {
				return false
			}
			if due(orderTime(order), rec.Wait, c.now) {
				ids = append(ids, id)
			}
		} else {
			if orderTime(order).After(c.now) {
				return false
			}
			ids = append(ids, id)
		}
		return len(ids) < dueBatch
	})
	if err == nil {
		err = damage
	}
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		rec, err := named(c, []byte(waitPrefix), id)
		if err == nil && (rec.Status != StatusQueued || rec.NotBefore == nil) {
			err = corrupt(jobKey(id), "it is among those that wait for a time, and doesn't")
		}
		if err != nil {
			return 0, err
		}
		rec.NotBefore, rec.Wait = nil, 0
		if err := c.save(rec); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// claim starts the next job; nil for none.
func (c *change) claim(holder string, types []Type) (*Claimed, error) {
	id, err := nextReady(c, types)
	if err != nil || id == "" {
		return nil, err
	}
	rec, err := named(c, []byte(readyPrefix), id)
	if err == nil && (rec.Status != StatusQueued || rec.NotBefore != nil) {
		err = corrupt(jobKey(id), "it is among those that may run, and may not")
	}
	if err != nil {
		return nil, err
	}
	now := c.now
	rec.Status, rec.Holder, rec.StartedAt, rec.Reason = StatusRunning, holder, &now, ""
	rec.Epoch++
	rec.Attempts++
	rec.Progress, rec.ProgressAt = 0, nil
	if err := c.save(rec); err != nil {
		return nil, err
	}
	claimed := &Claimed{Job: rec.shown(), Held: rec.lease()}
	start, err := readContent(c, id)
	if err != nil {
		return nil, err
	}
	claimed.Payload, claimed.Caller = start.Payload, start.Caller.caller()
	return claimed, c.tell(rec.UserID, journal.JobStarted{JobRef: ref(rec, now.Sub(rec.QueuedAt)), Epoch: rec.Epoch})
}

// nextReady finds the job that goes next; "" for none. It looks at the first item of each
// type.
func nextReady(r core.Reader, types []Type) (string, error) {
	best := "" // when its queue was served, and the job's id
	for _, t := range types {
		if !t.Queued() {
			continue
		}
		first, err := readyJobs(t).first(r)
		if err != nil {
			return "", err
		}
		if first != "" && (best == "" || first < best) {
			best = first
		}
	}
	if best == "" && slices.Contains(types, Workflow) {
		var err error
		if best, err = readyJobs(Workflow).first(r); err != nil {
			return "", err
		}
	}
	_, id := parts(best)
	return id, nil
}

// NextDue returns when the first waiting job may run; the zero time for none.
func (r *Repository) NextDue(ctx context.Context) (due time.Time, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		due = time.Time{}
		first, err := waitingJobs.first(reader)
		if first != "" {
			order, _ := parts(first)
			due = orderTime(order)
		}
		return err
	})
	return due, err
}

// readContent reads what a job started with.
func readContent(r core.Reader, id string) (content, error) {
	var start content
	found, err := get(r, contentKey(id), &start)
	if err == nil && !found {
		err = corrupt(contentKey(id), "it is missing")
	}
	return start, err
}
