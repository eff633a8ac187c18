package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Count is what a namespace holds, the ones below it not included.
type Count struct {
	Memories int64 `json:"memories"`
	// Bytes are what titles, contents, tags and metadata have.
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
// holds can be counted again without reading its records.
func sizeValue(m *core.Memory) []byte { return strconv.AppendInt(nil, size(m), 10) }

func readCount(r core.Reader, namespace string) (Count, error) {
	var c Count
	value, found, err := r.Get(countKey(namespace))
	if err != nil || !found {
		return c, err
	}
	if c, ok := parseCount(value); ok {
		return c, nil
	}
	if err := json.Unmarshal(value, &c); err != nil {
		return c, damaged(countPrefix+namespace, err)
	}
	return c, nil
}

// json encodes the count. It is written out, and parseCount reads just that, since
// it is part of each commit and the general encoder takes several times as long.
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
	c, err := t.count(namespace)
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

// count is what a namespace holds, with what the transaction changed.
func (t *tx) count(namespace string) (*Count, error) {
	if c := t.counts[namespace]; c != nil {
		return c, nil
	}
	c, err := readCount(t, namespace)
	return &c, err
}

// putCounts writes what the namespaces hold that were changed.
func (t *tx) putCounts() error {
	for _, namespace := range slices.Sorted(maps.Keys(t.counts)) {
		if err := putCount(t, namespace, *t.counts[namespace]); err != nil {
			return err
		}
	}
	return nil
}

// putCount writes what a namespace holds. One that holds nothing has no count.
func putCount(tx core.Tx, namespace string, c Count) error {
	if c == (Count{}) {
		return tx.Delete(countKey(namespace))
	}
	return tx.Put(countKey(namespace), c.json())
}

// checkRoom refuses a new memory for which its namespace has no room.
func checkRoom(t *tx, g *core.Governance, m *core.Memory) error {
	limits := g.Limits
	if limits.MaxMemories == 0 && limits.MaxBytes == 0 {
		return nil
	}
	c, err := t.count(m.Namespace)
	if err != nil {
		return err
	}
	if limits.MaxMemories > 0 && c.Memories >= limits.MaxMemories {
		return full(g, m.Namespace, "max_memories", limits.MaxMemories, c.Memories+1)
	}
	if limits.MaxBytes > 0 && c.Bytes+size(m) > limits.MaxBytes {
		return full(g, m.Namespace, "max_bytes", limits.MaxBytes, c.Bytes+size(m))
	}
	return nil
}

func full(g *core.Governance, namespace, limit string, most, got int64) error {
	return beyond(g, namespace, limit, most, "namespace_full", "namespace %s is full: its %s is %d, and this memory would make it %d", namespace, limit, most, got).
		WithDetail("got", got)
}

// beyond refuses what a limit of a namespace's governance doesn't allow. It names
// the level that set the limit, where that is known.
func beyond(g *core.Governance, namespace, limit string, most int64, reason, format string, args ...any) *sdk.Error {
	field := "limits." + limit
	e := sdk.Errorf(sdk.Denied, reason, format, args...).
		WithDetail("namespace", namespace).WithDetail("limit", limit).WithDetail("most", most)
	level := g.SetBy[field]
	if level == "" {
		level = namespace
	} else {
		e.WithDetail("decided_by", level)
	}
	return e.WithHint("raise it").WithAction("governance set", "namespace", level, "field", field+"=…")
}

// NamespaceCount is what a namespace holds, by its name.
type NamespaceCount struct {
	Namespace string `json:"namespace"`
	Count
}

// Namespaces returns the namespaces that hold memories, in order.
func (m *Memories) Namespaces(ctx context.Context) (list []NamespaceCount, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		return core.ScanPrefix(r, []byte(countPrefix), func(key, _ []byte) (bool, error) {
			namespace := string(key[len(countPrefix):])
			c, err := readCount(r, namespace)
			if err == nil && c.Memories > 0 {
				list = append(list, NamespaceCount{namespace, c})
			}
			return true, core.Together(err, ctx.Err())
		})
	})
	return list, err
}
