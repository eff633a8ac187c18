package memory

import (
	"encoding/json"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Count is what a namespace holds, the ones below it not included.
type Count struct {
	Memories int64 `json:"memories"`
	// Bytes are those of titles, contents, tags and metadata.
	Bytes int64 `json:"bytes"`
}

// size is what a memory counts for.
func size(m *core.Memory) int64 {
	n := len(m.Title) + len(m.Content) + len(m.Metadata)
	for _, tag := range m.Tags {
		n += len(tag)
	}
	return int64(n)
}

// sizeValue is the size as the time index holds it, so that what a namespace
// holds can be counted anew without reading its records.
func sizeValue(m *core.Memory) []byte { return strconv.AppendInt(nil, size(m), 10) }

func readCount(r core.Reader, namespace string) (Count, error) {
	var c Count
	value, found, err := r.Get(countKey(namespace))
	if err != nil || !found {
		return c, err
	}
	if err := json.Unmarshal(value, &c); err != nil {
		return c, damaged(countPrefix+namespace, err)
	}
	return c, nil
}

// recount counts a memory that was written or removed: before and after are nil
// for one that wasn't, or is no longer, there.
func recount(t *tx, before, after *core.Memory) error {
	var change Count
	namespace := ""
	if before != nil {
		change.Memories, change.Bytes, namespace = -1, -size(before), before.Namespace
	}
	if after != nil {
		change.Memories, change.Bytes, namespace = change.Memories+1, change.Bytes+size(after), after.Namespace
	}
	if change == (Count{}) {
		return nil
	}
	c, err := readCount(t, namespace)
	if err != nil {
		return err
	}
	c.Memories, c.Bytes = c.Memories+change.Memories, c.Bytes+change.Bytes
	return putCount(t, namespace, c)
}

// putCount writes what a namespace holds. One that holds nothing has no count.
func putCount(tx core.Tx, namespace string, c Count) error {
	if c == (Count{}) {
		return tx.Delete(countKey(namespace))
	}
	return tx.Put(countKey(namespace), core.MustJSON(c))
}

// checkRoom refuses a new memory for which its namespace has no room.
func checkRoom(r core.Reader, g *core.Governance, m *core.Memory) error {
	limits := g.Limits
	if limits.MaxMemories == 0 && limits.MaxBytes == 0 {
		return nil
	}
	c, err := readCount(r, m.Namespace)
	if err != nil {
		return err
	}
	if limits.MaxMemories > 0 && c.Memories >= limits.MaxMemories {
		return full(m.Namespace, "max_memories", limits.MaxMemories, c.Memories+1)
	}
	if limits.MaxBytes > 0 && c.Bytes+size(m) > limits.MaxBytes {
		return full(m.Namespace, "max_bytes", limits.MaxBytes, c.Bytes+size(m))
	}
	return nil
}

func full(namespace, limit string, most, got int64) error {
	return sdk.Errorf(sdk.Exhausted, "namespace_full", "namespace %s is full: its %s is %d, and this memory would make it %d", namespace, limit, most, got).
		WithHint("raise it with: reflectory governance set %s limits.%s=…", namespace, limit).
		WithDetail("namespace", namespace).WithDetail("limit", limit).WithDetail("most", most).WithDetail("got", got)
}
