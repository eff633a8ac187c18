package check

import (
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// dreams checks the runs of dream passes and their index, and that what undoes their steps
// belongs to memories that are there.
func (c *checker) dreams() error {
	err := c.each(record.DreamPrefix, func(key string, _ []byte) error {
		id := key[len(record.DreamPrefix):]
		d, err := record.ReadDream(c.r, id)
		switch {
		case record.IsDamage(err):
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		case err != nil:
			return err
		case d.ID != id || d.PlanDigest != d.Plan.PlanDigest():
			c.problem(key, "it has another id, or its plan isn't what its digest says")
			return nil
		}
		index := record.DreamIndexKey(d)
		if found, err := c.has(index); err != nil || found {
			return err
		}
		c.derived(string(index), "the index misses dream run %s", id)
		return nil
	})
	if err != nil {
		return err
	}
	return c.each(record.DreamUndoPrefix, func(key string, _ []byte) error {
		id, _, _ := strings.Cut(key[len(record.DreamUndoPrefix):], "/")
		found, err := c.has(record.MemoryKey(id))
		if err == nil && !found {
			c.problem(key, "it undoes a change of a memory that is gone")
		}
		return err
	})
}

func strayDream(r core.Reader, key string) (bool, error) {
	_, at, _ := strings.Cut(key, "\x00")
	d, err := record.ReadDream(r, record.PlaceID([]byte(at)))
	if record.IsLost(err) {
		return true, nil
	}
	return err == nil && string(record.DreamIndexKey(d)) != key, err
}

// restoreDream writes a run's key in its index. It skips a record that can't be decoded,
// which the check reports.
func restoreDream(tx core.Tx, key string) error {
	d, err := record.ReadDream(tx, key[len(record.DreamPrefix):])
	if record.IsDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return restore(tx, record.DreamIndexKey(d), nil)
}
