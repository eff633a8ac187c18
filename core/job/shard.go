package job

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
)

// Hosts that share a store would all write the same few keys with each job: the counts, the
// counters, and the pages of the jobs that run next. So in such a store the jobs are divided
// by their users into shards with separate keys, and the work of two hosts in two shards
// doesn't conflict. The order in which users are served holds within a shard; a host takes
// the shards in turn, beginning with its own shard. The jobs of a store that only one
// process uses aren't divided, so there the order holds for all users.

// shards is how many shards there are if jobs are divided: several for each host that a
// database may serve, and few enough that one statement reads all of them.
const shards = 64

// shard is the shard of a user's jobs: two hexadecimal digits, or "" if jobs aren't divided.
type shard string

// shardFor is the shard of a queue, or of the user of a job that waits by itself.
func shardFor(name string) shard {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return nthShard(int(h.Sum32() % shards))
}

func nthShard(n int) shard { return shard(fmt.Sprintf("%02x", n)) }

// allShards are the shards of a store.
func allShards(r core.Reader) ([]shard, error) {
	if yes, err := divided(r); err != nil || !yes {
		return []shard{""}, err
	}
	list := make([]shard, shards)
	for n := range list {
		list[n] = nthShard(n)
	}
	return list, nil
}

// divided reports whether the store's jobs are in shards.
func divided(r core.Reader) (bool, error) {
	n, err := readNumber(r, dividedKey())
	if err == nil && n != 0 && n != shards {
		err = corrupt(dividedKey(), fmt.Sprintf("it says %d shards, not %d", n, shards))
	}
	return n != 0, err
}

// shardOf is the shard of a job, and shardIn the shard of a name: see shardFor.
func shardOf(r core.Reader, j *Job) (shard, error) { return shardIn(r, cmp.Or(queueOf(j), j.UserID)) }

func shardIn(r core.Reader, name string) (shard, error) {
	yes, err := divided(r)
	if err != nil || !yes {
		return "", err
	}
	return shardFor(name), nil
}

// nextNumber numbers a job that is queued. If jobs are divided, the numbers of each shard
// follow the time, so that lists of all jobs are in order as far as clocks agree. Within a
// shard the numbers rise, whatever the clock shows.
func (c *change) nextNumber(s shard) (uint64, error) {
	least := uint64(0)
	if s != "" {
		least = uint64(max(0, c.now.UnixNano()))
	}
	return c.countOn(shard.numberKey, s, least)
}

// countOn raises a counter of a shard by at least one, to a value above least. It continues
// from the counter that was used before jobs were divided.
func (c *change) countOn(counter func(shard) []byte, s shard, least uint64) (uint64, error) {
	last := least
	for _, of := range []shard{"", s} {
		n, err := readNumber(c, counter(of))
		if err != nil {
			return 0, err
		}
		last = max(last, n)
	}
	return last + 1, putNumber(c, counter(s), last+1)
}

// Divide divides the jobs into shards from now on. It is for a store that hosts share. If
// the jobs are divided already, it changes nothing.
func (r *Repository) Divide(ctx context.Context) error {
	if seen, err := r.readOverview(ctx); err != nil || seen.divided {
		return err
	}
	return r.update(ctx, func(c *change, _ *journal.Tx) error {
		if yes, err := divided(c); err != nil || yes {
			return err
		}
		open, err := c.open()
		if err != nil {
			return err
		}
		whole := shard("")
		sets := []ordered{whole.waiting()}
		for _, t := range Types() {
			sets = append(sets, whole.ready(t))
		}
		for _, set := range sets {
			if err := set.clear(c); err != nil {
				return err
			}
		}
		if err := c.Delete(whole.countKey()); err != nil {
			return err
		}
		if err := putNumber(c, dividedKey(), shards); err != nil {
			return err
		}
		for _, rec := range open {
			if err := c.place(rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// open are all waiting and running jobs, by id. A damaged job is left to a check.
func (c *change) open() (list []*record, err error) {
	ids := map[string]bool{}
	err = core.ScanPrefix(c, []byte(activePrefix), func(_, value []byte) (bool, error) {
		ids[string(value)] = true
		return true, nil
	})
	if err == nil {
		err = core.ScanPrefix(c, []byte(runningPrefix), func(key, _ []byte) (bool, error) {
			ids[afterSlash(key)] = true
			return true, nil
		})
	}
	for _, set := range []ordered{shard("").waiting(), shard("").ready(Workflow)} {
		if err == nil {
			err = set.each(c, func(item string) bool {
				_, id := parts(item)
				ids[id] = true
				return true
			})
		}
	}
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		rec, err := find(c, id)
		if err != nil && !table.Corrupt(err) {
			return nil, err
		}
		if err == nil && rec != nil {
			list = append(list, rec)
		}
	}
	return list, nil
}

// place counts a job, and puts it into its queue and its set.
func (c *change) place(rec *record) error {
	s, err := shardOf(c, &rec.Job)
	if err != nil {
		return err
	}
	n, err := readCounts(c, s)
	if err != nil {
		return err
	}
	n.add(rec, 1)
	if err := putCounts(c, s, &n); err != nil {
		return err
	}
	goes, err := goesNext(c, rec)
	if err != nil || !goes {
		return err
	}
	at, err := next(c, rec)
	if err != nil {
		return err
	}
	return move(c, spot{}, at)
}
