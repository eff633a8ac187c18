package pebble

import (
	"bytes"
	"container/list"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// tx is a transaction, which collects writes. It reads the newest values and makes sure that
// they belong to its moment: a snapshot of its own would cost more than everything that it
// reads, since Pebble looks for compactions whenever one is closed.
type tx struct {
	store *Store
	// begun is the transaction's entry in the history.
	begun *list.Element
	reads readSet
	// conflict is whether the values read don't belong to one moment.
	conflict bool
	writes   writeSet
	size     int
	ended    atomic.Bool
}

// end prevents any further use of the transaction.
func (t *tx) end() { t.ended.Store(true) }

// Get implements [core.Reader].
func (t *tx) Get(key []byte) ([]byte, bool, error) {
	if t.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	if w, ok := t.writes.get(key); ok {
		return cloned(w.value, !w.deleted), !w.deleted, nil
	}
	name, h := string(key), t.store.history
	for {
		v, known := h.hotValue(t.begun, name)
		outdated := false
		if !known {
			var err error
			if v.value, v.found, err = get(t.store.db, key); err != nil {
				return nil, false, err
			}
			outdated = h.keep(t.begun, name, v)
		}
		if !outdated && !t.conflict {
			t.reads.keys = append(t.reads.keys, name)
			return cloned(v.value, v.found), v.found, nil
		}
		if err := t.move(&t.reads); err != nil {
			return nil, false, err
		}
	}
}

// move advances the transaction to a newer moment, because a value is newer than its
// moment. If what it read before has changed since, it has to start again, whatever it
// does with the error.
func (t *tx) move(before *readSet) error {
	if !t.conflict && t.store.history.move(t.begun, before) {
		return nil
	}
	t.conflict = true
	return sdk.Errorf(sdk.Conflict, "tx_conflict", "what the transaction read was written meanwhile").
		WithHint("the transaction is run again")
}

// get reads a key.
func get(r pebble.Reader, key []byte) ([]byte, bool, error) {
	value, closer, err := r.Get(key)
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

// cloned copies a value; the copy of an existing value is never nil.
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
	at := len(t.reads.spans)
	t.reads.spans = append(t.reads.spans, span{string(from), string(to)}) // until it stops early, it counts as reading the whole range
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
			t.reads.spans[at].to = string(key) + "\x00"
			return err
		}
	}
}

// merge yields the stored pairs of a range with the transaction's own writes
// over them.
func (t *tx) merge(from, to []byte) (*merge, error) {
	it, err := t.iterate(&pebble.IterOptions{LowerBound: from, UpperBound: endOf(to)})
	if err != nil {
		return nil, err
	}
	m := &merge{stored: it, own: t.writes.between(from, to)}
	m.stored.First()
	return m, nil
}

// iterate returns an iterator of a range, at the newest moment, which becomes the
// transaction's.
func (t *tx) iterate(o *pebble.IterOptions) (*pebble.Iterator, error) {
	last := len(t.reads.spans) - 1
	before := readSet{t.reads.keys, t.reads.spans[:last]}
	for {
		it, err := t.store.db.NewIter(o)
		if err != nil {
			return nil, ioError("read", err)
		}
		if !t.conflict && !t.store.history.crossed(t.begun, t.reads.spans[last]) {
			return it, nil
		}
		_ = it.Close() // nothing was read with it
		if err := t.move(&before); err != nil {
			return nil, err
		}
	}
}

// endOf is the end of a range as Pebble has it: nil is the end of all keys.
func endOf(to []byte) []byte {
	if len(to) == 0 {
		return nil
	}
	return to
}

// merge is a scan in progress.
type merge struct {
	stored *pebble.Iterator
	// advance is whether the stored pair was returned, so that the next call moves on:
	// its bytes are valid until then.
	advance bool
	own     []write // the transaction's own writes, in order
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
			order = compare(m.own[0].key, m.stored.Key())
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
			return []byte(w.key), w.value, true, nil
		}
	}
}

// compare orders a key of ours and a key of Pebble, without copying either.
func compare(a string, b []byte) int {
	switch {
	case a < string(b):
		return -1
	case a > string(b):
		return 1
	}
	return 0
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	return t.write(key, value, false)
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error { return t.write(key, nil, true) }

func (t *tx) write(key, value []byte, deleted bool) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if err := store.CheckWrite(key, value, t.size); err != nil {
		return err
	}
	t.size += len(key) + len(value)
	t.writes.put(write{key: string(key), value: cloned(value, !deleted), deleted: deleted})
	return nil
}
