package pebble

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core/store"
)

var _ store.Compacter = (*Store)(nil)

// Compact implements [store.Compacter]: it merges the tables of a range with the
// deletions in it. It waits for a limited time for readers of the deleted data.
func (s *Store) Compact(ctx context.Context, from, to []byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.users.Done()
	s.scrubbing.Lock()
	defer s.scrubbing.Unlock()
	deadline := time.NewTimer(scrubWait)
	defer deadline.Stop()
	if _, err := s.awaitReaders(ctx, deadline.C); err != nil {
		return err
	}
	if err := s.flush(); err != nil { // Pebble's Compact could wait for ever if the disk fails
		return err
	}
	if err := s.db.Compact(ctx, from, to, true); err != nil {
		return ioError("compact", err)
	}
	return s.fuse.err()
}
