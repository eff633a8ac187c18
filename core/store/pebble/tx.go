package pebble

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// tx reads a snapshot and collects writes.
type tx struct {
	snap *pebble.Snapshot
	// view is whether it can't commit, so that what it reads needn't be noted.
	view   bool
	reads  readSet
	writes map[string]write
	size   int
	ended  atomic.Bool
}

// write is a value to put, or a deletion.
type write struct {
	value   []byte
	deleted bool
}

// reader hides a transaction's writes from a View.
type reader struct{ core.Reader }

// end keeps the transaction from being used any more.
func (t *tx) end() { t.ended.Store(true) }

// Get implements [core.Reader].
func (t *tx) Get(key []byte) ([]byte, bool, error) {
	if t.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	if w, ok := t.writes[string(key)]; ok {
		return cloned(w.value, !w.deleted), !w.deleted, nil
	}
	if !t.view {
		t.reads.addKey(key)
	}
	value, closer, err := t.snap.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, ioError("read", err)
	}
	value = cloned(value, true)
	if err := closer.Close(); err != nil {
		return nil, false, ioError("read", err)
	}
	return value, true, nil
}

// cloned copies a value; one that is there is never nil.
func cloned(value []byte, found bool) []byte {
	if !found {
		return nil
	}
	return append([]byte{}, value...)
}

// Scan implements [core.Reader]. Writes that fn makes are not seen by the scan
// that calls it.
func (t *tx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) (err error) {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if len(to) > 0 && bytes.Compare(from, to) >= 0 {
		return nil
	}
	seen := span{string(from), string(to)}
	defer func() {
		if !t.view {
			t.reads.spans = append(t.reads.spans, seen)
		}
	}()
	m, err := t.merge(from, to)
	if err != nil {
		return err
	}
	defer func() {
		if e := m.stored.Close(); err == nil && e != nil {
			err = ioError("read", e)
		}
	}()
	for {
		key, value, ok, err := m.next()
		if err != nil || !ok {
			return err
		}
		if more, err := fn(key, value); err != nil || !more {
			seen.to = string(key) + "\x00"
			return err
		}
	}
}

// merge yields the stored pairs of a range with the transaction's own writes
// over them.
func (t *tx) merge(from, to []byte) (*merge, error) {
	it, err := t.snap.NewIter(&pebble.IterOptions{LowerBound: bytes.Clone(from), UpperBound: nonEmpty(to)})
	if err != nil {
		return nil, ioError("read", err)
	}
	m := &merge{stored: it}
	for key, w := range t.writes {
		if key >= string(from) && (len(to) == 0 || key < string(to)) {
			m.own = append(m.own, own{[]byte(key), w})
		}
	}
	slices.SortFunc(m.own, func(a, b own) int { return bytes.Compare(a.key, b.key) })
	m.stored.First()
	return m, nil
}

func nonEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}

// merge is a scan under way.
type merge struct {
	stored *pebble.Iterator
	// advance is whether the stored pair was handed out, so that the next call
	// moves on: its bytes are valid until then.
	advance bool
	own     []own
}

// own is a write of the transaction itself.
type own struct {
	key []byte
	write
}

func (m *merge) next() (key, value []byte, ok bool, err error) {
	for {
		if m.advance {
			m.stored.Next()
			m.advance = false
		}
		if !m.stored.Valid() && m.stored.Error() != nil {
			return nil, nil, false, ioError("read", m.stored.Error())
		}
		order := -1 // of the next own write against the next stored pair
		switch {
		case len(m.own) == 0 && !m.stored.Valid():
			return nil, nil, false, nil
		case len(m.own) == 0:
			order = 1
		case m.stored.Valid():
			order = bytes.Compare(m.own[0].key, m.stored.Key())
		}
		m.advance = order >= 0
		if order > 0 {
			value, err := m.stored.ValueAndErr()
			if err != nil {
				return nil, nil, false, ioError("read", err)
			}
			return m.stored.Key(), value, true, nil
		}
		w := m.own[0]
		m.own = m.own[1:]
		if !w.deleted {
			return w.key, w.value, true, nil
		}
	}
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	return t.write(key, write{value: append([]byte{}, value...)})
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error { return t.write(key, write{deleted: true}) }

func (t *tx) write(key []byte, w write) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if err := store.CheckWrite(key, w.value, t.size); err != nil {
		return err
	}
	if t.writes == nil {
		t.writes = map[string]write{}
	}
	t.size += len(key) + len(w.value)
	t.writes[string(key)] = w
	return nil
}

// batch returns the writes in the order of the keys.
func (s *Store) batch(keys []string, writes map[string]write) (*pebble.Batch, error) {
	b := s.db.NewBatch()
	for _, key := range keys {
		var err error
		if w := writes[key]; w.deleted {
			err = b.Delete([]byte(key), nil)
		} else {
			err = b.Set([]byte(key), w.value, nil)
		}
		if err != nil {
			return nil, ioError("write", err)
		}
	}
	return b, nil
}
