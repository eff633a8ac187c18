package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Count is what a namespace holds, without the namespaces below it.
type Count struct {
	Memories int64 `json:"memories"`
	// Bytes is the size of titles, contents, tags and metadata.
	Bytes int64 `json:"bytes"`
}

// Size is how many bytes a memory counts for.
func Size(m *core.Memory) int64 {
	n := len(m.Title) + len(m.Content) + len(m.Metadata)
	for _, tag := range m.Tags {
		n += len(tag)
	}
	return int64(n)
}

// SizeValue is the size as the time index holds it, so that a namespace can be counted
// again without reading its records.
func SizeValue(m *core.Memory) []byte { return strconv.AppendInt(nil, Size(m), 10) }

// ReadCount returns the stored count of a namespace.
func ReadCount(r core.Reader, namespace string) (Count, error) {
	var c Count
	value, found, err := r.Get(CountKey(namespace))
	if err != nil || !found {
		return c, err
	}
	if c, ok := parseCount(value); ok {
		return c, nil
	}
	if err := json.Unmarshal(value, &c); err != nil {
		return c, Damaged(CountPrefix+namespace, err)
	}
	return c, nil
}

// json encodes the count. It is written by hand, and parseCount reads only that form:
// both run in each commit, and the general encoder takes several times as long.
func (c Count) json() []byte {
	b := append(make([]byte, 0, 64), `{"memories":`...)
	b = append(strconv.AppendInt(b, c.Memories, 10), `,"bytes":`...)
	return append(strconv.AppendInt(b, c.Bytes, 10), '}')
}

func parseCount(value []byte) (c Count, ok bool) {
	rest, _ := strings.CutPrefix(string(value), `{"memories":`)
	memories, rest, _ := strings.Cut(rest, `,"bytes":`)
	var err1, err2 error
	c.Memories, err1 = strconv.ParseInt(memories, 10, 64)
	c.Bytes, err2 = strconv.ParseInt(strings.TrimSuffix(rest, "}"), 10, 64)
	return c, err1 == nil && err2 == nil && bytes.Equal(c.json(), value)
}

// recount updates the count for a memory that was written or removed. before is nil for a
// new memory, after for a removed one.
func recount(t *Tx, before, after *core.Memory) error {
	var change Count
	namespace := ""
	if before != nil {
		change.Memories, change.Bytes, namespace = -1, -Size(before), before.Namespace
	}
	if after != nil {
		change.Memories, change.Bytes, namespace = change.Memories+1, change.Bytes+Size(after), after.Namespace
	}
	if change == (Count{}) {
		return nil
	}
	c, err := t.Count(namespace)
	if err != nil {
		return err
	}
	c.Memories, c.Bytes = c.Memories+change.Memories, c.Bytes+change.Bytes
	if t.counts == nil {
		t.counts = map[string]*Count{}
	}
	t.counts[namespace] = c
	return nil
}

// Count returns the count of a namespace, including the transaction's changes.
func (t *Tx) Count(namespace string) (*Count, error) {
	if c := t.counts[namespace]; c != nil {
		return c, nil
	}
	c, err := ReadCount(t, namespace)
	return &c, err
}

// putCounts writes the counts that changed.
func (t *Tx) putCounts() error {
	for _, namespace := range slices.Sorted(maps.Keys(t.counts)) {
		if err := PutCount(t, namespace, *t.counts[namespace]); err != nil {
			return err
		}
	}
	return nil
}

// PutCount writes the count of a namespace. An empty namespace has no count.
func PutCount(tx core.Tx, namespace string, c Count) error {
	if c == (Count{}) {
		return tx.Delete(CountKey(namespace))
	}
	return tx.Put(CountKey(namespace), c.json())
}
