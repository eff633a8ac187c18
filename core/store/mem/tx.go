package mem

import (
	"bytes"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// tx is a transaction: base as it began, now with its writes.
type tx struct {
	base, now pairs
	reads     []span
	writes    []pair
	size      int
	ended     atomic.Bool
}

// span is a range of keys that was read: from <= key < to.
type span struct{ from, to []byte }

// reader hides a transaction's writes from a View.
type reader struct{ core.Reader }

func (t *tx) end() { t.ended.Store(true) }

// Get implements [core.Reader].
func (t *tx) Get(key []byte) ([]byte, bool, error) {
	if t.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	t.reads = append(t.reads, span{bytes.Clone(key), after(key)})
	i, found := t.now.find(key)
	if !found {
		return nil, false, nil
	}
	return append([]byte{}, t.now[i].value...), true, nil
}

// Scan implements [core.Reader].
func (t *tx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	seen := span{bytes.Clone(from), bytes.Clone(to)}
	defer func() { t.reads = append(t.reads, seen) }()
	for _, p := range t.now.between(from, to) {
		more, err := fn(bytes.Clone(p.key), append([]byte{}, p.value...))
		if err != nil || !more {
			seen.to = after(p.key)
			return err
		}
	}
	return nil
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	return t.write(pair{bytes.Clone(key), append([]byte{}, value...)})
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error {
	return t.write(pair{key: bytes.Clone(key)})
}

func (t *tx) write(w pair) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if err := store.CheckWrite(w.key, w.value, t.size); err != nil {
		return err
	}
	t.size += len(w.key) + len(w.value)
	t.writes = append(t.writes, w)
	t.now = t.now.with(w)
	return nil
}

// after is the first key that follows key.
func after(key []byte) []byte { return append(bytes.Clone(key), 0) }
