package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// Read returns a memory. If there is none, the error is sdk.NotFound, reason
// "memory_not_found", or "memory_purged" if it was purged.
func Read(r core.Reader, id string) (*core.Memory, error) {
	if !bounds.ValidID(id) {
		return nil, NotFound(id)
	}
	value, found, err := r.Get(MemoryKey(id))
	switch {
	case err != nil:
		return nil, err
	case found:
		return Decode(id, value)
	}
	gone, err := ReadTombstone(r, id)
	if err == nil && gone != nil {
		err = sdk.Errorf(sdk.NotFound, "memory_purged", "memory %s was purged at %s", id, gone.At.UTC().Format(time.RFC3339)).
			WithHint("only its event is left").WithAction("audit show", "stream", "namespace/"+gone.Namespace).
			WithDetail("memory_id", id).WithDetail("state", core.StatePurged).WithDetail("namespace", gone.Namespace)
	}
	if err == nil {
		err = NotFound(id)
	}
	return nil, err
}

// Namespace is the namespace of a memory. It doesn't decode a record as this release writes it, which
// begins with the id and the namespace. Its errors are the same as [Read]'s.
func Namespace(r core.Reader, id string) (string, error) {
	if bounds.ValidID(id) {
		value, _, err := r.Get(MemoryKey(id))
		if err != nil {
			return "", err
		}
		if rest, is := bytes.CutPrefix(value, []byte(`{"id":"`+id+`","namespace":"`)); is {
			namespace, _, _ := bytes.Cut(rest, []byte{'"'})
			return string(namespace), nil
		}
	}
	m, err := Read(r, id)
	if err != nil {
		return "", err
	}
	return m.Namespace, nil
}

// Decode decodes a record and checks that it has that id.
func Decode(id string, value []byte) (*core.Memory, error) {
	m, err := decode(value)
	if err != nil {
		return nil, Corrupt(id, MemoryPrefix+id, "it can't be decoded: "+err.Error())
	}
	if m.ID != id {
		return nil, Corrupt(id, MemoryPrefix+id, "its own id is "+strconv.Quote(bounds.Shorten(m.ID)))
	}
	return m, nil
}

// NotFound is the error for an id that no memory has: sdk.NotFound, reason
// "memory_not_found".
func NotFound(id string) *sdk.Error {
	return sdk.Errorf(sdk.NotFound, "memory_not_found", "there is no memory %q", bounds.Shorten(id)).
		WithHint("list them").WithAction("memory list", "namespace", nil).WithDetail("memory_id", bounds.Shorten(id))
}

// Put writes a memory that is new (before is nil) or changed, with its indices and the
// count of its namespace. It sets after's Version and UpdatedAt, and CreatedAt if it is
// new. The caller writes the event.
func Put(t *Tx, before, after *core.Memory) error {
	after.UpdatedAt, after.Version = t.Now().Round(0), 1
	if before == nil {
		after.CreatedAt = after.UpdatedAt
	} else {
		after.Version = before.Version + 1
	}
	if after.Salt == "" {
		var err error
		if after.Salt, err = t.NewSalt(); err != nil {
			return err
		}
	}
	record, err := encode(after)
	if err != nil {
		return sdk.Wrap("encode memory "+after.ID, err)
	}
	if err := t.Write(after.Namespace, MemoryKey(after.ID), record); err != nil {
		return err
	}
	if err := Memories.Index(t, after.ID, before, after); err != nil {
		return err
	}
	return recount(t, before, after)
}

// PutVector writes the vector that belongs to the memory that was just put.
func PutVector(t *Tx, m *core.Memory, vector []float32) error {
	key, value := VectorKey(m.ID), encodeVector(m.EmbeddingModel, vector)
	t.prove(journal.NamespaceStream(m.Namespace), key, Keyed(m.Salt, string(value))) // a vector reveals much of the text
	return t.Put(key, value)
}

func eraseVector(t *Tx, m *core.Memory) error {
	if m.EmbeddingModel == "" {
		return nil
	}
	return t.Erase(m.Namespace, VectorKey(m.ID))
}

// Rewrite is [Put] for a memory with other texts: its vector is the new one, or, if model is
// "", it has none.
func Rewrite(t *Tx, before, after *core.Memory, model string, vector []float32) error {
	after.EmbeddingModel = model
	if err := Put(t, before, after); err != nil {
		return err
	}
	if model == "" {
		return eraseVector(t, before)
	}
	return PutVector(t, after, vector)
}

// Remove deletes a memory: its record, indices, vector, the pending reflections on it,
// its links, and what is kept of the index of recall with words of it. Links from others are read as links to "purged:<id>" from then on. Only
// a tombstone without content is left. The caller writes the event.
func Remove(t *Tx, m *core.Memory) error {
	if err := t.Erase(m.Namespace, MemoryKey(m.ID)); err != nil {
		return err
	}
	if err := eraseVector(t, m); err != nil {
		return err
	}
	if err := forgetDreams(t, m); err != nil {
		return err
	}
	if err := ForgetTrial(t, m); err != nil {
		return err
	}
	if err := forgetIndexed(t, m); err != nil {
		return err
	}
	if err := Memories.Index(t, m.ID, m, nil); err != nil {
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
	gone := Tombstone{Namespace: m.Namespace, At: t.Now().Round(0)}
	return t.Write(m.Namespace, PurgedKey(m.ID), jsontext.MustEncode(gone))
}

// Tombstone records the namespace of a purged memory, and when it was purged. Its event
// has the rest.
type Tombstone struct {
	Namespace string    `json:"namespace"`
	At        time.Time `json:"at"`
}

// ReadTombstone returns nil for an id that wasn't purged.
func ReadTombstone(r core.Reader, id string) (*Tombstone, error) {
	return TombstoneAt(r, PurgedKey(id))
}

// TombstoneAt reads a tombstone; nil if there is none.
func TombstoneAt(r core.Reader, key []byte) (*Tombstone, error) {
	value, found, err := r.Get(key)
	if err != nil || !found {
		return nil, err
	}
	var gone Tombstone
	if err := json.Unmarshal(value, &gone); err != nil {
		return nil, Damaged(string(key), err)
	}
	return &gone, nil
}

// Purged reports whether a memory was purged.
func Purged(r core.Reader, id string) (bool, error) {
	_, found, err := r.Get(PurgedKey(id))
	return found, err
}
