package memory

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// Find returns the memory whose id is prefix, or the only one whose id starts with
// prefix. If several match, the error is sdk.Conflict, reason "id_ambiguous", and names
// them. A prefix shorter than [MinPrefix] matches none.
func (m *Memories) Find(ctx context.Context, prefix string) (*core.Memory, error) {
	return find(ctx, m.base, prefix, lookup[core.Memory]{record.MemoryPrefix, "memory_not_found", record.Read})
}

// lookup describes how records of one type are found by a prefix of their id.
type lookup[T any] struct {
	// kind is the prefix of their keys.
	kind string
	// missing is the reason of the error if no record matches.
	missing string
	read    func(r core.Reader, id string) (*T, error)
}

// find returns the record with an id, or the only one whose id starts with prefix.
func find[T any](ctx context.Context, m *base, prefix string, l lookup[T]) (found *T, err error) {
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

// onlyID returns the only id of that kind which starts with prefix; "" if there is none.
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
	return sdk.Errorf(sdk.Conflict, "id_ambiguous", "%q matches several ids: %s%s", prefix, strings.Join(ids, ", "), more).
		WithHint("give more characters of the id").WithDetail("ids", ids)
}

// Get returns a memory. If there is none, the error is sdk.NotFound, reason
// "memory_not_found", or "memory_purged" if it was purged.
func (m *Memories) Get(ctx context.Context, id string) (memory *core.Memory, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		memory, err = record.Read(r, id)
		return err
	})
	return memory, err
}

// Chosen returns the memory that the context's caller means by an id: see [record.Chosen]. If several
// match, the error is sdk.Conflict, reason "id_ambiguous". An id that none of the caller's memories
// has is looked up as by [Memories.Get], whether or not the caller reaches it.
func (m *Memories) Chosen(ctx context.Context, id string) (memory *core.Memory, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		memory, err = chosen(ctx, r, id)
		return err
	})
	return memory, err
}

// Links are what [Memories.Links] returns.
type Links struct {
	From, To []core.Link
	Err      error
}

// ChosenLinked is [Memories.Chosen] with the memory's links, as of one moment. A caller that turns out not
// to reach the memory isn't to learn the links' error either, which is why it is a part of them.
func (m *Memories) ChosenLinked(ctx context.Context, id string) (memory *core.Memory, links Links, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		if memory, err = chosen(ctx, r, id); err == nil {
			links.From, links.To, links.Err = readLinks(r, memory.ID)
		}
		return err
	})
	return memory, links, err
}

func chosen(ctx context.Context, r core.Reader, id string) (*core.Memory, error) {
	caller := core.CallerOf(ctx)
	if m, err := record.Own(r, caller, id); m != nil || err != nil {
		return m, err
	}
	ids, err := record.Chosen(r, caller, id)
	switch {
	case err != nil:
		return nil, err
	case len(ids) > 1:
		return nil, ambiguous(id, ids)
	case len(ids) == 1:
		id = ids[0]
	}
	return record.Read(r, id)
}

// NotFound is the error for an id that no memory has: sdk.NotFound, reason
// "memory_not_found".
func NotFound(id string) error { return record.NotFound(id) }

// Purged reports whether a memory was purged.
func Purged(r core.Reader, memoryID string) (bool, error) {
	return record.Purged(r, memoryID)
}

// MinPrefix is how many characters of an id [Memories.Find] needs.
const MinPrefix = 8
