package mem

import (
	"bytes"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// tx is a transaction: base is the data at its start; now includes its writes, and is a
// clone of base from the first write on.
type tx struct {
	base, now *pairs
	began     int // how many commits came before it
	reads     []span
	writes    []write
	size      int
	ended     atomic.Bool
}

// reader hides a transaction's writes from a View.
type reader struct{ core.Reader }

func (t *tx) end() { t.ended.Store(true) }

// readsSame reports whether everything that the transaction read is the same in other
// data.
func (t *tx) readsSame(data *pairs) bool {
	for _, r := range t.reads {
		if !r.same(t.base, data) {
			return false
		}
	}
	return true
}

// Get implements [core.Reader].
func (t *tx) Get(key []byte) ([]byte, bool, error) {
	if t.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	t.reads = append(t.reads, span{bytes.Clone(key), after(key)})
	_, value, found := t.now.Get(key)
	if !found {
		return nil, false, nil
	}
	return append([]byte{}, value...), true, nil
}

// Scan implements [core.Reader]. It reads a clone, since fn may write.
func (t *tx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	seen := span{bytes.Clone(from), bytes.Clone(to)}
	defer func() { t.reads = append(t.reads, seen) }()
	for key, value := range seen.of(t.now.Clone()) {
		more, err := fn(bytes.Clone(key), append([]byte{}, value...))
		if err != nil || !more {
			seen.to = after(key)
			return err
		}
	}
	return nil
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	return t.write(write{bytes.Clone(key), append([]byte{}, value...)})
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error {
	return t.write(write{key: bytes.Clone(key)})
}

func (t *tx) write(w write) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if err := store.CheckWrite(w.key, w.value, t.size); err != nil {
		return err
	}
	t.size += len(w.key) + len(w.value)
	if len(t.writes) == 0 {
		t.now = t.base.Clone()
	}
	t.writes = append(t.writes, w)
	w.apply(t.now)
	return nil
}
