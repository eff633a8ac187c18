// Package mem is a store in memory: the reference that other engines are compared with,
// and a store for tests and for runs whose data needn't be kept.
//
// It is written to be obviously correct. The data is one sorted tree, and a snapshot is a
// copy that shares what neither side changes, so taking one costs the same however much
// is stored. A transaction notes the ranges that it read, and commits if they still have
// the same contents; otherwise it runs again.
//
// It is internal to Reflectory: its API may change in any release.
package mem

import (
	"context"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// Store implements [core.Store] in memory. It is safe for concurrent use.
type Store struct {
	retries *store.Retries

	mu      sync.Mutex
	data    *pairs // changed in place; transactions get clones
	commits int    // how many changed the data
	closed  bool
}

// Open returns an empty store.
func Open() *Store { return &Store{retries: store.NewRetries(), data: newPairs()} }

// View implements [core.Store].
func (s *Store) View(ctx context.Context, fn func(core.Reader) error) error {
	t, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	return fn(reader{t})
}

// Update implements [core.Store].
func (s *Store) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.retries.Run(ctx, func() (conflict bool, err error) {
		t, err := s.begin(ctx)
		if err != nil {
			return false, err
		}
		defer t.end()
		if err := fn(t); err != nil {
			return false, err
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		return s.commit(t)
	})
}

// Close drops the data. It is idempotent. Transactions that are still running fail when
// they commit.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.data = true, newPairs()
	return nil
}

func (s *Store) begin(ctx context.Context) (*tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed()
	}
	base := s.data.Clone()
	return &tx{base: base, now: base, began: s.commits}, nil
}

// commit replays the transaction's reads on the newest data and, if their results are the
// same, its writes too.
func (s *Store) commit(t *tx) (conflict bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, store.ErrClosed()
	}
	if len(t.writes) == 0 {
		return false, nil
	}
	if t.began != s.commits && !t.readsSame(s.data) {
		return true, nil
	}
	for _, w := range t.writes {
		w.apply(s.data)
	}
	s.commits++
	return false, nil
}
