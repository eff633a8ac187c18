package check

import (
	"strings"

	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// undos checks that what undoes the steps of dream passes belongs to memories that are there.
func (c *checker) undos() error {
	return c.each(record.DreamUndoPrefix, func(key string, _ []byte) error {
		id, _, _ := strings.Cut(key[len(record.DreamUndoPrefix):], "/")
		found, err := c.has(record.MemoryKey(id))
		if err == nil && !found {
			c.problem(key, "it undoes a change of a memory that is gone")
		}
		return err
	})
}
