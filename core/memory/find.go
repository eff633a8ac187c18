package memory

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// Find returns the memory whose id is, or alone starts with, prefix. A prefix
// that fits several is sdk.Conflict, reason "id_ambiguous", and names them; one
// shorter than [MinPrefix] fits none.
func (m *Memories) Find(ctx context.Context, prefix string) (*core.Memory, error) {
	return find(ctx, m, prefix, lookup[core.Memory]{record.MemoryPrefix, "memory_not_found", record.Read})
}

// lookup is how what has an id is found by the beginning of that.
type lookup[T any] struct {
	// kind begins its keys.
	kind string
	// missing is the reason of the error where there is none of that id.
	missing string
	read    func(r core.Reader, id string) (*T, error)
}

// find returns what has an id, or alone an id that starts with prefix.
func find[T any](ctx context.Context, m *Memories, prefix string, l lookup[T]) (found *T, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		found, err = l.find(r, prefix)
		return err
	})
	return found, err
}

func (l lookup[T]) find(r core.Reader, prefix string) (*T, error) {
	found, err := l.read(r, prefix)
	switch {
	case sdk.ReasonOf(err) != l.missing || !bounds.ValidID(prefix) || len(prefix) < MinPrefix:
		return found, err
	}
	id, several := onlyID(r, l.kind, prefix)
	switch {
	case several != nil:
		return nil, several
	case id == "":
		return nil, err
	}
	return l.read(r, id)
}

// onlyID returns the id of that kind which starts with prefix; "" where none
// does.
func onlyID(r core.Reader, kind, prefix string) (string, error) {
	var ids []string
	start := []byte(kind + prefix)
	err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(kind):]))
		return len(ids) <= bounds.MaxNamed, nil
	})
	switch {
	case err != nil || len(ids) == 0:
		return "", err
	case len(ids) > 1 && ids[0] != prefix:
		return "", ambiguous(prefix, ids)
	}
	return ids[0], nil
}

func ambiguous(prefix string, ids []string) error {
	more := ""
	if len(ids) > bounds.MaxNamed {
		ids, more = ids[:bounds.MaxNamed], ", …"
	}
	return sdk.Errorf(sdk.Conflict, "id_ambiguous", "%q fits several: %s%s", prefix, strings.Join(ids, ", "), more).
		WithHint("give more of the id").WithDetail("ids", ids)
}

// Get returns a memory. One that isn't there is sdk.NotFound, reason
// "memory_not_found", or "memory_purged" where it was removed.
func (m *Memories) Get(ctx context.Context, id string) (memory *core.Memory, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		memory, err = record.Read(r, id)
		return err
	})
	return memory, err
}

// NotFound is the refusal of an id that no memory has: sdk.NotFound, reason
// "memory_not_found".
func NotFound(id string) error { return record.NotFound(id) }

// Purged reports whether a memory was purged.
func Purged(r core.Reader, memoryID string) (bool, error) {
	return record.Purged(r, memoryID)
}

// MinPrefix is how much of an id [Memories.Find] needs.
const MinPrefix = 8
