package pebble

import (
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// write is a value to put, or a deletion.
type write struct {
	key     string
	value   []byte
	deleted bool
}

// fewWrites is up to how many writes are searched one by one: most transactions have a
// dozen, for which a map is slower.
const fewWrites = 16

// writeSet is what a transaction writes: the last write of each key.
type writeSet struct {
	list []write
	// places finds the writes in the list once there are many.
	places map[string]int
}

// place is the index of a key in the list; -1 if it isn't there.
func (w *writeSet) place(key string) int {
	if w.places != nil {
		if i, ok := w.places[key]; ok {
			return i
		}
		return -1
	}
	for i := range w.list {
		if w.list[i].key == key {
			return i
		}
	}
	return -1
}

func (w *writeSet) get(key []byte) (write, bool) {
	if i := w.place(string(key)); i >= 0 {
		return w.list[i], true
	}
	return write{}, false
}

func (w *writeSet) put(n write) {
	if i := w.place(n.key); i >= 0 {
		w.list[i] = n
		return
	}
	if w.places != nil {
		w.places[n.key] = len(w.list)
	}
	if w.list == nil {
		w.list = make([]write, 0, fewWrites)
	}
	w.list = append(w.list, n)
	if w.places == nil && len(w.list) > fewWrites {
		w.places = make(map[string]int, 4*fewWrites)
		for i := range w.list {
			w.places[w.list[i].key] = i
		}
	}
}

// between returns the writes with from <= key < to in order; an empty to is the
// end.
func (w *writeSet) between(from, to []byte) []write {
	var found []write
	for _, n := range w.list {
		if n.key >= string(from) && (len(to) == 0 || n.key < string(to)) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, byKey)
	return found
}

func byKey(a, b write) int { return strings.Compare(a.key, b.key) }

// sorted returns the keys in order. The list is then sorted too, and place mustn't be
// called any more.
func (w *writeSet) sorted() []string {
	slices.SortFunc(w.list, byKey)
	w.places = nil
	keys := make([]string, len(w.list))
	for i := range w.list {
		keys[i] = w.list[i].key
	}
	return keys
}

// batch converts the writes to a Pebble batch.
func (s *Store) batch(w *writeSet, size int) (*pebble.Batch, error) {
	// In addition to its bytes, each write takes its kind and two lengths.
	const perWrite, header = 1 + 2*5, 12
	b := s.db.NewBatchWithSize(header + size + perWrite*len(w.list))
	for i := range w.list {
		n := &w.list[i]
		if n.deleted {
			op := b.DeleteDeferred(len(n.key))
			copy(op.Key, n.key)
			if err := op.Finish(); err != nil {
				return nil, ioError("write", err)
			}
			continue
		}
		op := b.SetDeferred(len(n.key), len(n.value))
		copy(op.Key, n.key)
		copy(op.Value, n.value)
		if err := op.Finish(); err != nil {
			return nil, ioError("write", err)
		}
	}
	return b, nil
}
