package memory

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/codec"
	"github.com/reflectory/reflectory/sdk"
)

// read returns a memory. One that isn't there is sdk.NotFound, reason
// "memory_not_found", or "memory_purged" where it was removed.
func read(r core.Reader, id string) (*core.Memory, error) {
	if !validID(id) {
		return nil, notFound(id)
	}
	value, found, err := r.Get(memoryKey(id))
	switch {
	case err != nil:
		return nil, err
	case found:
		return decodeMemory(id, value)
	}
	gone, err := readTombstone(r, id)
	if err == nil && gone != nil {
		err = sdk.Errorf(sdk.NotFound, "memory_purged", "memory %s was purged at %s", id, gone.At.UTC().Format(time.RFC3339)).
			WithHint("only its event is left").WithAction("audit show", "stream", "namespace/"+gone.Namespace).
			WithDetail("memory_id", id).WithDetail("state", core.StatePurged).WithDetail("namespace", gone.Namespace)
	}
	if err == nil {
		err = notFound(id)
	}
	return nil, err
}

// decodeMemory decodes a record and proves that it is of that id.
func decodeMemory(id string, value []byte) (*core.Memory, error) {
	m, err := codec.Decode(value)
	if err != nil {
		return nil, corrupt(id, memoryPrefix+id, "it can't be decoded: "+err.Error())
	}
	if m.ID != id {
		return nil, corrupt(id, memoryPrefix+id, "it calls itself memory "+strconv.Quote(cut(m.ID)))
	}
	return m, nil
}

// NotFound is the refusal of an id that no memory has: sdk.NotFound, reason
// "memory_not_found".
func NotFound(id string) error { return notFound(id) }

func notFound(id string) *sdk.Error {
	return sdk.Errorf(sdk.NotFound, "memory_not_found", "there is no memory %q", cut(id)).
		WithHint("list them").WithAction("memory list", "namespace", nil).WithDetail("memory_id", cut(id))
}

// put writes a memory that is new (before is nil) or was changed, with its
// indices and what its namespace counts. It sets after's Version and UpdatedAt,
// and of a new one its CreatedAt. The caller writes the event.
func put(t *tx, before, after *core.Memory) error {
	after.UpdatedAt, after.Version = t.Now().Round(0), 1
	if before == nil {
		after.CreatedAt = after.UpdatedAt
	} else {
		after.Version = before.Version + 1
	}
	if after.Salt == "" {
		var err error
		if after.Salt, err = t.newSalt(); err != nil {
			return err
		}
	}
	record, err := codec.Encode(after)
	if err != nil {
		return sdk.Wrap("encode memory "+after.ID, err)
	}
	if err := t.write(after.Namespace, memoryKey(after.ID), record); err != nil {
		return err
	}
	if err := reindex(t, before, after); err != nil {
		return err
	}
	return recount(t, before, after)
}

// putVector writes the vector that belongs to the memory that was just put.
func putVector(t *tx, m *core.Memory, vector []float32) error {
	key, value := vectorKey(m.ID), encodeVector(m.EmbeddingModel, vector)
	t.prove(journal.NamespaceStream(m.Namespace), key, keyed(m.Salt, string(value))) // a vector tells much of the text
	return t.Put(key, value)
}

// remove takes a memory away: its record, indices, vector, the approvals that
// wait for a reflection on it, and its links. Links from others are read as links
// to "purged:<id>" from then on. What is left is a tombstone without content. The
// caller writes the event.
func remove(t *tx, m *core.Memory) error {
	if err := t.erase(m.Namespace, memoryKey(m.ID)); err != nil {
		return err
	}
	if m.EmbeddingModel != "" {
		if err := t.erase(m.Namespace, vectorKey(m.ID)); err != nil {
			return err
		}
	}
	if err := reindex(t, m, nil); err != nil {
		return err
	}
	if err := recount(t, m, nil); err != nil {
		return err
	}
	if err := unlink(t, m); err != nil {
		return err
	}
	if err := dropPending(t, m.ID); err != nil {
		return err
	}
	gone := tombstone{Namespace: m.Namespace, At: t.Now().Round(0)}
	return t.write(m.Namespace, purgedKey(m.ID), core.MustJSON(gone))
}

// tombstone says where a purged memory was. Its event says the rest.
type tombstone struct {
	Namespace string    `json:"namespace"`
	At        time.Time `json:"at"`
}

// readTombstone returns nil for an id that wasn't purged.
func readTombstone(r core.Reader, id string) (*tombstone, error) {
	return tombstoneAt(r, purgedKey(id))
}

// tombstoneAt reads a tombstone; nil where there is none.
func tombstoneAt(r core.Reader, key []byte) (*tombstone, error) {
	value, found, err := r.Get(key)
	if err != nil || !found {
		return nil, err
	}
	var gone tombstone
	if err := json.Unmarshal(value, &gone); err != nil {
		return nil, damaged(string(key), err)
	}
	return &gone, nil
}

// Purged reports whether a memory was purged.
func Purged(r core.Reader, memoryID string) (bool, error) {
	_, found, err := r.Get(purgedKey(memoryID))
	return found, err
}

// reindex makes the indices fit: before and after are nil for a memory that
// wasn't, or is no longer, there.
func reindex(t *tx, before, after *core.Memory) error {
	if before != nil && after != nil && sameIndices(before, after) {
		return nil
	}
	var old, now [][]byte
	if before != nil {
		old = indexKeys(before)
	}
	if after != nil {
		now = indexKeys(after)
	}
	has := func(keys [][]byte, key []byte) bool {
		return slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(key) })
	}
	for _, key := range old {
		if !has(now, key) {
			if err := t.Delete(key); err != nil {
				return err
			}
		}
	}
	for i, key := range now {
		if has(old, key) {
			continue
		}
		var value []byte
		if i == 0 { // the time index says how much the memory counts for
			value = sizeValue(after)
		}
		if err := t.Put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// sameIndices reports whether nothing changed that an index holds. Namespace,
// creation and title never do.
func sameIndices(a, b *core.Memory) bool {
	return a.State == b.State && a.Kind == b.Kind && a.AgentID == b.AgentID && slices.Equal(a.Tags, b.Tags)
}

// Get returns a memory. One that isn't there is sdk.NotFound, reason
// "memory_not_found", or "memory_purged" where it was removed.
func (m *Memories) Get(ctx context.Context, id string) (memory *core.Memory, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		memory, err = read(r, id)
		return err
	})
	return memory, err
}

// IsPurged reports whether a memory was purged.
func IsPurged(r core.Reader, id string) (bool, error) {
	_, found, err := r.Get(purgedKey(id))
	return found, err
}
