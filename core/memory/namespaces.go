package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Count is what a namespace holds, without the namespaces below it.
type Count = record.Count

// NamespaceCount is what a namespace holds, by its name.
type NamespaceCount struct {
	Namespace string `json:"namespace"`
	Count
}

// Namespaces returns the namespaces that hold memories, in order.
func (m *Memories) Namespaces(ctx context.Context) (list []NamespaceCount, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		return core.ScanPrefix(r, []byte(record.CountPrefix), func(key, _ []byte) (bool, error) {
			namespace := string(key[len(record.CountPrefix):])
			c, err := record.ReadCount(r, namespace)
			if err == nil && c.Memories > 0 {
				list = append(list, NamespaceCount{namespace, c})
			}
			return true, core.JoinErrors(err, ctx.Err())
		})
	})
	return list, err
}

// States counts the memories of all namespaces by their states: see [Memories.Counts].
func (m *Memories) States(ctx context.Context) (map[core.MemoryState]int64, error) {
	all, err := m.Counts(ctx, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	return all.States, nil
}

// Namespace is the namespace of a memory, for packages that record evidence on it. If
// there is no such memory, the error is sdk.NotFound, reason "memory_not_found" or
// "memory_purged".
func (m *Memories) Namespace(r core.Reader, memoryID string) (string, error) {
	return record.Namespace(r, memoryID)
}
