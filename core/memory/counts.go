package memory

import (
	"bytes"
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Counts is what several namespaces hold together.
type Counts struct {
	// Namespaces counts the ones that hold memories.
	Namespaces int `json:"namespaces"`
	Count
	// States and Kinds count the memories of each state and kind that there are any of.
	States map[core.MemoryState]int64 `json:"states"`
	Kinds  map[core.MemoryKind]int64  `json:"kinds"`
}

// Counts counts the memories of the namespaces for which in is true. It reads the indices
// of these namespaces, two short keys a memory, in one view of the store.
func (m *Memories) Counts(ctx context.Context, in func(namespace string) bool) (*Counts, error) {
	all := &Counts{States: map[core.MemoryState]int64{}, Kinds: map[core.MemoryKind]int64{}}
	err := m.records.View(ctx, func(r core.Reader) error {
		return core.ScanPrefix(r, []byte(record.CountPrefix), func(key, _ []byte) (bool, error) {
			namespace := string(key[len(record.CountPrefix):])
			if !in(namespace) {
				return true, ctx.Err()
			}
			c, err := record.ReadCount(r, namespace)
			if err != nil || c.Memories == 0 {
				return true, err
			}
			all.Namespaces++
			all.Memories += c.Memories
			all.Bytes += c.Bytes
			return true, core.JoinErrors(
				countValues(ctx, r, record.StatePrefix, namespace, all.States),
				countValues(ctx, r, record.KindPrefix, namespace, all.Kinds),
			)
		})
	})
	return all, err
}

// countValues counts the entries of an index by their value.
func countValues[T ~string](ctx context.Context, r core.Reader, prefix, namespace string, counts map[T]int64) error {
	start := append([]byte(prefix+namespace), 0)
	return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		value, _, _ := bytes.Cut(key[len(start):], []byte{0})
		counts[T(value)]++
		return true, ctx.Err()
	})
}
