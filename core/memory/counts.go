package memory

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Counts is what several namespaces hold together.
type Counts struct {
	// Namespaces counts the namespaces that hold memories.
	Namespaces int `json:"namespaces"`
	Count
	// States and Kinds count the memories of each state and kind; a state or kind without memories
	// is absent.
	States map[core.MemoryState]int64 `json:"states"`
	Kinds  map[core.MemoryKind]int64  `json:"kinds"`
	// Purged counts the memories that were purged, of which a tombstone is left, and
	// PurgedMore is whether there may be more: at most 4,096 tombstones are read.
	Purged     int64 `json:"purged"`
	PurgedMore bool  `json:"purged_more,omitempty"`
}

// maxTombstones is how many tombstones a count reads: a few milliseconds' work.
const maxTombstones = 4096

// Purged counts the purged memories of the namespaces for which in is true. It reads up to 4,096
// tombstones, which aren't sorted by namespace; more is whether there are others. Purges are rare,
// and no other key of the store has to be kept in step with them for this number.
func (m *Memories) Purged(ctx context.Context, in func(namespace string) bool) (n int64, more bool, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		read := 0
		n, more = 0, false
		return core.ScanPrefix(r, []byte(record.PurgedPrefix), func(_, value []byte) (bool, error) {
			if read == maxTombstones {
				more = true
				return false, nil
			}
			read++
			var gone record.Tombstone
			if json.Unmarshal(value, &gone) == nil && in(gone.Namespace) {
				n++
			}
			return true, ctx.Err()
		})
	})
	return n, more, err
}

// Counts counts the memories of the namespaces for which in is true, in one view of the store. It
// reads one key for each namespace. If that key is older than the counting of states, it also
// reads two short keys for each memory.
func (m *Memories) Counts(ctx context.Context, in func(namespace string) bool) (*Counts, error) {
	all := &Counts{States: map[core.MemoryState]int64{}, Kinds: map[core.MemoryKind]int64{}}
	err := m.records.View(ctx, func(r core.Reader) error {
		return core.ScanPrefix(r, []byte(record.CountPrefix), func(key, _ []byte) (bool, error) {
			namespace := string(key[len(record.CountPrefix):])
			if !in(namespace) {
				return true, ctx.Err()
			}
			c, err := record.ReadTally(r, namespace)
			if err != nil || c.Memories == 0 {
				return true, err
			}
			all.Namespaces++
			all.Memories += c.Memories
			all.Bytes += c.Bytes
			if c.States == nil {
				return true, core.JoinErrors(ctx.Err(),
					record.CountValues(ctx, r, record.StatePrefix, namespace, all.States),
					record.CountValues(ctx, r, record.KindPrefix, namespace, all.Kinds),
				)
			}
			for state, n := range c.States {
				all.States[state] += n
			}
			for kind, n := range c.Kinds {
				all.Kinds[kind] += n
			}
			return true, ctx.Err()
		})
	})
	return all, err
}
