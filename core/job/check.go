package job

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// part is whose data the problems are.
const part = "jobs"

// Checker proves that jobs agree with their indices, queues, counts and events. See FORMAT.md.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// derived are the prefixes of the keys that follow from one job's records.
func derived() []string {
	return []string{activePrefix, requestPrefix, runningPrefix, timePrefix, userPrefix, endPrefix, tookPrefix, memoryPrefix}
}

// summed are the prefixes of the keys that follow from the records of several jobs.
func summed() []string {
	return []string{queuePrefix, countPrefix, finishedPrefix, readyPrefix, waitPrefix, shardPrefix}
}

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checking{ctx: ctx, r: r, report: report, counts: map[shard]*counts{}, numbers: map[shard]uint64{}}
	shards, err := allShards(r)
	if isCorrupt(err) {
		return c.corrupt(err) // nothing else can be checked against it
	}
	if err != nil {
		return err
	}
	for _, s := range shards {
		n := newCounts()
		c.shards, c.counts[s] = append(c.shards, s), &n
	}
	for _, check := range []func() error{c.jobs, c.strays, c.queues, c.spots, c.sums, c.leftovers, c.fields, c.streams} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checking is a check under way.
type checking struct {
	ctx    context.Context
	r      core.Reader
	report func(core.Problem)
	// shards are the store's shards; counts count the jobs that were seen in each shard, and
	// numbers are the highest numbers of these jobs.
	shards  []shard
	counts  map[shard]*counts
	numbers map[shard]uint64
}

func (c *checking) problem(key []byte, rebuildable bool, message string) {
	c.report(core.Problem{Part: part, Key: DescribeKey(key), Message: message, Rebuildable: rebuildable})
}

// corrupt reports the error for a damaged record, and returns any other error.
func (c *checking) corrupt(err error) error {
	if !isCorrupt(err) {
		return err
	}
	at := sdk.AsError(err)
	key, _ := at.Details["key"].(string)
	rebuildable := slices.ContainsFunc(Checker{}.Derived(), func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	c.report(core.Problem{Part: part, Key: key, Message: at.Message, Rebuildable: rebuildable})
	return nil
}

// each calls fn for each key with a prefix. The key and value are the caller's.
func (c *checking) each(prefix string, fn func(key, value []byte) error) error {
	return core.ScanPrefix(c.r, []byte(prefix), func(key, value []byte) (bool, error) {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		key = bytes.Clone(key)
		return true, c.corrupt(fn(key, value))
	})
}

// jobs checks each job's records, and that its index keys exist.
func (c *checking) jobs() error {
	err := c.each(jobPrefix, func(key, _ []byte) error {
		id := string(key[len(jobPrefix):])
		rec, err := find(c.r, id)
		if err != nil {
			return err
		}
		if rec == nil {
			c.problem(key, false, "its key isn't a job's")
			return nil
		}
		if !rec.withinBounds() {
			c.problem(key, false, "a number of the job is out of its bounds")
		}
		s, err := shardOf(c.r, &rec.Job)
		if err != nil {
			return err
		}
		c.counts[s].add(rec, 1)
		c.numbers[s] = max(c.numbers[s], rec.Number)
		if _, err := readContent(c.r, id); err != nil {
			return err
		}
		want, err := expected(c.r, rec)
		if err != nil {
			return err
		}
		for _, e := range want {
			value, found, err := c.r.Get(e.key)
			if err != nil {
				return err
			}
			if !found || !bytes.Equal(value, e.value) {
				c.problem(e.key, true, "the index lacks job "+id+", or says something else of it")
			}
		}
		if err := c.inQueue(rec); err != nil {
			return err
		}
		return c.atSpot(rec)
	})
	if err != nil {
		return err
	}
	return c.highest()
}

// expected are all keys that follow from one job's records.
func expected(r core.Reader, rec *record) ([]entry, error) {
	list := entries(rec)
	memories, err := memoriesOf(r, rec.ID)
	if err != nil {
		return nil, err
	}
	for _, memory := range memories {
		list = append(list, entry{memoryKey(memory, rec.ID), nil})
	}
	return list, nil
}

// atSpot checks that a job that runs next is in the place where claims look for it.
func (c *checking) atSpot(rec *record) error {
	goes, err := goesNext(c.r, rec)
	if err != nil || !goes {
		return err
	}
	at, err := next(c.r, rec)
	if err != nil {
		return err
	}
	found, err := at.set.has(c.r, at.item)
	if err == nil && !found {
		c.problem(at.set.directoryKey(), true, "job "+rec.ID+" goes next, and isn't found there")
	}
	return err
}

// spots checks that the sets of ready and waiting jobs have only jobs that run next in their
// queues, and that their pages have the right form.
func (c *checking) spots() error {
	var sets []ordered
	for _, s := range c.shards {
		sets = append(sets, s.waiting())
		for _, t := range Types() {
			sets = append(sets, s.ready(t))
		}
	}
	pages := 0
	for _, s := range sets {
		directory, err := lines(c.r, s.directoryKey())
		if err != nil {
			return err
		}
		if len(directory) > 0 {
			pages += 1 + len(directory)
			if directory[len(directory)-1] != lastPage {
				c.problem(s.directoryKey(), true, "it has no last page")
			}
		}
		last := ""
		for _, upper := range directory {
			items, err := lines(c.r, s.pageKey(upper))
			if err != nil {
				return err
			}
			if len(items) == 0 || len(items) > pageItems || items[len(items)-1] > upper {
				c.problem(s.pageKey(upper), true, "the page isn't as the program writes it")
			}
			for _, item := range items {
				fits, err := c.fits(spot{s, item})
				if err != nil {
					return err
				}
				if !fits || item <= last {
					c.problem(s.pageKey(upper), true, "the page has an item that fits no job, or not in order")
				}
				last = item
			}
		}
	}
	stored := 0
	for _, prefix := range []string{readyPrefix, waitPrefix} {
		if err := c.each(prefix, func(_, _ []byte) error { stored++; return nil }); err != nil {
			return err
		}
	}
	err := c.each(shardPrefix, func(key, _ []byte) error {
		s, rest, _ := strings.Cut(string(key[len(shardPrefix):]), "/")
		switch {
		case string(key) == string(dividedKey()):
		case !slices.Contains(c.shards, shard(s)):
			c.problem(key, true, "the key is of no shard")
		case rest != shardCount:
			stored++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if stored != pages {
		c.problem([]byte(readyPrefix), true, "there are pages of what is ready or waits that aren't in their directory")
	}
	return nil
}

// fits reports whether a spot belongs to the job that it names.
func (c *checking) fits(at spot) (bool, error) {
	_, id := parts(at.item)
	rec, err := find(c.r, id)
	if isCorrupt(err) {
		return true, nil // the check of the record reports it
	}
	if err != nil || rec == nil {
		return false, err
	}
	goes, err := goesNext(c.r, rec)
	if err != nil || !goes {
		return false, err
	}
	want, err := next(c.r, rec)
	return want == at, err
}

// goesNext reports whether a job is the next one of its queue.
func goesNext(r core.Reader, rec *record) (bool, error) {
	name := queueOf(&rec.Job)
	if rec.Status != StatusQueued || name == "" {
		return rec.Status == StatusQueued, nil
	}
	q, err := readQueue(r, name)
	return q.first() == rec.ID, err
}

// inQueue checks that a job is in its queue, as waiting or as running.
func (c *checking) inQueue(rec *record) error {
	name := queueOf(&rec.Job)
	if name == "" || rec.Status.Terminal() {
		return nil
	}
	q, err := readQueue(c.r, name)
	if err != nil {
		return err
	}
	if rec.Status == StatusRunning && q.Running != rec.ID || rec.Status == StatusQueued && !slices.Contains(q.Jobs, rec.ID) {
		c.problem(queueKey(name), true, "job "+rec.ID+" isn't in the queue as what it is")
	}
	return nil
}

// strays reports keys of indices that follow from no job.
func (c *checking) strays() error {
	for _, prefix := range derived() {
		err := c.each(prefix, func(key, value []byte) error {
			fits, err := follows(c.r, prefix, key, value)
			if err == nil && !fits {
				c.problem(key, true, "the index has an entry that fits no job")
			}
			if isCorrupt(err) {
				return nil // the check of the record reports it
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether an index key follows from the job that it names.
func follows(r core.Reader, prefix string, key, value []byte) (bool, error) {
	rec, err := find(r, jobIn(prefix, key, value))
	if err != nil || rec == nil {
		return false, err
	}
	want, err := expected(r, rec)
	return slices.ContainsFunc(want, func(e entry) bool { return bytes.Equal(e.key, key) && bytes.Equal(e.value, value) }), err
}

// jobIn is the id of the job that an entry of an index names.
func jobIn(prefix string, key, value []byte) string {
	switch prefix {
	case activePrefix, requestPrefix:
		return string(value)
	case runningPrefix, memoryPrefix:
		return afterSlash(key)
	case timePrefix, endPrefix:
		return afterNumber(key, prefix)
	}
	// The others have a word before the number, which may hold a slash.
	word, _, _ := strings.Cut(string(key[len(prefix):]), "/")
	return afterNumber(key, prefix+word+"/")
}

// queues checks that each queue has only its own jobs, in order.
func (c *checking) queues() error {
	return c.each(queuePrefix, func(key, _ []byte) error {
		name := string(key[len(queuePrefix):])
		q, err := readQueue(c.r, name)
		if err != nil {
			return err
		}
		bad := q.Running == "" && len(q.Jobs) == 0
		check := func(id string, status Status) (number uint64, err error) {
			rec, err := find(c.r, id)
			if err == nil && (rec == nil || rec.Status != status || queueOf(&rec.Job) != name) {
				bad = true
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return rec.Number, nil
		}
		if q.Running != "" {
			if _, err := check(q.Running, StatusRunning); err != nil {
				return err
			}
		}
		last := uint64(0)
		for _, id := range q.Jobs {
			number, err := check(id, StatusQueued)
			if err != nil {
				return err
			}
			bad = bad || number <= last
			last = number
		}
		if bad {
			c.problem(key, true, "the queue has what isn't its own, or not in order")
		}
		return nil
	})
}

// highest checks that no job has a number above its shard's counter.
func (c *checking) highest() error {
	whole, err := readNumber(c.r, shard("").numberKey())
	if err != nil {
		return c.corrupt(err)
	}
	for _, s := range c.shards {
		highest, err := readNumber(c.r, s.numberKey())
		if err == nil && max(highest, whole) < c.numbers[s] {
			c.problem(s.numberKey(), true, "a job has a higher number")
		}
		if err := c.corrupt(err); err != nil {
			return err
		}
	}
	return nil
}

// sums checks the counts.
func (c *checking) sums() error {
	for _, s := range c.shards {
		stored, err := readCounts(c.r, s)
		if err == nil && string(core.MustJSON(stored)) != string(core.MustJSON(c.counts[s])) {
			c.problem(s.countKey(), true, "the counts of what waits and runs don't match the jobs")
		}
		if err := c.corrupt(err); err != nil {
			return err
		}
	}
	user, ended := "", uint64(0)
	done := func() error {
		if user == "" {
			return nil
		}
		n, err := readNumber(c.r, finishedKey(user))
		if err == nil && n != ended {
			c.problem(finishedKey(user), true, "the count of ended jobs isn't the user's")
		}
		return c.corrupt(err)
	}
	err := c.each(userPrefix, func(key, _ []byte) error {
		of, _, _ := strings.Cut(string(key[len(userPrefix):]), "/")
		if of != user {
			if err := done(); err != nil {
				return err
			}
			user, ended = of, 0
		}
		rec, err := find(c.r, afterNumber(key, userPrefix+of+"/"))
		if err == nil && rec != nil && rec.Status.Terminal() {
			ended++
		}
		if isCorrupt(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := done(); err != nil {
		return err
	}
	return c.each(finishedPrefix, func(key, _ []byte) error {
		of := string(key[len(finishedPrefix):])
		jobs, err := core.Suffixes(c.r, []byte(userPrefix+of+"/"), 1)
		if err == nil && len(jobs) == 0 {
			c.problem(key, true, "the user has no jobs")
		}
		return err
	})
}

// leftovers reports records of jobs that don't exist, and steps of jobs that have ended.
func (c *checking) leftovers() error {
	for _, prefix := range []string{contentPrefix, resultPrefix, stepPrefix} {
		err := c.each(prefix, func(key, _ []byte) error {
			id, _, _ := strings.Cut(string(key[len(prefix):]), "/")
			rec, err := find(c.r, id)
			switch {
			case isCorrupt(err):
				return nil
			case err != nil:
				return err
			case rec == nil:
				c.problem(key, false, "it belongs to a job that isn't there")
			case prefix == stepPrefix && rec.Status.Terminal(), prefix == resultPrefix && !rec.Status.Terminal():
				c.problem(key, false, "a job that is "+string(rec.Status)+" has none")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
