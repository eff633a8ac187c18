package job

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// A job's record contains everything that its indices contain. So a change writes the
// record, and one function here makes everything else from the old and the new record. A
// check and a rebuild use the same functions, so they can't expect anything else.

// change is a transaction on jobs.
type change struct {
	core.Tx
	ctx     context.Context
	options *Options
	now     time.Time
	// notifier sends notifications about jobs that end; nil if no notification is needed.
	notifier *notifier
	// elsewhere is about how many jobs wait in other shards; nil means none.
	elsewhere func(shard) int
	// turns are notified of ready jobs; nil if nobody claims.
	turns *turns
	// damage is what is wrong with jobs that were set aside.
	damage []error
}

// appender is a transaction that passes the events which it appended to subscribers, once
// it is committed.
type appender interface {
	Append(stream string, events ...journal.Event) error
}

// appendEvents appends events to the stream of a user's jobs.
func (c *change) appendEvents(user string, events ...journal.Event) error {
	if tx, ok := c.Tx.(appender); ok {
		return tx.Append(Stream(user), events...)
	}
	return journal.Append(c.ctx, c.Tx, Stream(user), c.now, events...)
}

// queue has one queue's waiting jobs and its running job.
type queue struct {
	Running string   `json:"running,omitempty"`
	Jobs    []string `json:"jobs,omitempty"`
}

func readQueue(r core.Reader, name string) (q queue, err error) {
	_, err = get(r, queueKey(name), &q)
	return q, err
}

func putQueue(tx core.Tx, name string, q *queue) error {
	if q.Running == "" && len(q.Jobs) == 0 {
		return tx.Delete(queueKey(name))
	}
	return put(tx, queueKey(name), q)
}

// first is the job that runs next; "" if there is none, or if a job of the queue is
// running.
func (q *queue) first() string {
	if q.Running != "" || len(q.Jobs) == 0 {
		return ""
	}
	return q.Jobs[0]
}

// counts are how many jobs of each type wait and run.
type counts struct {
	Queued  map[Type]int `json:"queued"`
	Running map[Type]int `json:"running"`
}

func newCounts() counts { return counts{map[Type]int{}, map[Type]int{}} }

// readCounts reads the counts of a shard.
func readCounts(r core.Reader, s shard) (counts, error) {
	value, found, err := r.Get(s.countKey())
	if err != nil || !found {
		return newCounts(), err
	}
	return decodeCounts(s.countKey(), value)
}

func decodeCounts(key, value []byte) (counts, error) {
	n := newCounts()
	if err := json.Unmarshal(value, &n); err != nil || n.Queued == nil || n.Running == nil {
		return newCounts(), corrupt(key, "it isn't how many jobs wait and run")
	}
	return n, nil
}

// readAllCounts reads the counts of all shards together.
func readAllCounts(r core.Reader) (counts, error) {
	if yes, err := divided(r); err != nil || !yes {
		n, unread := readCounts(r, "")
		return n, core.JoinErrors(err, unread)
	}
	seen, err := scanShards(r, nil)
	return seen.counts, err
}

// sum adds other counts.
func (n *counts) sum(other *counts) {
	for t, queued := range other.Queued {
		addTo(n.Queued, t, queued)
	}
	for t, running := range other.Running {
		addTo(n.Running, t, running)
	}
}

// add counts a job under its status, or, with -1, removes it from the count.
func (n *counts) add(rec *record, by int) {
	switch rec.Status {
	case StatusQueued:
		addTo(n.Queued, rec.Type, by)
	case StatusRunning:
		addTo(n.Running, rec.Type, by)
	}
}

func addTo(m map[Type]int, t Type, by int) {
	if m[t] += by; m[t] == 0 {
		delete(m, t)
	}
}

// total is how many jobs wait.
func (n *counts) total() (sum int) {
	for _, queued := range n.Queued {
		sum += queued
	}
	return sum
}

func putCounts(tx core.Tx, s shard, n *counts) error {
	if len(n.Queued) == 0 && len(n.Running) == 0 {
		return tx.Delete(s.countKey())
	}
	return put(tx, s.countKey(), n)
}

// ended is when it ended; zero for a job that hasn't.
func (rec *record) ended() (at time.Time) {
	if rec.CompletedAt != nil {
		at = *rec.CompletedAt
	}
	return at
}

// took is the duration of its last attempt; 0 for a job that never began.
func (rec *record) took() time.Duration {
	if rec.StartedAt == nil {
		return 0
	}
	return max(0, rec.ended().Sub(*rec.StartedAt))
}

// nextOf is the spot of the job that runs next in a queue; the zero spot if there is none.
// known is a record that the caller already has; nil if none.
func nextOf(r core.Reader, name string, q *queue, known *record) (spot, error) {
	id := q.first()
	if id == "" {
		return spot{}, nil
	}
	if known == nil || known.ID != id {
		var err error
		if known, err = records.Named(r, queueKey(name), id); err != nil {
			return spot{}, err
		}
	}
	return next(r, known)
}

// save writes a job's record with everything that follows from it. The old record is the
// stored record.
func (c *change) save(rec *record) error {
	old, err := find(c, rec.ID)
	if err != nil {
		return err
	}
	if err := c.saveQueue(old, rec); err != nil {
		return err
	}
	if err := records.Index(c, rec.ID, old, rec); err != nil {
		return err
	}
	return c.count(old, rec)
}

// saveQueue writes the record, and its place among the others of its queue.
func (c *change) saveQueue(old, rec *record) error {
	name := queueOf(&rec.Job)
	var q queue
	var before, after spot
	var err error
	if name == "" {
		if old != nil && old.Status == StatusQueued {
			before, err = next(c, old)
		}
	} else if q, err = readQueue(c, name); err == nil {
		before, err = nextOf(c, name, &q, old)
	}
	if err != nil {
		return err
	}
	if err := put(c, jobKey(rec.ID), rec); err != nil {
		return err
	}
	if name == "" {
		if rec.Status == StatusQueued {
			after, err = next(c, rec)
		}
	} else {
		if err = c.served(name, old, rec); err == nil && q.change(old, rec) {
			err = putQueue(c, name, &q)
		}
		if err == nil {
			after, err = c.first(name, &q, rec)
		}
	}
	if err != nil {
		return err
	}
	c.turns.note(after)
	return move(c, before, after)
}

// first is the spot of a queue's first job after a change. If the job has just become the
// first, its time may have come meanwhile, or may be wrong because the clock went back.
// In both cases the job is ready.
func (c *change) first(name string, q *queue, changed *record) (spot, error) {
	if id := q.first(); id != "" && id != changed.ID {
		head, err := records.Named(c, queueKey(name), id)
		if err != nil {
			return spot{}, err
		}
		if head.NotBefore != nil && due(*head.NotBefore, head.Wait, c.now) {
			head.NotBefore, head.Wait = nil, 0
			if err := put(c, jobKey(id), head); err != nil {
				return spot{}, err
			}
		}
		return next(c, head)
	}
	return nextOf(c, name, q, changed)
}

// due reports whether a job that was postponed until a time, by wait nanoseconds, needn't
// wait any longer: the time has come, or it is further away than wait, because the clock
// went back.
func due(at time.Time, wait int64, now time.Time) bool {
	left := at.Sub(now)
	return left <= 0 || left > time.Duration(wait)+clockSlack
}

// served records that a queue's job starts: the queue is now the last one that was
// served.
func (c *change) served(name string, old, rec *record) error {
	if rec.Status != StatusRunning || old == nil || old.Status != StatusQueued {
		return nil
	}
	s, err := shardIn(c, name)
	if err != nil {
		return err
	}
	n, err := c.countOn(shard.servedKey, s, 0)
	if err != nil {
		return err
	}
	return putNumber(c, servedKey(name), n)
}

// change updates the queue after a job of it changed its status, and reports whether the
// queue changed. A job that goes back to its queue becomes the first again, as before its
// start.
func (q *queue) change(old, rec *record) bool {
	if old != nil && old.Status == rec.Status {
		return false
	}
	if q.Running == rec.ID {
		q.Running = ""
	}
	q.Jobs = slices.DeleteFunc(q.Jobs, func(id string) bool { return id == rec.ID })
	switch {
	case rec.Status == StatusRunning:
		q.Running = rec.ID
	case rec.Status == StatusQueued && old == nil:
		q.Jobs = append(q.Jobs, rec.ID)
	case rec.Status == StatusQueued:
		q.Jobs = slices.Insert(q.Jobs, 0, rec.ID)
	}
	return true
}

// count updates how many jobs wait, run and have ended.
func (c *change) count(old, rec *record) error {
	if old != nil && old.Status == rec.Status {
		return nil
	}
	s, err := shardOf(c, &rec.Job)
	if err != nil {
		return err
	}
	n, err := readCounts(c, s)
	if err != nil {
		return err
	}
	if old != nil {
		n.add(old, -1)
	}
	n.add(rec, 1)
	if err := putCounts(c, s, &n); err != nil || !rec.Status.Terminal() {
		return err
	}
	ended, err := readNumber(c, finishedKey(rec.UserID))
	if err != nil {
		return err
	}
	return putNumber(c, finishedKey(rec.UserID), ended+1)
}
