package store

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// Work is the progress of an export or an import.
type Work struct {
	Doing Doing
	// Records counts the records that were moved, or read during another step; Total is how
	// many there are to move, 0 if unknown.
	Records, Total int64
	// Bytes is how much of the file was written or read.
	Bytes int64
}

// Doing is the current step of an export or an import.
type Doing string

// The steps of an export or an import. Before it is done, an import rebuilds derived data
// and checks everything, which may take longer than reading the file.
const (
	Moving     Doing = "moving"
	Rebuilding Doing = "rebuilding"
	Checking   Doing = "checking"
	Merging    Doing = "merging"
)

// Progress is called now and then with the progress of long work. It may be nil.
type Progress func(Work)

// progressStep is how many records are between two calls of a Progress: fewer than are
// read in a tenth of a second.
const progressStep = 1000

func (p Progress) report(w Work) {
	if p != nil && w.Records%progressStep == 0 {
		p(w)
	}
}

// while calls p while the returned store is read.
func (p Progress) while(doing Doing, s core.Store, bytes int64) core.Store {
	if p == nil {
		return s
	}
	p(Work{Doing: doing, Bytes: bytes})
	return Watch(s, func(records int64) { p(Work{Doing: doing, Records: records, Bytes: bytes}) })
}

// Watch returns a store that calls step now and then with how many records its scans have
// read, in the goroutine that reads, so that callers can show the progress of a check or
// a rebuild. The total isn't known, because parts read some records more than once. It is
// for one reader at a time.
func Watch(s core.Store, step func(records int64)) core.Store {
	return &watchedStore{Store: s, step: step}
}

type watchedStore struct {
	core.Store
	step func(int64)
	read int64
}

// View implements [core.Store].
func (s *watchedStore) View(ctx context.Context, fn func(core.Reader) error) error {
	return s.Store.View(ctx, func(r core.Reader) error { return fn(watchedReader{r, s}) })
}

// Update implements [core.Store].
func (s *watchedStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error { return fn(watchedTx{tx, s}) })
}

type watchedReader struct {
	core.Reader
	store *watchedStore
}

// Scan implements [core.Reader].
func (r watchedReader) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	return r.store.scan(r.Reader, from, to, fn)
}

type watchedTx struct {
	core.Tx
	store *watchedStore
}

// Scan implements [core.Reader].
func (tx watchedTx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	return tx.store.scan(tx.Tx, from, to, fn)
}

func (s *watchedStore) scan(r core.Reader, from, to []byte, fn func(key, value []byte) (bool, error)) error {
	return r.Scan(from, to, func(key, value []byte) (bool, error) {
		if s.read++; s.read%progressStep == 0 {
			s.step(s.read)
		}
		return fn(key, value)
	})
}
