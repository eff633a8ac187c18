package pebble

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
)

// snapshots gives out snapshots of the newest state. While nothing is committed all
// readers share one: closing a snapshot makes Pebble look for something to compact,
// behind the lock that it holds while it records new files. That would make a get a
// quarter slower, and it would sometimes wait for the disk.
type snapshots struct {
	db *pebble.DB
	// commits counts the visible commits.
	commits func() uint64
	clock   core.Clock

	mu      sync.Mutex
	current *snapshot
	// open are all snapshots that aren't closed, with the time when they were taken.
	open map[*snapshot]time.Time
}

// snapshot is a snapshot that may be shared.
type snapshot struct {
	*pebble.Snapshot
	// commits are the commits that it certainly has; it may have newer ones.
	commits uint64
	// users is guarded by the mutex of snapshots. The current one counts as used.
	users int
}

// take returns a snapshot with all counted commits. It must be given back.
func (s *snapshots) take() *snapshot {
	s.mu.Lock()
	commits := s.commits()
	before := s.current
	if before == nil || before.commits != commits {
		s.current = &snapshot{Snapshot: s.db.NewSnapshot(), commits: commits, users: 1}
		s.open[s.current] = s.clock.Now()
	} else {
		before = nil
	}
	taken := s.current
	taken.users++
	s.mu.Unlock()
	s.give(before)
	return taken
}

// give gives a snapshot back; nil is none. The last user's call closes it.
func (s *snapshots) give(back *snapshot) {
	if back == nil {
		return
	}
	s.mu.Lock()
	back.users--
	unused := back.users == 0
	if unused {
		delete(s.open, back)
	}
	s.mu.Unlock()
	if unused {
		_ = back.Close() // fails only for a snapshot that is closed already
	}
}

// renew drops the current snapshot, and returns those that are still being read.
func (s *snapshots) renew() map[*snapshot]time.Time {
	s.mu.Lock()
	last := s.current
	s.current = nil
	s.mu.Unlock()
	s.give(last)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.open)
}

// held names one of the readers of earlier snapshots that still reads; "" for none.
func (s *snapshots) held(earlier map[*snapshot]time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for snapshot, since := range earlier {
		if _, reads := s.open[snapshot]; reads {
			return fmt.Sprintf("a reader that began at %s", since.UTC().Format(time.RFC3339))
		}
	}
	return ""
}
