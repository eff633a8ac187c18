package run

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// texts checks the texts of the memories that a visit holds: they match the visit, and
// they are missing if and only if the memory was purged.
func (c *checking) texts(run string, v *visitRecord) error {
	for _, held := range v.Memories {
		key := textKey(held.MemoryID, run, v.Number)
		value, found, err := c.r.Get(key)
		if err != nil {
			return err
		}
		purged, err := c.purged.Any(c.r, held.MemoryID)
		switch {
		case err != nil:
			return err
		case found && purged:
			c.problem(key, false, "its memory was purged, but the texts are still there")
		case found && core.Digest(value) != held.Digest:
			c.problem(key, false, "the texts of the memory don't match the visit")
		case !found && !purged:
			c.problem(key, false, "the texts of the memory are gone, though it wasn't purged")
		}
	}
	return nil
}

// strayTexts reports texts of memories that no visit holds. For a pruned run, only an
// empty key is left, which shows that the run received the memory.
func (c *checking) strayTexts(ctx context.Context) error {
	return scanPrefix(c.r, textPrefix, func(key, value []byte) error {
		memory, run, visit, ok := textPlace(key)
		if ok && len(value) == 0 {
			seal, err := journal.ReadSeal(c.r, Stream(run))
			if err != nil && !journal.IsBroken(err) { // the journal's own check reports it
				return err
			}
			ok = seal.Seq > 0
		} else if ok {
			v, err := visitRecords.Get(c.r, run+"/"+numbers(visit))
			if err != nil {
				return c.reportDamage(err)
			}
			ok = v != nil && slices.ContainsFunc(v.Memories, func(m journal.MemoryDigest) bool { return m.MemoryID == memory })
		}
		if !ok {
			c.problem(key, false, "no visit holds this memory")
		}
		return ctx.Err()
	})
}
