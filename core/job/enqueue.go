package job

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// Request asks for a job.
type Request struct {
	// UserID is the job's user, in the form of a memory's id; Namespace is what it works on.
	UserID    string
	Namespace string
	Type      Type
	// Payload is what to do, up to [MaxPayloadBytes] of JSON, or [MaxWorkflowBytes], in the form that the type's
	// handler expects. A memory's content is in an object with its memory_id, so that a purge
	// finds it there. Memories names the memories whose content is elsewhere in the payload.
	Payload  json.RawMessage
	Memories []string
	// IdempotencyKey has up to 128 bytes. A second request with the same key gets the job of
	// the first request. It is valid for the user, type and namespace, as long as the job is
	// kept. A workflow must have one.
	IdempotencyKey string
	// Forced counts against the user's limit of forced jobs.
	Forced bool
	// NotBefore postpones the job; zero doesn't. It may be up to Options.MaxWait ahead.
	NotBefore time.Time
}

// Enqueued is the outcome of a request.
type Enqueued struct {
	// Job is the new job, or an existing job.
	Job
	// Made is whether the request made the job. If not, it is the active job of the same user,
	// type and namespace, or an earlier job with the same idempotency key.
	Made bool
}

// validate reports all that is wrong with a request.
func (q *Request) validate() error {
	var problems []error
	add := func(field, format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "job_invalid", "%s %s", field, fmt.Sprintf(format, args...)).WithDetail("field", field))
	}
	if !core.ValidID(q.UserID) || core.CheckNamespace(q.UserID) != nil {
		add("user_id", "%q isn't 1 to %d of A-Z a-z 0-9 _ : . @ -, or is a dot", core.Cut(q.UserID), core.MaxIDBytes)
	}
	if err := core.CheckNamespace(q.Namespace); err != nil {
		problems = append(problems, err)
	}
	if !validType(q.Type) {
		add("type", "is %q, not one of %v", core.Cut(string(q.Type)), Types())
	}
	if q.Type == Workflow && q.IdempotencyKey == "" {
		add("idempotency_key", "is empty: a workflow job has one")
	}
	if !validWord(q.IdempotencyKey) {
		add("idempotency_key", "isn't up to %d bytes of UTF-8 without control characters", core.MaxIDBytes)
	}
	if most := q.Type.maxPayload(); len(q.Payload) > most {
		add("payload", "has %d bytes (limit %d)", len(q.Payload), most)
	} else if len(q.Payload) > 0 && !json.Valid(q.Payload) {
		add("payload", "isn't JSON")
	}
	return core.JoinErrors(append(problems, checkMemories(q.Memories))...)
}

// maxMemories bounds the memories whose content one part of a job holds.
const maxMemories = 1000

// checkMemories refuses ids that no memory can have.
func checkMemories(ids []string) error {
	if len(ids) > maxMemories {
		return sdk.Errorf(sdk.Invalid, "job_invalid", "%d memories (limit %d)", len(ids), maxMemories).WithDetail("field", "memories")
	}
	for _, id := range ids {
		if !core.ValidID(id) {
			return sdk.Errorf(sdk.Invalid, "job_invalid", "%q can't be the id of a memory", core.Cut(id)).WithDetail("field", "memories")
		}
	}
	return nil
}

// validWord reports whether a text from outside may be stored unchanged in a record.
func validWord(s string) bool {
	return len(s) <= core.MaxIDBytes && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Enqueue makes a job, in its own transaction.
func (r *Repository) Enqueue(ctx context.Context, q *Request) (made *Enqueued, err error) {
	if err := r.refreshOverview(ctx); err != nil {
		return nil, sdk.Wrap("enqueue", err)
	}
	err = r.journal.Update(ctx, func(tx *journal.Tx) error {
		made, err = r.enqueue(r.change(ctx, tx, tx.Now()), q)
		return err
	})
	return made, sdk.Wrap("enqueue", err)
}

// EnqueueTx is Enqueue within the caller's transaction, so that a job and its cause are one commit.
// The transaction appends the job's events, if it is a transaction of the journal.
//
// If the user has an active job of the type in the namespace, that job is returned. Too
// many forced jobs of a user are sdk.Exhausted, reason [RateLimited]. A full queue has the
// reason [QueueFull]: it is sdk.Exhausted for the user's own queue, and sdk.Unavailable for
// the whole queue. A refusal writes nothing, so the transaction may continue without a job.
func (r *Repository) EnqueueTx(ctx context.Context, tx core.Tx, q *Request) (*Enqueued, error) {
	made, err := r.enqueue(r.change(ctx, tx, r.clock.Now()), q)
	return made, sdk.Wrap("enqueue", err)
}

func (r *Repository) enqueue(c *change, q *Request) (*Enqueued, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	rec := &record{Job: Job{
		UserID: q.UserID, Namespace: q.Namespace, Type: q.Type, Status: StatusQueued, IdempotencyKey: q.IdempotencyKey,
		Forced: q.Forced, QueuedAt: c.now,
	}}
	if earlier, err := c.earlier(rec); err != nil || earlier != nil {
		return earlier, err
	}
	rec.ID = r.ids.NewID()
	s, err := shardOf(c, &rec.Job)
	if err != nil {
		return nil, err
	}
	// A refusal writes nothing, so the caller's transaction may continue without a job.
	if err := c.room(rec, s); err != nil {
		return nil, err
	}
	if q.Forced {
		if err := c.force(q.UserID); err != nil {
			return nil, err
		}
	}
	if wait := q.NotBefore.Sub(c.now); !q.NotBefore.IsZero() && wait > 0 {
		rec.putOff(c, wait)
	}
	if rec.Number, err = c.nextNumber(s); err != nil {
		return nil, err
	}
	start := content{Payload: q.Payload, Caller: storedCaller(core.CallerOf(c.ctx))}
	if start.Payload, start.Memories, _, err = c.keep(rec.ID, q.Payload, q.Memories); err != nil {
		return nil, err
	}
	if err := put(c, contentKey(rec.ID), start); err != nil {
		return nil, err
	}
	if err := c.save(rec); err != nil {
		return nil, err
	}
	err = c.appendEvents(rec.UserID, journal.JobQueued{JobRef: ref(rec, 0), Namespace: rec.Namespace, Forced: rec.Forced})
	return &Enqueued{Job: rec.Job, Made: true}, err
}

// earlier is the existing job that a request gets: the job with its idempotency key, or the
// active job of its user, type and namespace; nil if there is none.
func (c *change) earlier(rec *record) (*Enqueued, error) {
	var keys [][]byte
	if rec.IdempotencyKey != "" {
		keys = append(keys, requestKey(&rec.Job))
	}
	if rec.Type.Queued() {
		keys = append(keys, activeKey(rec.UserID, rec.Type, rec.Namespace))
	}
	for _, key := range keys {
		id, found, err := c.Get(key)
		if err != nil {
			return nil, err
		}
		if found {
			earlier, err := records.Named(c, key, string(id))
			if err != nil {
				return nil, err
			}
			return &Enqueued{Job: earlier.shown()}, nil
		}
	}
	return nil, nil
}

// room refuses a job that there is no room for.
func (c *change) room(rec *record, s shard) error {
	waiting, limit, code, whose := 0, c.options.QueuePerUser, sdk.Exhausted, "the user's"
	n, err := readCounts(c, s)
	if err != nil {
		return err
	}
	total := n.total() + c.elsewhere(s)
	if name := queueOf(&rec.Job); name != "" {
		q, err := readQueue(c, name)
		if err != nil {
			return err
		}
		waiting = len(q.Jobs)
	} else if limit = c.options.WorkflowsPerUser; n.Queued[Workflow] >= limit {
		if waiting, err = c.waitingWorkflows(rec.UserID, limit); err != nil {
			return err
		}
	}
	if total >= c.options.QueueTotal {
		waiting, limit, code, whose = total, c.options.QueueTotal, sdk.Unavailable, "the"
	}
	if waiting < limit {
		return nil
	}
	return sdk.Errorf(code, QueueFull, "%s queue is full: %d jobs wait (limit %d)", whose, waiting, limit).
		WithHint("try again when some have ended").WithDetail("queued", waiting).WithDetail("limit", limit)
}

// waitingWorkflows counts a user's waiting workflow jobs, up to a limit. It is called only
// if all users together have that many.
func (c *change) waitingWorkflows(user string, limit int) (n int, err error) {
	start := userPrefix + user + "/"
	err = core.ScanPrefix(c, []byte(start), func(key, _ []byte) (bool, error) {
		rec, err := records.Named(c, key, afterNumber(key, start))
		if err == nil && rec.Type == Workflow && rec.Status == StatusQueued {
			n++
		}
		return n < limit, err
	})
	return n, err
}

// force counts a forced job of a user, or refuses it. A recorded time that is later than
// now, because the clock went back, counts as now.
func (c *change) force(user string) error {
	var made []time.Time
	if _, err := get(c, forcedKey(user), &made); err != nil {
		return err
	}
	now, err := c.sharedTime()
	if err != nil {
		return err
	}
	recent := recentTimes(made, now, c.options.ForcedWindow)
	if len(recent) >= c.options.Forced {
		free := recent[len(recent)-c.options.Forced].Add(c.options.ForcedWindow).Sub(now)
		seconds := int(math.Ceil(free.Seconds()))
		return sdk.Errorf(sdk.Exhausted, RateLimited, "user %s has made %d forced jobs in the last %s (limit %d)",
			user, len(recent), c.options.ForcedWindow, c.options.Forced).
			WithHint("try again in %d s", seconds).WithDetail("retry_after_seconds", seconds)
	}
	return put(c, forcedKey(user), append(recent, now))
}

// sharedTime is the time that all hosts of the store use for counting.
func (c *change) sharedTime() (time.Time, error) {
	if c.options.Time == nil {
		return c.now, nil
	}
	now, err := c.options.Time(c)
	if err == nil && now.IsZero() {
		now = c.now
	}
	return now, err
}

// recentTimes are the times within a window before now, in order.
func recentTimes(times []time.Time, now time.Time, window time.Duration) []time.Time {
	var recent []time.Time
	for _, at := range times {
		if at.After(now) {
			at = now
		}
		if now.Sub(at) < window {
			recent = append(recent, at)
		}
	}
	return recent
}

// putOff postpones a job.
func (rec *record) putOff(c *change, wait time.Duration) {
	wait = min(wait, c.options.MaxWait)
	at := c.now.Add(wait)
	rec.NotBefore, rec.Wait = &at, int64(wait)
}

// PostponeTx postpones a waiting job further, such as a job that collects everything that
// arrives within some time, and reports whether it did. It doesn't change a job that has
// started, whose time has come, or whose time is later already. A job is never postponed
// beyond latest.
func (r *Repository) PostponeTx(ctx context.Context, tx core.Tx, id string, until, latest time.Time) (bool, error) {
	c := r.change(ctx, tx, r.clock.Now())
	rec, err := read(c, id)
	if err != nil {
		return false, err
	}
	if until.After(latest) {
		until = latest
	}
	began := rec.Status != StatusQueued || rec.Epoch > 0
	if began || rec.NotBefore == nil || !until.After(*rec.NotBefore) || !until.After(c.now) {
		return false, nil
	}
	rec.putOff(c, until.Sub(c.now))
	return true, c.save(rec)
}

// ref is the description of a job in events; in is how long the job was in its last status.
func ref(rec *record, in time.Duration) journal.JobRef {
	return journal.JobRef{
		JobID: rec.ID, Type: string(rec.Type), Attempt: rec.Attempts,
		LatencyMillis: float64(max(0, in).Microseconds()) / 1000,
	}
}
