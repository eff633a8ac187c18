package job

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// Checker proves that jobs agree with their indices, queues, counts and events. See FORMAT.md.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// placed are the prefixes of the keys that count jobs by their shards, and say which run next.
func placed() []string { return []string{countPrefix, readyPrefix, waitPrefix, shardPrefix} }

// Derived implements [core.Rebuilder]: the indices, the queues and the counts.
func (Checker) Derived() []string { return append(records.Derived(), placed()...) }

// Rows are the rows of its kinds in the description of the format.
func (Checker) Rows() []string { return table.Part{&records, &contents, &results, &steps}.Rows() }

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checking{ctx: ctx, r: r, report: report, counts: map[shard]*counts{}, numbers: map[shard]uint64{}}
	shards, err := allShards(r)
	if err != nil {
		return c.corrupt(err) // nothing else can be checked against it
	}
	for _, s := range shards {
		n := newCounts()
		c.shards, c.counts[s] = append(c.shards, s), &n
	}
	for _, check := range []func() error{
		func() error { return records.Check(ctx, r, report, c.job) }, c.highest, c.spots, c.sums,
		func() error { return apart(c, &contents, func(Status) bool { return true }) },
		func() error { return apart(c, &results, Status.Terminal) },
		func() error { return apart(c, &steps, func(s Status) bool { return !s.Terminal() }) },
		c.streams,
	} {
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
	if !table.Corrupt(err) {
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

// job checks a job's numbers, that its content is there, and that it is found where claims look.
func (c *checking) job(id string, rec *record, _ []byte) error {
	if !rec.withinBounds() {
		c.problem(jobKey(id), false, "a number of the job is out of its bounds")
	}
	s, err := shardOf(c.r, &rec.Job)
	if err != nil {
		return err
	}
	c.counts[s].add(rec, 1)
	c.numbers[s] = max(c.numbers[s], rec.Number)
	if _, found, err := c.r.Get(contentKey(id)); err != nil {
		return err
	} else if !found {
		c.problem(contentKey(id), false, "it is missing")
	}
	return c.corrupt(c.atSpot(rec))
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
	if table.Corrupt(err) {
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

// sums checks how many jobs wait and run in each shard.
func (c *checking) sums() error {
	for _, s := range c.shards {
		stored, err := readCounts(c.r, s)
		if err == nil && string(jsontext.MustEncode(stored)) != string(jsontext.MustEncode(c.counts[s])) {
			c.problem(s.countKey(), true, "the counts of what waits and runs don't match the jobs")
		}
		if err := c.corrupt(err); err != nil {
			return err
		}
	}
	return nil
}

// apart checks the records of a kind that are apart from their jobs: that these exist, and are as
// may says.
func apart[R any](c *checking, kind *table.Kind[R], may func(Status) bool) error {
	return kind.Check(c.ctx, c.r, c.report, func(key string, _ *R, _ []byte) error {
		id, _, _ := strings.Cut(key, "/")
		rec, err := find(c.r, id)
		switch {
		case err != nil:
			return unlessCorrupt(err)
		case rec == nil:
			c.problem([]byte(kind.Prefix+key), false, "it belongs to a job that isn't there")
		case !may(rec.Status):
			c.problem([]byte(kind.Prefix+key), false, "a job that is "+string(rec.Status)+" has none")
		}
		return nil
	})
}

// withinBounds reports whether the numbers that no event has are possible for a job.
func (rec *record) withinBounds() bool {
	return rec.Attempts >= 0 && rec.Snoozes >= 0 && rec.Crashes >= 0 && rec.Progress >= 0 && rec.Progress <= 1 &&
		rec.Wait >= 0 && rec.Steps >= 0 && rec.Steps <= MaxSteps && rec.StepBytes >= 0 && rec.StepBytes <= MaxStepBytes
}
