package pebble

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core/store"
)

var _ store.Compacter = (*Store)(nil)

// Compact implements [store.Compacter]: it merges the tables of a range with the deletions
// in it. It waits a while for those who read what was deleted.
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
	if err := s.flush(); err != nil { // by itself Compact could wait for ever where the disk fails
		return err
	}
	if err := s.db.Compact(ctx, from, to, true); err != nil {
		return ioError("compact", err)
	}
	return s.fuse.err()
}
