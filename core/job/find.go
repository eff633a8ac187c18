package job

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// DefaultListLimit is how many jobs [Repository.List] returns by default.
	DefaultListLimit = 50
)

// shown is the record's job as it is shown, without content.
func (rec *record) shown() Job {
	j := rec.Job
	if rec.Status == StatusRunning {
		j.Lease = &Lease{Holder: rec.Holder, Epoch: rec.Epoch}
	}
	return j
}

// Get returns a job with its payload, its result and its holder's beat.
func (r *Repository) Get(ctx context.Context, id string) (j *Job, err error) {
	err = r.view(ctx, func(reader core.Reader) (err error) {
		j, err = readJob(reader, id)
		return err
	})
	return j, err
}

// Peek returns a job without payload and result: everything that changes while it waits and
// runs. A caller that waits for a job calls it repeatedly.
func (r *Repository) Peek(ctx context.Context, id string) (j *Job, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		rec, err := read(reader, id)
		if err == nil {
			shown := rec.shown()
			j = &shown
		}
		return err
	})
	return j, err
}

func readJob(r core.Reader, id string) (*Job, error) {
	rec, err := read(r, id)
	if err != nil {
		return nil, err
	}
	j := rec.shown()
	start, err := readContent(r, id)
	if err != nil {
		return nil, err
	}
	var end result
	if rec.Status.Terminal() {
		if _, err := get(r, resultKey(id), &end); err != nil {
			return nil, err
		}
	}
	j.Payload, j.Result, j.Message, j.Failure = start.Payload, end.Result, end.Message, end.Failure
	if j.Lease != nil {
		var h holder
		if _, err := get(r, holderKey(rec.Holder), &h); err != nil {
			return nil, err
		}
		j.Lease.Beat = h.Beat
	}
	return &j, nil
}

// Locate returns the full id of the job whose id is prefix, or the only one whose id starts
// with prefix, and the job's namespace. If several match, the error is sdk.Conflict, reason
// "job_ambiguous", and names them.
func (r *Repository) Locate(ctx context.Context, prefix string) (id, namespace string, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		if id, err = findID(reader, prefix); err != nil {
			return err
		}
		rec, err := read(reader, id)
		if err == nil {
			namespace = rec.Namespace
		}
		return err
	})
	return id, namespace, err
}

// Find is [Repository.Get] of the job whose id is prefix, or the only one whose id starts
// with prefix. Its errors are [Repository.Locate]'s.
func (r *Repository) Find(ctx context.Context, prefix string) (j *Job, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		id, err := findID(reader, prefix)
		if err != nil {
			return err
		}
		j, err = readJob(reader, id)
		return err
	})
	return j, err
}

func findID(r core.Reader, prefix string) (string, error) {
	if !validID(prefix) {
		return "", Absent(prefix)
	}
	id, err := records.Find(r, "job", prefix)
	if err == nil && id == "" {
		err = Absent(prefix)
	}
	return id, err
}

// ListFilter selects jobs. A zero field selects all.
type ListFilter struct {
	UserID string
	Type   Type
	Status Status
	// Since leaves out jobs that were queued before; the zero time selects all.
	Since time.Time
	// May selects jobs by user and namespace.
	May func(userID, namespace string) bool
	// MayDo selects jobs by type and payload. If it is set, payloads are read. Nil selects
	// all.
	MayDo func(t Type, payload json.RawMessage) bool
	// Limit is how many are returned at most; 0 is [DefaultListLimit].
	Limit int
	// After continues an earlier list: it is the value that the list returned as next.
	After string
}

// List returns jobs without payload and result, the newest first, and the place where the
// next page begins; "" at the end. An invalid After is sdk.Invalid, reason "place_invalid".
func (r *Repository) List(ctx context.Context, f ListFilter) (jobs []Job, next string, err error) {
	if f.Limit <= 0 {
		f.Limit = DefaultListLimit
	}
	if f.UserID != "" && !core.ValidID(f.UserID) {
		return nil, "", nil // nobody has jobs by that name
	}
	index, start := timePrefix, timePrefix
	if f.UserID != "" {
		index, start = userPrefix, userPrefix+f.UserID+"/"
	}
	from := []byte(start)
	if f.After != "" {
		number, id, _ := strings.Cut(f.After, "/")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || !validID(id) {
			return nil, "", sdk.Errorf(sdk.Invalid, "place_invalid", "%q isn't a place in the list of jobs", core.Cut(f.After))
		}
		from = append(numbered(start, n, id), 0)
	}
	err = r.view(ctx, func(reader core.Reader) error {
		page, more, err := records.Page(reader, index, from, core.PrefixEnd([]byte(start)), f.Limit, func(_ string, rec *record) (bool, error) {
			if err := ctx.Err(); err != nil || !f.fits(rec) {
				return false, err
			}
			return f.mayDo(reader, rec)
		})
		jobs, next = nil, ""
		for _, rec := range page {
			jobs = append(jobs, rec.shown())
		}
		if more {
			last := page[len(page)-1]
			next = strconv.FormatUint(last.Number, 10) + "/" + last.ID
		}
		return err
	})
	return jobs, next, err
}

func (f *ListFilter) fits(rec *record) bool {
	return (f.Type == "" || f.Type == rec.Type) && (f.Status == "" || f.Status == rec.Status) && !rec.QueuedAt.Before(f.Since) && (f.May == nil || f.May(rec.UserID, rec.Namespace))
}

func (f *ListFilter) mayDo(r core.Reader, rec *record) (bool, error) {
	if f.MayDo == nil {
		return true, nil
	}
	asked, err := readContent(r, rec.ID)
	return err == nil && f.MayDo(rec.Type, asked.Payload), err
}

// Count is how many jobs of a type wait and run.
type Count struct {
	Type    Type `json:"type"`
	Queued  int  `json:"queued"`
	Running int  `json:"running"`
}

// Counts returns how many jobs wait and run, by type in the order of [Types].
func (r *Repository) Counts(ctx context.Context) (list []Count, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		n, err := readAllCounts(reader)
		list = nil
		for _, t := range Types() {
			list = append(list, Count{t, n.Queued[t], n.Running[t]})
		}
		return err
	})
	return list, err
}

// maxOldest is how many jobs of a type are looked at for [Repository.OldestWait].
const maxOldest = 1000

// OldestWait returns, by type, how long the oldest job that may begin now has waited. A
// type without such a job is absent. If a user's jobs run one after the other, only the
// first one counts, and only the first 1,000 jobs of each type count.
func (r *Repository) OldestWait(ctx context.Context) (waits map[Type]time.Duration, err error) {
	now := r.clock.Now()
	err = r.view(ctx, func(reader core.Reader) error {
		waits = map[Type]time.Duration{}
		looked := map[Type]int{}
		look := func(t Type, item string) bool {
			_, id := parts(item)
			if rec, err := read(reader, id); err == nil { // a check reports a damaged record
				waits[t] = max(waits[t], now.Sub(rec.QueuedAt))
			}
			looked[t]++
			return looked[t] < maxOldest && ctx.Err() == nil
		}
		if yes, err := divided(reader); err != nil || yes {
			_, unseen := scanShards(reader, func(_ shard, t Type, items []string) error {
				for _, item := range items {
					if looked[t] >= maxOldest || !look(t, item) {
						break
					}
				}
				return ctx.Err()
			})
			return core.JoinErrors(err, unseen)
		}
		for _, t := range Types() {
			if err := shard("").ready(t).each(reader, func(item string) bool { return look(t, item) }); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return waits, err
}

// workingLook is how long [Repository.Working] waits for a beat, and workingPoll how often it
// looks meanwhile. A pool's beat rises every 2 s.
const (
	workingLook = 5 * time.Second
	workingPoll = 200 * time.Millisecond
)

// Working reports whether a pool works on the queue: a pool of this process or, on a store
// that several processes have open, a pool whose beat rises while Working looks. It returns
// after 5 s if none does, and at once if no pool has a beat.
func (r *Repository) Working(ctx context.Context) (bool, error) {
	r.mu.Lock()
	working := len(r.held) > 0
	r.mu.Unlock()
	if working || r.options.Exclusive {
		return working, nil
	}
	before, err := r.beats(ctx)
	if err != nil || len(before) == 0 {
		return false, err
	}
	timeUp, poll := time.After(workingLook), time.NewTicker(workingPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-timeUp:
			return false, nil
		case <-poll.C:
		}
		now, err := r.beats(ctx)
		if err != nil {
			return false, err
		}
		for name, beat := range now {
			if beat != before[name] {
				return true, nil
			}
		}
	}
}

// beats are the beats of all pools that have one, by their holders' names.
func (r *Repository) beats(ctx context.Context) (beats map[string]uint64, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		beats = map[string]uint64{}
		return core.ScanPrefix(reader, []byte(holderPrefix), func(key, _ []byte) (bool, error) {
			var h holder
			_, err := get(reader, bytes.Clone(key), &h)
			beats[string(key[len(holderPrefix):])] = h.Beat
			return err == nil, err
		})
	})
	return beats, err
}

const (
	// medianOf is how many of the newest durations count for an estimate, and defaultTook is
	// the assumed duration of a job if no job of its type has completed.
	medianOf    = 20
	defaultTook = 30 * time.Second
)

// ETA estimates the time until a waiting or running job has ended, in whole seconds: the
// median of its type's newest 20 durations, times the number of jobs in its queue up to and
// including itself. It is 0 for a job that has ended.
func (r *Repository) ETA(ctx context.Context, id string) (wait time.Duration, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		wait, err = ETA(reader, id)
		return err
	})
	return wait, err
}

// ETA is [Repository.ETA] within a transaction, such as the transaction that made the job:
// after its commit the job may already have ended.
func ETA(r core.Reader, id string) (time.Duration, error) {
	rec, err := read(r, id)
	if err != nil || rec.Status.Terminal() {
		return 0, err
	}
	took, err := median(r, rec.Type)
	if err != nil {
		return 0, err
	}
	ahead := 0
	if name := queueOf(&rec.Job); name != "" && rec.Status == StatusQueued {
		q, err := readQueue(r, name)
		if err != nil {
			return 0, err
		}
		if ahead = max(0, slices.Index(q.Jobs, id)); q.Running != "" {
			ahead++
		}
	}
	return time.Duration(math.Ceil((time.Duration(ahead+1) * took).Seconds())) * time.Second, nil
}

// median is the median of the newest durations of a type's completed jobs.
func median(r core.Reader, t Type) (time.Duration, error) {
	var took []time.Duration
	err := core.ScanPrefix(r, []byte(tookPrefix+string(t)+"/"), func(key, value []byte) (bool, error) {
		millis, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return false, corrupt(key, "it is no duration")
		}
		took = append(took, time.Duration(millis)*time.Millisecond)
		return len(took) < medianOf, nil
	})
	if err != nil || len(took) == 0 {
		return defaultTook, err
	}
	slices.Sort(took)
	if n := len(took); n%2 == 0 {
		return (took[n/2-1] + took[n/2]) / 2, nil
	}
	return took[len(took)/2], nil
}
