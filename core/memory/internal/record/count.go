package record

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
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

// sizeValue is the size as the time index holds it, so that a namespace can be counted
// again without reading its records.
func sizeValue(m *core.Memory) []byte { return strconv.AppendInt(nil, Size(m), 10) }

// Tally is a namespace's count with its parts.
type Tally struct {
	Count
	// States and Kinds count the memories of each state and kind that there are any of.
	// Both are nil in a count from before they were counted: the indices have them.
	States map[core.MemoryState]int64 `json:"states,omitzero"`
	Kinds  map[core.MemoryKind]int64  `json:"kinds,omitzero"`
}

// NewTally is the count of a namespace that holds nothing.
func NewTally() Tally {
	return Tally{States: map[core.MemoryState]int64{}, Kinds: map[core.MemoryKind]int64{}}
}

// ReadCount returns the stored count of a namespace.
func ReadCount(r core.Reader, namespace string) (Count, error) {
	t, err := ReadTally(r, namespace)
	return t.Count, err
}

// ReadTally returns the stored count of a namespace with its parts.
func ReadTally(r core.Reader, namespace string) (Tally, error) {
	value, found, err := r.Get(CountKey(namespace))
	if err != nil || !found {
		return NewTally(), err
	}
	return decodeTally(namespace, value)
}

func decodeTally(namespace string, value []byte) (Tally, error) {
	var t Tally
	if err := codec.Decode(value, &t); err != nil {
		return t, Damaged(CountPrefix+namespace, err)
	}
	if t.States == nil || t.Kinds == nil {
		t.States, t.Kinds = nil, nil
	}
	return t, nil
}

// countDiffers describes how the stored count of a namespace differs from the right one.
func countDiffers(stored, right []byte) string {
	counted, found := NewTally(), NewTally()
	var err error
	if right != nil {
		found, err = decodeTally("", right)
	}
	if err == nil && stored != nil {
		if counted, err = decodeTally("", stored); err != nil {
			counted.Memories = -1
		}
	}
	if counted.States == nil && err == nil { // from before states were counted
		found.States, found.Kinds = nil, nil
	}
	switch {
	case counted.Count != found.Count:
		return fmt.Sprintf("it counts %d memories of %d bytes, but there are %d of %d", counted.Memories, counted.Bytes, found.Memories, found.Bytes)
	case string(jsontext.MustEncode(counted)) != string(jsontext.MustEncode(found)):
		return "its counts by state or kind differ from the indices"
	}
	return ""
}

// countIndex adds up the entries of a namespace's indices by time, state and kind.
func countIndex(ctx context.Context, r core.Reader, namespace string) (c Tally, err error) {
	c = NewTally()
	err = core.ScanPrefix(r, IndexStart(TimePrefix, namespace, ""), func(_, value []byte) (bool, error) {
		n, _ := strconv.ParseInt(string(value), 10, 64) // a value that isn't a number shows as a wrong sum
		c.Memories, c.Bytes = c.Memories+1, c.Bytes+n
		return true, ctx.Err()
	})
	return c, core.JoinErrors(err, CountValues(ctx, r, StatePrefix, namespace, c.States), CountValues(ctx, r, KindPrefix, namespace, c.Kinds))
}

// add counts a memory, or, if sign is -1, no longer.
func (t *Tally) add(m *core.Memory, sign int64) {
	t.Memories, t.Bytes = t.Memories+sign, t.Bytes+sign*Size(m)
	if t.States != nil {
		addPart(t.States, m.State, sign)
		addPart(t.Kinds, m.Kind, sign)
	}
}

func addPart[T ~string](parts map[T]int64, name T, n int64) {
	if parts[name] += n; parts[name] == 0 {
		delete(parts, name)
	}
}

// recount updates the count for a memory that was written or removed. before is nil for a
// new memory, after for a removed one.
func recount(t *Tx, before, after *core.Memory) error {
	if before != nil && after != nil && before.State == after.State && before.Kind == after.Kind && Size(before) == Size(after) {
		return nil
	}
	namespace := ""
	for _, m := range []*core.Memory{before, after} {
		if m != nil {
			namespace = m.Namespace
		}
	}
	c := t.counts[namespace]
	if c == nil {
		stored, err := ReadTally(t, namespace)
		if err != nil {
			return err
		}
		if t.counts == nil {
			t.counts = map[string]*Tally{}
		}
		c = &stored
		t.counts[namespace] = c
	}
	was := c.Count
	if before != nil {
		c.add(before, -1)
	}
	if after != nil {
		c.add(after, 1)
	}
	return t.addSums(namespace, c.Memories-was.Memories, c.Bytes-was.Bytes)
}

// Count returns the count of a namespace, including the transaction's changes.
func (t *Tx) Count(namespace string) (Count, error) {
	if c := t.counts[namespace]; c != nil {
		return c.Count, nil
	}
	return ReadCount(t, namespace)
}

// putCounts writes the counts that changed.
func (t *Tx) putCounts() error {
	for _, namespace := range slices.Sorted(maps.Keys(t.counts)) {
		if err := putTally(t, namespace, t.counts[namespace]); err != nil {
			return err
		}
	}
	return nil
}

// putTally writes the count of a namespace. An empty namespace has no count.
func putTally(tx core.Tx, namespace string, t *Tally) error {
	if t.Count == (Count{}) {
		return tx.Delete(CountKey(namespace))
	}
	return tx.Put(CountKey(namespace), jsontext.MustEncode(t))
}

// CountValues adds up the entries of a namespace's index by state or by kind.
func CountValues[T ~string](ctx context.Context, r core.Reader, prefix, namespace string, counts map[T]int64) error {
	start := append([]byte(prefix+namespace), 0)
	return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		value, _, _ := strings.Cut(string(key[len(start):]), "\x00")
		counts[T(value)]++
		return true, ctx.Err()
	})
}
