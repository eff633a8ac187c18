package pebble

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// reader reads one snapshot. It implements [core.Reader].
type reader struct {
	snapshot *pebbledb.Snapshot
	dir      string
	ended    atomic.Bool
}

func (r *reader) end() error {
	r.ended.Store(true)
	return r.snapshot.Close()
}

// Get implements [core.Reader].
func (r *reader) Get(key []byte) ([]byte, bool, error) {
	if r.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	value, closer, err := r.snapshot.Get(key)
	if errors.Is(err, pebbledb.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, r.failed(err)
	}
	value = append([]byte{}, value...)
	return value, true, closer.Close()
}

// Scan implements [core.Reader].
func (r *reader) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if r.ended.Load() {
		return store.ErrEnded()
	}
	_, err := r.scan(span{from, to}, nil, fn)
	return err
}

// scan merges the snapshot with writes on top of it. It returns the key at which
// fn stopped it; nil if nothing did.
func (r *reader) scan(s span, top []write, fn func(key, value []byte) (bool, error)) (stop []byte, err error) {
	if len(s.to) > 0 && bytes.Compare(s.from, s.to) >= 0 {
		return nil, nil
	}
	it, err := r.snapshot.NewIter(&pebbledb.IterOptions{LowerBound: s.from, UpperBound: s.to})
	if err != nil {
		return nil, r.failed(err)
	}
	defer func() {
		if closed := it.Close(); err == nil && closed != nil {
			err = r.failed(closed)
		}
	}()
	m := merge{it: it, top: top}
	for m.first(); m.valid(); m.next() {
		key, value, err := m.pair()
		if err != nil {
			return nil, r.failed(err)
		}
		if value == nil {
			continue
		}
		if more, err := fn(key, value); err != nil || !more {
			return slices.Clone(key), err
		}
	}
	return nil, nil
}

func (r *reader) failed(err error) error {
	return sdk.Errorf(sdk.Unavailable, "store_io", "the store in %s can't be read: %w", r.dir, err).
		WithHint("check the disk; restore a backup if files are damaged")
}

// merge walks an iterator and a list of writes as one, in key order. Where both
// have a key, the write counts.
type merge struct {
	it  *pebbledb.Iterator
	top []write
}

func (m *merge) first()      { m.it.First() }
func (m *merge) valid() bool { return m.it.Valid() || len(m.top) > 0 }

// order is negative if the iterator comes first, positive if the writes do, and
// 0 if they have the same key.
func (m *merge) order() int {
	switch {
	case len(m.top) == 0:
		return -1
	case !m.it.Valid():
		return 1
	}
	return bytes.Compare(m.it.Key(), m.top[0].key)
}

// pair returns the current pair; a nil value is a deletion.
func (m *merge) pair() (key, value []byte, err error) {
	if m.order() >= 0 {
		return m.top[0].key, m.top[0].value, nil
	}
	value, err = m.it.ValueAndErr()
	if value == nil {
		value = []byte{}
	}
	return m.it.Key(), value, err
}

func (m *merge) next() {
	order := m.order()
	if order <= 0 {
		m.it.Next()
	}
	if order >= 0 {
		m.top = m.top[1:]
	}
}

func searchWrites(writes []write, key []byte) (int, bool) {
	return slices.BinarySearchFunc(writes, key, func(w write, key []byte) int { return bytes.Compare(w.key, key) })
}

// tx implements [core.Tx]: a reader, what it read, and its writes.
type tx struct {
	reader
	version uint64
	reads   reads
	writes  overlay
}

// Get implements [core.Reader].
func (t *tx) Get(key []byte) ([]byte, bool, error) {
	if t.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if i, found := t.writes.find(key); found {
		value := t.writes.writes[i].value
		if value == nil {
			return nil, false, nil
		}
		return append([]byte{}, value...), true, nil
	}
	value, found, err := t.reader.Get(key)
	if err == nil {
		t.reads.addKey(key)
	}
	return value, found, err
}

// Scan implements [core.Reader].
func (t *tx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	s := span{bytes.Clone(from), bytes.Clone(to)}
	stop, err := t.scan(s, t.writes.between(s), fn)
	if stop != nil {
		s.to = append(stop, 0)
	}
	t.reads.ranges = append(t.reads.ranges, s)
	return err
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	return t.writes.put(write{bytes.Clone(key), append([]byte{}, value...)})
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	return t.writes.put(write{key: bytes.Clone(key)})
}
