// Package mem is a store in memory: the reference that other engines are
// compared with, and a store for tests and for runs that needn't last.
//
// It is written to be obviously right. The data is one sorted slice that is
// never changed in place, so a snapshot is a copy of the slice's header. A
// transaction notes the ranges that it read, and commits if they still read the
// same; otherwise it runs again. A commit copies the slice, which is O(n): fit
// for thousands of keys, not for millions.
package mem

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// Store implements [core.Store] in memory. It is safe for concurrent use.
type Store struct {
	turns *store.Turns

	mu     sync.Mutex
	data   pairs
	closed bool
}

// Open returns an empty store.
func Open() *Store { return &Store{turns: store.NewTurns()} }

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
	return s.turns.Run(ctx, func() (conflict bool, err error) {
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

// Close drops the data. It is idempotent. Transactions that still run fail when
// they commit.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.data = true, nil
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
	return &tx{base: s.data, now: s.data}, nil
}

// commit replays the transaction's reads on the newest data and, where they
// come out the same, its writes too.
func (s *Store) commit(t *tx) (conflict bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, store.ErrClosed()
	}
	if len(t.writes) == 0 {
		return false, nil
	}
	for _, r := range t.reads {
		if !slices.EqualFunc(t.base.between(r.from, r.to), s.data.between(r.from, r.to), pair.equal) {
			return true, nil
		}
	}
	next := s.data
	for _, w := range t.writes {
		next = next.with(w)
	}
	s.data = next
	return false, nil
}

// pair is a key with its value, or a write; a nil value deletes the key.
type pair struct{ key, value []byte }

func (p pair) equal(q pair) bool {
	return bytes.Equal(p.key, q.key) && bytes.Equal(p.value, q.value)
}

// pairs are sorted by key and never changed in place.
type pairs []pair

func (p pairs) find(key []byte) (int, bool) {
	return slices.BinarySearchFunc(p, key, func(e pair, key []byte) int { return bytes.Compare(e.key, key) })
}

// between returns the pairs with from <= key < to; an empty to is the end.
func (p pairs) between(from, to []byte) pairs {
	i, _ := p.find(from)
	if len(to) == 0 {
		return p[i:]
	}
	j, _ := p.find(to)
	return p[i:max(i, j)]
}

// with returns a copy in which the write is done.
func (p pairs) with(w pair) pairs {
	i, found := p.find(w.key)
	rest := p[i:]
	if found {
		rest = p[i+1:]
	}
	next := append(make(pairs, 0, len(p)+1), p[:i]...)
	if w.value != nil {
		next = append(next, w)
	}
	return append(next, rest...)
}
