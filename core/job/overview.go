package job

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
)

// overview is what one scan of all shards found.
type overview struct {
	divided bool
	// shards are the shards in which a job is ready or waits, in order.
	shards []shardOverview
	// counts are the counts of all shards together, and queued is how many jobs wait in
	// each.
	counts counts
	queued map[shard]int
	// due is when the first of the postponed jobs may run; zero if there are none.
	due time.Time
}

// shardOverview is what may be done in a shard.
type shardOverview struct {
	shard
	// ready are the types of which a job may run now, and due is when the first of the postponed
	// jobs may run; zero if there are none.
	ready []Type
	due   time.Time
}

// readOverview looks at all shards, in one statement.
func (r *Repository) readOverview(ctx context.Context) (seen *overview, err error) {
	err = r.view(ctx, func(reader core.Reader) (err error) {
		var ready []spot
		seen, err = scanShards(reader, func(s shard, t Type, items []string) error {
			for _, item := range items {
				ready = append(ready, spot{s.ready(t), item})
			}
			return nil
		})
		if err != nil || !seen.divided {
			return err
		}
		return r.turns.lockedFill(reader, ready)
	})
	if err != nil {
		return nil, err
	}
	r.known.note(seen)
	return seen, nil
}

// scanShards scans the shards, and calls each, unless each is nil, with the pages of jobs that are
// ready.
func scanShards(r core.Reader, each func(s shard, t Type, items []string) error) (*overview, error) {
	seen := &overview{counts: newCounts(), queued: map[shard]int{}}
	err := core.ScanPrefix(r, []byte(shardPrefix), func(key, value []byte) (bool, error) {
		if string(key) == string(dividedKey()) {
			seen.divided = true
			return true, nil
		}
		name, rest, _ := strings.Cut(string(key[len(shardPrefix):]), "/")
		s := shard(name)
		if rest == shardCount {
			n, err := decodeCounts(key, value)
			seen.queued[s] = n.total()
			seen.counts.sum(&n)
			return err == nil, err
		}
		items := strings.Split(string(value), "\n")
		if strings.HasPrefix(rest, shardWait+pageName) {
			seen.waits(s, items[0])
		}
		ofType, page, _ := strings.Cut(strings.TrimPrefix(rest, shardReady), "/")
		if !strings.HasPrefix(rest, shardReady) || !strings.HasPrefix(page, pageName) {
			return true, nil
		}
		if at := seen.at(s); !slices.Contains(at.ready, Type(ofType)) {
			at.ready = append(at.ready, Type(ofType))
		}
		if each == nil {
			return true, nil
		}
		return true, each(s, Type(ofType), items)
	})
	return seen, err
}

// waits notes a page of a shard's postponed jobs, by the page's first item. A shard's pages come
// in order, so the first call decides when the shard is due.
func (g *overview) waits(s shard, first string) {
	order, _ := parts(first)
	due := orderTime(order)
	if at := g.at(s); at.due.IsZero() {
		at.due = due
	}
	if g.due.IsZero() || due.Before(g.due) {
		g.due = due
	}
}

// at is the entry of a shard: the last entry so far, or a new one.
func (g *overview) at(s shard) *shardOverview {
	if n := len(g.shards); n == 0 || g.shards[n-1].shard != s {
		g.shards = append(g.shards, shardOverview{shard: s})
	}
	return &g.shards[len(g.shards)-1]
}

// worth are the shards in which a claim may find a job, in order, beginning with from and
// continuing at the first shard.
func (g *overview) worth(from shard, types []Type) (list []shard) {
	for _, at := range g.shards {
		if slices.ContainsFunc(at.ready, func(t Type) bool { return slices.Contains(types, t) }) {
			list = append(list, at.shard)
		}
	}
	first, _ := slices.BinarySearch(list, from)
	return append(list[first:len(list):len(list)], list[:first]...)
}

// overviewMaxAge is the maximum age of what this process knows about other shards when it queues a
// job.
const overviewMaxAge = 2 * time.Second

// refreshOverview looks at all shards, unless that was done a moment ago, or only this process
// uses the store.
func (r *Repository) refreshOverview(ctx context.Context) error {
	if r.options.Exclusive || r.known.fresh() {
		return nil
	}
	_, err := r.readOverview(ctx)
	return err
}

// known is what this process knows of the shards and of the clock from its claims. It is safe for
// concurrent use.
type known struct {
	mu sync.Mutex
	// latest is the latest time that a claim saw. If the clock shows an earlier time, it went
	// back.
	latest time.Time
	// seen is the last look at all shards, and seenAt when that was; nil before the first.
	seen   *overview
	seenAt time.Time
	// claimedIn is the shard of a holder's last claim, if jobs are divided.
	claimedIn map[string]shard
}

// note notes a look at all shards.
func (k *known) note(seen *overview) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen, k.seenAt = seen, time.Now()
}

// fresh reports whether the last look was a moment ago.
func (k *known) fresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen != nil && time.Since(k.seenAt) < overviewMaxAge
}

// beginAt is the shard where a holder's next claim begins: at first its own shard, and later the
// shard after the shard of its last claim, so that no shard has to wait until another one is
// empty.
func (k *known) beginAt(holder string) shard {
	k.mu.Lock()
	defer k.mu.Unlock()
	if from, claimed := k.claimedIn[holder]; claimed {
		return from + "~" // after it, before the next
	}
	return shardFor(holder)
}

// noteClaim notes where a holder's last claim was.
func (k *known) noteClaim(holder string, s shard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.claimedIn[holder] = s
}

// elsewhere is how many jobs wait in the other shards, according to the last look. Other hosts
// write in those shards all the time, and every such write would conflict with an exact count.
func (k *known) elsewhere(s shard) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s == "" || k.seen == nil {
		return 0
	}
	for other, queued := range k.seen.queued {
		if other != s {
			n += queued
		}
	}
	return n
}

// dueSoon is when the first of the postponed jobs may run, according to the last claim's look;
// known is false if jobs aren't divided.
func (k *known) dueSoon() (due time.Time, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil || !k.seen.divided {
		return time.Time{}, false
	}
	return k.seen.due, true
}

// wentBack reports whether now is an earlier time than before, or the first. In both cases, any waiting job may be waiting for a wrong time.
func (k *known) wentBack(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	back := k.latest.IsZero() || now.Before(k.latest.Add(-clockSlack))
	if k.latest.Before(now) || back {
		k.latest = now
	}
	return back
}

// forgetClock makes the next claim look at all waiting jobs, since this one failed to.
func (k *known) forgetClock() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.latest = time.Time{}
}
