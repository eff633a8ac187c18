package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/trial"
	"github.com/reflectory/reflectory/sdk"
)

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

// trial checks that a trial's memory is there.
func (c *checker) trial(id string, _ *trial.Trial, _ []byte) error {
	found, err := c.has(record.MemoryKey(id))
	if err == nil && !found {
		c.problem(record.TrialPrefix+id, "its memory is missing")
	}
	return err
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

// link checks that the memories which a link names are there, or were purged.
func (c *checker) link(id string, l *core.Link, _ []byte) error {
	key := record.LinkPrefix + id
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
	if err == nil && (!from || !to) {
		c.problem(key, "a memory that the link names is missing")
	}
	return err
}
