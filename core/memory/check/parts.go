package check

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// counts checks each namespace's counter against its time index.
func (c *checker) counts() error {
	return eachCount(c.ctx, c.r, func(namespace string, counted, found record.Tally) error {
		if counted.States == nil && counted.Memories >= 0 { // from before states were counted
			found.States, found.Kinds = nil, nil
		}
		if counted.Count == found.Count && string(core.MustJSON(counted)) != string(core.MustJSON(found)) {
			c.derived(record.CountPrefix+namespace, "its counts by state or kind aren't those of the indices")
		}
		if counted.Count != found.Count {
			c.derived(record.CountPrefix+namespace, "it counts %d memories of %d bytes, but there are %d of %d", counted.Memories, counted.Bytes, found.Memories, found.Bytes)
		}
		return c.ctx.Err()
	})
}

// sums checks the sums of each tenant against the counts.
func (c *checker) sums() error {
	return c.each(record.SumPrefix, func(key string, _ []byte) error {
		sums, err := record.ReadSums(c.r, key[len(record.SumPrefix):])
		if record.IsDamage(err) {
			c.derived(key, "it can't be read")
			return nil
		}
		for _, namespace := range slices.Sorted(maps.Keys(sums)) {
			counted := sums[namespace]
			found, err := record.SumCounts(c.r, namespace, nil)
			if record.IsDamage(err) {
				return nil // the count's problem
			}
			if err != nil {
				return err
			}
			if counted != found {
				c.derived(key, "it counts %d memories of %d bytes in %s and below, but there are %d of %d",
					counted.Memories, counted.Bytes, namespace, found.Memories, found.Bytes)
			}
		}
		return err
	})
}

// eachCount calls fn for each namespace with its counter and the totals of its time
// index.
func eachCount(ctx context.Context, r core.Reader, fn func(namespace string, counted, found record.Tally) error) error {
	for namespace := ""; ; {
		var err error
		if namespace, err = nextCounted(r, namespace); err != nil || namespace == "" {
			return err
		}
		found, err := countIndex(ctx, r, namespace)
		if err != nil {
			return err
		}
		counted, err := record.ReadTally(r, namespace)
		if record.IsDamage(err) {
			counted, err = record.Tally{Count: record.Count{Memories: -1}}, nil
		}
		if err != nil {
			return err
		}
		if err := fn(namespace, counted, found); err != nil {
			return err
		}
	}
}

// nextCounted returns the next namespace that has a counter or an entry in the time
// index; "" after the last.
func nextCounted(r core.Reader, after string) (string, error) {
	first := func(prefix string, from []byte) (name string, err error) {
		err = r.Scan(from, core.PrefixEnd([]byte(prefix)), func(key, _ []byte) (bool, error) {
			name, _, _ = strings.Cut(string(key[len(prefix):]), "\x00")
			return false, nil
		})
		return name, err
	}
	counted, err := first(record.CountPrefix, append([]byte(record.CountPrefix+after), 0))
	if err != nil {
		return "", err
	}
	indexed, err := first(record.TimePrefix, append([]byte(record.TimePrefix+after), 1))
	if err != nil || counted == "" {
		return indexed, err
	}
	if indexed == "" {
		return counted, nil
	}
	return min(counted, indexed), nil
}

// countIndex adds up the entries of a namespace's indices by time, state and kind.
func countIndex(ctx context.Context, r core.Reader, namespace string) (c record.Tally, err error) {
	c = record.NewTally()
	start := record.IndexStart(record.TimePrefix, namespace, "")
	err = core.ScanPrefix(r, start, func(_, value []byte) (bool, error) {
		n, _ := strconv.ParseInt(string(value), 10, 64) // a value that isn't a number shows as a wrong sum
		c.Memories, c.Bytes = c.Memories+1, c.Bytes+n
		return true, ctx.Err()
	})
	return c, core.JoinErrors(err, record.CountValues(ctx, r, record.StatePrefix, namespace, c.States), record.CountValues(ctx, r, record.KindPrefix, namespace, c.Kinds))
}

// vectors checks the vectors against their memories.
func (c *checker) vectors() error {
	return c.each(record.VectorPrefix, func(key string, value []byte) error {
		id := key[len(record.VectorPrefix):]
		model, _, err := record.DecodeVector(id, value)
		if err != nil {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		m, err := record.Read(c.r, id)
		switch {
		case record.IsGone(err):
			c.problem(key, "its memory is missing")
		case record.IsDamage(err): // reported already
		case err != nil:
			return err
		case m.EmbeddingModel != model:
			c.problem(key, "its model is %q, but its memory's is %q", bounds.Shorten(model), bounds.Shorten(m.EmbeddingModel))
		}
		return nil
	})
}

// tombstones checks that nothing is left of purged memories.
func (c *checker) tombstones() error {
	return c.each(record.PurgedPrefix, func(key string, _ []byte) error {
		id := key[len(record.PurgedPrefix):]
		gone, err := record.ReadTombstone(c.r, id)
		if record.IsDamage(err) {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		if err != nil {
			return err
		}
		for _, prefix := range []string{record.MemoryPrefix, record.VectorPrefix, record.DreamMarkPrefix} {
			left, err := c.has([]byte(prefix + id))
			if err != nil {
				return err
			}
			if left {
				c.problem(prefix+id, "it was purged but still exists")
			}
		}
		entries, err := record.ReadHistory(c.r, gone.Namespace, id)
		if record.IsDamage(err) || journal.IsBroken(err) || err == nil && (len(entries) == 0 || !entries[len(entries)-1].Is(journal.MemoryPurged{})) {
			c.problem(key, "its last event isn't its purge")
			return nil
		}
		return err
	})
}

// links checks each link and its other end.
func (c *checker) links() error {
	return c.each(record.LinkPrefix, func(key string, value []byte) error {
		var l core.Link
		if err := json.Unmarshal(value, &l); err != nil || string(record.LinkKey(l.From, l.Relation, l.To)) != key {
			c.problem(key, "the link can't be decoded, or names other memories")
			return nil
		}
		from, err := c.has(record.MemoryKey(l.From))
		if err == nil && !from && l.Relation == core.RelationSupersedes {
			if from, err = c.has(record.PurgedKey(l.From)); from && l.Metadata != nil {
				c.problem(key, "the memory that it begins at was purged, but the link still has metadata")
			}
		}
		if err != nil {
			return err
		}
		target := record.MemoryKey(l.To)
		if id, gone := strings.CutPrefix(l.To, bounds.PurgedMark); gone {
			target = record.PurgedKey(id)
		}
		to, err := c.has(target)
		if err == nil && !to {
			if to, err = c.has(record.PurgedKey(l.To)); to && l.Metadata != nil {
				c.problem(key, "the memory that it ends at was purged, but the link still has metadata")
			}
		}
		if err != nil {
			return err
		}
		if !from || !to {
			c.problem(key, "a memory that the link names is missing")
		}
		back, err := c.has(record.LinkToKey(l.To, l.Relation, l.From))
		if err == nil && !back {
			c.derived(string(record.LinkToKey(l.To, l.Relation, l.From)), "the index of the link's other end misses it")
		}
		return err
	})
}

// strayEnd reports whether an entry in the index of links by their end belongs to no
// link.
func strayEnd(r core.Reader, key string) (bool, error) {
	to, rest, _ := strings.Cut(key[len(record.LinkToPrefix):], "/")
	relation, from, _ := strings.Cut(rest, "/")
	_, found, err := r.Get(record.LinkKey(from, relation, to))
	return !found, err
}

// pendings checks the pending reflections and their indices.
func (c *checker) pendings() error {
	return c.each(record.PendingPrefix, func(key string, _ []byte) error {
		p, err := record.ReadPending(c.r, key[len(record.PendingPrefix):])
		if record.IsDamage(err) {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		if err != nil {
			return err
		}
		for _, index := range record.PendingKeys(p) {
			found, err := c.has(index)
			if err != nil {
				return err
			}
			if !found {
				c.derived(string(index), "the index misses pending %s", p.ID)
			}
		}
		return nil
	})
}

// strayPending reports whether an index entry belongs to no pending reflection.
func strayPending(r core.Reader, key string) (bool, error) {
	end := strings.LastIndexAny(key, "/\x00")
	p, err := record.ReadPending(r, key[end+1:])
	return strayOf(p, err, record.PendingKeys, key)
}
