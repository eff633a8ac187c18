package pebble

import (
	"bytes"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// view reads a snapshot. An iterator costs as much as several gets, so that one that a scan has ended with
// is kept for the next scan of the view.
type view struct {
	snap  *pebble.Snapshot
	spare *pebble.Iterator // nil if there is none
	ended atomic.Bool
}

var _ core.Reader = (*view)(nil)

// end prevents any further use of the view. It must be called before the snapshot is given back.
func (v *view) end() {
	v.ended.Store(true)
	if v.spare != nil {
		_ = v.spare.Close() // its scan has reported its error
	}
}

// Get implements [core.Reader].
func (v *view) Get(key []byte) ([]byte, bool, error) {
	if v.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	return get(v.snap, key)
}

// Scan implements [core.Reader].
func (v *view) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) (err error) {
	if v.ended.Load() {
		return store.ErrEnded()
	}
	if len(to) > 0 && bytes.Compare(from, to) >= 0 {
		return nil
	}
	it, err := v.iterate(from, to)
	if err != nil {
		return ioError("read", err)
	}
	defer func() {
		if v.spare == nil && !v.ended.Load() && it.Error() == nil {
			v.spare = it
		} else if e := it.Close(); err == nil && e != nil {
			err = ioError("read", e)
		}
	}()
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return ioError("read", err)
		}
		if more, err := fn(it.Key(), value); err != nil || !more {
			return err
		}
	}
	return nil // the iterator's own error is returned when it is closed
}

// iterate returns an iterator of a range.
func (v *view) iterate(from, to []byte) (*pebble.Iterator, error) {
	if it := v.spare; it != nil {
		v.spare = nil
		it.SetBounds(from, endOf(to))
		return it, nil
	}
	return v.snap.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: endOf(to)})
}
