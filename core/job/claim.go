package job

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// dueBatch is how many waiting jobs one transaction makes ready when their time has come:
// few enough to delay no other transaction.
const dueBatch = 64

// clockSlack is how far a clock may go back before that counts.
const clockSlack = time.Second

// Claim gives a holder the next job of these types, or nil if none may run. It is a job of the
// tenant that this process served longest ago and, among the first jobs of the tenant's users,
// the job of the user who was served longest ago. Workflow jobs come after jobs of the other
// types. If jobs are divided into shards ([Repository.Divide]), the order of users holds within
// a shard. Only a registered holder may claim; a [Pool] is registered while it works.
//
// A job whose record is damaged is set aside, so that it doesn't delay other users. An
// error, which may come together with a job, reports it. A check finds such a job, and a
// rebuild puts it back once its record can be read.
func (r *Repository) Claim(ctx context.Context, holder string, types []Type) (claimed *Claimed, err error) {
	return r.claim(ctx, holder, types, standing{})
}

// standing is what a pool's running jobs mean for the next one.
type standing struct {
	// crowded makes tenants that have many workers come last; nil means none has.
	crowded crowd
	// full reports whether no workflow of a user, or in a namespace, may start; nil means that any may.
	full func(user, namespace string) bool
	// suspect is whether a suspect runs, so that no other one may.
	suspect bool
}

// claim is Claim for a pool with running jobs.
func (r *Repository) claim(ctx context.Context, holder string, types []Type, now standing) (claimed *Claimed, err error) {
	if !validID(holder) {
		return nil, sdk.Errorf(sdk.Invalid, "job_holder_invalid", "%q can't be a holder of jobs", core.Cut(holder))
	}
	all := r.known.wentBack(r.clock.Now())
	seen, err := r.readOverview(ctx)
	var damage []error
	if err == nil && seen.divided {
		seen, damage, err = r.wakeShards(ctx, seen, holder, all)
	}
	if err != nil {
		r.known.forgetClock()
		return nil, sdk.Wrap("claim a job", core.JoinErrors(append(damage, err)...))
	}
	list := []shard{""}
	if seen.divided {
		list = r.turns.sort(seen.worth(r.known.beginAt(holder), types), types, now)
	}
	for _, s := range list {
		got, met, err := r.claimIn(ctx, s, holder, types, now, all && !seen.divided)
		damage = append(damage, met...)
		if err != nil {
			r.known.forgetClock()
			r.turns.forget()
			damage = append(damage, err)
			if !table.Corrupt(err) {
				break
			}
		}
		if got != nil {
			claimed = got
			r.known.noteClaim(holder, s)
			r.turns.started(s, &got.Job)
			break
		}
	}
	return claimed, sdk.Wrap("claim a job", core.JoinErrors(damage...))
}

// wakeShards makes the jobs of divided shards ready whose time has come, and looks again, so that
// these jobs have their turn too. met is what is wrong with jobs that were set aside.
func (r *Repository) wakeShards(ctx context.Context, seen *overview, holder string, all bool) (again *overview, met []error, err error) {
	again = seen
	now, woke := r.clock.Now(), false
	for _, at := range seen.shards {
		if at.due.IsZero() || !all && at.due.After(now) {
			continue
		}
		_, damage, err := r.claimIn(ctx, at.shard, holder, nil, standing{}, all)
		met, woke = append(met, damage...), true
		if err != nil && !table.Corrupt(err) {
			return seen, met, err
		}
		if err != nil {
			r.known.forgetClock() // the next claim looks at the shard again
			met = append(met, err)
		}
	}
	if woke {
		again, err = r.readOverview(ctx)
	}
	return again, met, err
}

// claimIn is Claim in a shard. damage is what is wrong with jobs that were set aside.
func (r *Repository) claimIn(ctx context.Context, s shard, holder string, types []Type, now standing, all bool) (claimed *Claimed, damage []error, err error) {
	for again := true; again; {
		var met []error
		err = r.update(ctx, func(c *change, _ *journal.Tx) error {
			claimed, again = nil, false
			if yes, err := divided(c); err != nil || yes != (s != "") {
				return err // another host divided the jobs: the next look shows it
			}
			due, err := c.wakeDue(s, all)
			if again = due == dueBatch; err == nil && !again {
				claimed, err = c.claim(s, holder, types, now)
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
			rec, err := records.Named(c, s.waiting().directoryKey(), id)
			if err != nil && !table.Corrupt(err) {
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
		if table.Corrupt(err) {
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
	rec, err := records.Named(c, []byte(waitPrefix), id)
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
func (c *change) claim(s shard, holder string, types []Type, now standing) (*Claimed, error) {
	for {
		at, err := c.turns.next(c, s, types, now)
		if err != nil || at.item == "" {
			return nil, err
		}
		rec, start, err := c.startable(at)
		if err == nil && now.suspect && rec.suspect(c.options) {
			rec.putOff(c, suspectPause)
			if err := c.save(rec); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil {
			return c.start(rec, start, holder)
		}
		if table.Corrupt(err) {
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
	if rec, err = records.Named(c, []byte(readyPrefix), id); err != nil {
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
	var err error
	if rec.Mark, err = c.mark(rec, start.Payload); err != nil {
		return nil, err
	}
	if err := c.save(rec); err != nil {
		return nil, err
	}
	claimed := &Claimed{Job: rec.shown(), Held: rec.lease(), Caller: start.Caller.caller(), suspect: rec.suspect(c.options)}
	claimed.Payload = start.Payload
	return claimed, c.appendEvents(rec.UserID, journal.JobStarted{JobRef: ref(rec, now.Sub(rec.QueuedAt)), Epoch: rec.Epoch})
}

// NextDue returns when the first waiting job may run; the zero time if none waits.
func (r *Repository) NextDue(ctx context.Context) (due time.Time, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		due = time.Time{}
		if yes, err := divided(reader); err != nil || yes {
			seen, unseen := scanShards(reader, nil)
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
