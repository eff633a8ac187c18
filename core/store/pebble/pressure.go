package pebble

import (
	"context"
	"time"
)

const (
	// checkBytes is how much may be written between two checks of the backlog.
	checkBytes = 1 << 20
	// maxMemTables and maxLevel0 bound the backlog: full memtables that wait to become
	// files, and layers of files that wait to be merged. Pebble's own defaults are 2 and
	// 12; these leave it room to catch up while writers continue. The former is counted
	// in bytes, since the first memtables are small, and Pebble lets several of them wait
	// until together they are large enough for a file.
	maxMemTables = 4
	maxLevel0    = 20
	// backlogPause is how long a writer sleeps between two checks.
	backlogPause = 5 * time.Millisecond
)

// holdBack makes a writer wait while the backlog is too long, so that memory stays
// bounded. It gives up when the disk has failed, when a damaged file prevents the backlog
// from shrinking, or when the caller has given up; the next writer checks again.
func (s *Store) holdBack(ctx context.Context) error {
	n := s.unchecked.Load()
	if n < checkBytes || !s.unchecked.CompareAndSwap(n, 0) {
		return nil
	}
	for {
		long, err := s.backlogged()
		if !long {
			return nil
		}
		if err == nil {
			err = pause(ctx)
		}
		if err != nil {
			s.unchecked.Add(n)
			return err
		}
	}
}

// pause makes a writer sleep until it checks again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(backlogPause):
		return nil
	}
}

// backlogged reports whether the backlog is too long, and why it stays so, if that is
// known.
func (s *Store) backlogged() (long bool, err error) {
	m := s.db.Metrics()
	memory := m.MemTable.Size > maxMemTables*s.options.MemTableBytes
	if !memory && m.Levels[0].Sublevels <= maxLevel0 {
		return false, nil
	}
	if err := s.fuse.err(); err != nil || memory {
		return true, err
	}
	return true, s.compactions.stuck()
}
