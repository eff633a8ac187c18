package pebble

import (
	"context"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
)

// try runs a transaction once.
func (s *Store) try(ctx context.Context, fn func(core.Tx) error) (conflict bool, err error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.gate.leave()
	if err := s.guard.failure(); err != nil {
		return false, err
	}
	t := s.begin()
	seen := s.last.Load()
	defer s.end(t)
	err = fn(t)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || len(t.writes.writes) == 0 {
		s.settle(seen)
		return false, err
	}
	return s.commit(t)
}

func (s *Store) begin() *tx {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &tx{
		reader:  reader{snapshot: s.db.NewSnapshot(), dir: s.guard.dir},
		version: s.ledger.begin(),
	}
}

// end is called in any case, also when the transaction panicked.
func (s *Store) end(t *tx) {
	_ = t.reader.end() // as in View
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.end(t.version)
}

// commit makes the transaction's writes durable, unless what it read was changed.
func (s *Store) commit(t *tx) (conflict bool, err error) {
	batch := s.db.NewBatch()
	for _, w := range t.writes.writes {
		if w.value == nil {
			err = batch.Delete(w.key, nil)
		} else {
			err = batch.Set(w.key, w.value, nil)
		}
		if err != nil {
			return false, err
		}
	}
	c, err := s.apply(t, batch)
	if err != nil || c == nil {
		return err == nil, err
	}
	defer close(c.done)
	return false, s.await(batch)
}

// apply hands the batch to Pebble in the order of commits, after which it is
// visible. It returns nil if the transaction conflicts.
func (s *Store) apply(t *tx, batch *pebbledb.Batch) (*commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.guard.failure(); err != nil {
		return nil, err
	}
	if s.ledger.conflicts(t.version, &t.reads) {
		return nil, nil
	}
	// The commit must be known before it is visible, so that whoever sees it
	// waits for it.
	c := &commit{done: make(chan struct{})}
	s.last.Store(c)
	err := s.hand(batch)
	if err != nil {
		close(c.done)
		s.guard.fail(err)
		return nil, s.guard.failure()
	}
	s.ledger.add(t.writes.writes)
	return c, nil
}

func (s *Store) hand(batch *pebbledb.Batch) error {
	if s.relaxed {
		return s.db.Apply(batch, pebbledb.NoSync)
	}
	return s.db.ApplyNoSyncWait(batch, pebbledb.Sync)
}

// await waits until the batch is on disk. Once the store is frozen, a batch may
// never be told, so it isn't waited for, nor given back for reuse.
func (s *Store) await(batch *pebbledb.Batch) error {
	if err := s.guard.failure(); err != nil {
		return err
	}
	if !s.relaxed {
		if err := batch.SyncWait(); err != nil {
			s.guard.fail(err)
		}
	}
	if err := s.guard.failure(); err != nil {
		return err
	}
	return batch.Close()
}
