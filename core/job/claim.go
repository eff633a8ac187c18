package job

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// dueBatch is how many waiting jobs one transaction makes ready when their time has come:
// few enough to delay no other transaction.
const dueBatch = 64

// clockSlack is how far a clock may go back before that counts.
const clockSlack = time.Second

// Claim gives a holder the next job of these types, or nil if none may run. Among the first
// jobs of all users, it is the job of the user who was served longest ago. Workflow jobs
// come after jobs of the other types, in the order in which they were queued. If jobs are
// divided into shards ([Repository.Divide]), this order holds within a shard. Only a
// registered holder may claim; a [Pool] is registered while it works.
//
// A job whose record is damaged is set aside, so that it doesn't delay other users. An
// error, which may come together with a job, reports it. A check finds such a job, and a
// rebuild puts it back once its record can be read.
func (r *Repository) Claim(ctx context.Context, holder string, types []Type) (claimed *Claimed, err error) {
	if !validID(holder) {
		return nil, sdk.Errorf(sdk.Invalid, "job_holder_invalid", "%q can't be a holder of jobs", core.Cut(holder))
	}
	all := r.clockWentBack()
	seen, err := r.look(ctx)
	if err != nil {
		r.forgetClock()
		return nil, sdk.Wrap("claim a job", err)
	}
	var damage []error
	for _, s := range seen.worth(r.beginAt(holder), types, all, r.clock.Now()) {
		want := types
		if claimed != nil {
			if !all {
				break
			}
			want = nil // in the other shards, only wake jobs that have waited too long because the clock went back
		}
		got, met, err := r.claimIn(ctx, s, holder, want, all)
		damage = append(damage, met...)
		if err != nil {
			r.forgetClock()
			damage = append(damage, err)
			if !isCorrupt(err) {
				break
			}
		}
		if got != nil {
			claimed = got
			r.noteClaim(holder, s)
		}
	}
	return claimed, sdk.Wrap("claim a job", core.JoinErrors(damage...))
}

// claimIn is Claim in a shard. damage is what is wrong with jobs that were set aside.
func (r *Repository) claimIn(ctx context.Context, s shard, holder string, types []Type, all bool) (claimed *Claimed, damage []error, err error) {
	for again := true; again; {
		var met []error
		err = r.update(ctx, func(c *change, _ *journal.Tx) error {
			claimed, again = nil, false
			if yes, err := divided(c); err != nil || yes != (s != "") {
				return err // another host divided the jobs: the next look shows it
			}
			due, err := c.wakeDue(s, all)
			if again = due == dueBatch; err == nil && !again {
				claimed, err = c.claim(s, holder, types)
			}
			met = c.damage
			return err
		})
		if err != nil {
			return nil, damage, err
		}
		damage = append(damage, met...)
	}
	return claimed, damage, nil
}

// clockWentBack reports whether the clock shows an earlier time than before, or hasn't been
// read yet. In both cases, any waiting job may be waiting for a wrong time.
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

// forgetClock makes the next claim look at all waiting jobs, since this one failed to.
func (r *Repository) forgetClock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest = time.Time{}
}

// wakeDue makes waiting jobs of a shard ready, and returns how many: jobs whose time has
// come, and, if all is set, jobs that would wait longer than they were postponed, because
// the clock went back. The first kind comes first in the order of times; for the second
// kind it has to look at all waiting jobs.
func (c *change) wakeDue(s shard, all bool) (int, error) {
	var items []string
	var failed error
	err := s.waiting().each(c, func(item string) bool {
		order, id := parts(item)
		at := orderTime(order)
		if all {
			rec, err := named(c, s.waiting().directoryKey(), id)
			if err != nil && !isCorrupt(err) {
				failed = err
				return false
			}
			if err != nil || due(at, rec.Wait, c.now) {
				items = append(items, item)
			}
			return len(items) < dueBatch
		}
		if at.After(c.now) {
			return false
		}
		items = append(items, item)
		return len(items) < dueBatch
	})
	if err = core.JoinErrors(err, failed); err != nil {
		return 0, err
	}
	for _, item := range items {
		err := c.wakeOne(item)
		if isCorrupt(err) {
			err = c.setAside(spot{s.waiting(), item}, err)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(items), nil
}

// wakeOne makes a waiting job ready.
func (c *change) wakeOne(item string) error {
	_, id := parts(item)
	rec, err := named(c, []byte(waitPrefix), id)
	if err == nil && (rec.Status != StatusQueued || rec.NotBefore == nil) {
		err = corrupt(jobKey(id), "it is among those that wait for a time, and doesn't")
	}
	if err != nil {
		return err
	}
	rec.NotBefore, rec.Wait = nil, 0
	return c.save(rec)
}

// setAside removes a job that can't be read from the set that claims look at.
func (c *change) setAside(from spot, damage error) error {
	c.damage = append(c.damage, damage)
	return from.set.remove(c, from.item)
}

// claim starts the next job of a shard; nil if there is none.
func (c *change) claim(s shard, holder string, types []Type) (*Claimed, error) {
	for {
		at, err := nextReady(c, s, types)
		if err != nil || at.item == "" {
			return nil, err
		}
		rec, start, err := c.startable(at)
		if err == nil {
			return c.start(rec, start, holder)
		}
		if isCorrupt(err) {
			err = c.setAside(at, err)
		}
		if err != nil {
			return nil, err
		}
	}
}

// startable reads everything about the job that runs next, before anything is written.
func (c *change) startable(at spot) (rec *record, start content, err error) {
	_, id := parts(at.item)
	if rec, err = named(c, []byte(readyPrefix), id); err != nil {
		return nil, start, err
	}
	if rec.Status != StatusQueued || rec.NotBefore != nil {
		return nil, start, corrupt(jobKey(id), "it is among those that may run, and may not")
	}
	if name := queueOf(&rec.Job); name != "" {
		if _, err := readQueue(c, name); err != nil {
			return nil, start, err
		}
	}
	start, err = readContent(c, id)
	return rec, start, err
}

// start starts a job.
func (c *change) start(rec *record, start content, holder string) (*Claimed, error) {
	now := c.now
	rec.Status, rec.Holder, rec.StartedAt, rec.Reason = StatusRunning, holder, &now, ""
	rec.Epoch++
	rec.Attempts++
	rec.Progress, rec.ProgressAt = 0, nil
	if err := c.save(rec); err != nil {
		return nil, err
	}
	claimed := &Claimed{Job: rec.shown(), Held: rec.lease(), Caller: start.Caller.caller()}
	claimed.Payload = start.Payload
	return claimed, c.tell(rec.UserID, journal.JobStarted{JobRef: ref(rec, now.Sub(rec.QueuedAt)), Epoch: rec.Epoch})
}

// nextReady finds the spot of the shard's next job; the zero spot if there is none. It
// looks at the first item of each type.
func nextReady(r core.Reader, s shard, types []Type) (best spot, err error) {
	for _, t := range types {
		if !t.Queued() {
			continue
		}
		first, err := s.ready(t).first(r)
		if err != nil {
			return spot{}, err
		}
		if first != "" && (best.item == "" || first < best.item) {
			best = spot{s.ready(t), first}
		}
	}
	if best.item == "" && slices.Contains(types, Workflow) {
		first, err := s.ready(Workflow).first(r)
		return spot{s.ready(Workflow), first}, err
	}
	return best, nil
}

// NextDue returns when the first waiting job may run; the zero time if none waits.
func (r *Repository) NextDue(ctx context.Context) (due time.Time, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		due = time.Time{}
		if yes, err := divided(reader); err != nil || yes {
			seen, unseen := lookAt(reader, nil)
			due = seen.due
			return core.JoinErrors(err, unseen)
		}
		first, err := shard("").waiting().first(reader)
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
