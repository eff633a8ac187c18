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
	if err := s.flush(); err != nil {
		return err
	}
	return s.merge(ctx, from, to, true)
}

// merge is Pebble's Compact, which would wait for ever once the disk fails: Pebble repeats
// the flush or the merge that it waits for.
func (s *Store) merge(ctx context.Context, from, to []byte, parallel bool) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-s.fuse.blown:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := s.db.Compact(ctx, from, to, parallel)
	cancel()
	<-ended
	if failed := s.fuse.err(); failed != nil {
		return failed
	}
	if err != nil {
		return ioError("compact", err)
	}
	return nil
}
