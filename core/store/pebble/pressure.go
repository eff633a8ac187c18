package pebble

import (
	"context"
	"time"
)

const (
	// checkBytes is how much may be written between two looks at the backlog.
	checkBytes = 1 << 20
	// maxMemTables and maxLevel0 bound the backlog: full memtables that wait to
	// become files, and layers of files that wait to be merged. Pebble's own
	// defaults are 2 and 12; these leave it room to catch up while writers go on.
	// The former counts bytes, since the first memtables are small, and Pebble
	// lets several of them wait until together they are worth a file.
	maxMemTables = 4
	maxLevel0    = 20
	// backlogPause is how long a writer sleeps between two looks.
	backlogPause = 5 * time.Millisecond
)

// holdBack lets a writer wait while the backlog is too long, so that memory
// stays bounded. It gives up when the disk has failed or the caller has.
func (s *Store) holdBack(ctx context.Context) error {
	n := s.unchecked.Load()
	due := n >= checkBytes && s.unchecked.CompareAndSwap(n, 0)
	for due && s.backlogged() {
		if err := s.fuse.err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backlogPause):
		}
	}
	return nil
}

func (s *Store) backlogged() bool {
	m := s.db.Metrics()
	return m.MemTable.Size > maxMemTables*s.options.MemTableBytes || m.Levels[0].Sublevels > maxLevel0
}
