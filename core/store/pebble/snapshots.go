package pebble

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
)

// snapshots gives out snapshots of the newest state, or with [Full] of the newest that is on
// the disk, so that a reader doesn't wait for the syncs of others. While nothing is committed
// all readers share one: closing a snapshot makes Pebble look for something to compact,
// behind the lock that it holds while it records new files. That would make a get a
// quarter slower, and it would sometimes wait for the disk.
type snapshots struct {
	db *pebble.DB
	// commits counts the visible commits. synced is whether each group that is on the disk
	// brings its own snapshot.
	commits func() uint64
	synced  bool
	clock   core.Clock

	mu      sync.Mutex
	current *snapshot
	// renewals counts the calls of renew.
	renewals int
	// open are all snapshots that aren't closed, with the time when they were taken.
	open map[*snapshot]time.Time
}

// snapshot is a snapshot that may be shared.
type snapshot struct {
	*pebble.Snapshot
	// commits are the commits that it certainly has; it may have newer ones.
	commits uint64
	// renewals are those before it was taken.
	renewals int
	// durable is whether all that it has is on the disk. It is set before readers get it.
	durable bool
	// users is guarded by the mutex of snapshots. The current one counts as used.
	users int
}

// acquire returns a snapshot with all commits that are acknowledged. It must be given back.
func (s *snapshots) acquire() *snapshot {
	s.mu.Lock()
	before := s.current
	if before == nil || !s.synced && before.commits != s.commits() {
		s.current = s.newest()
	} else {
		before = nil
	}
	taken := s.current
	taken.users++
	s.mu.Unlock()
	s.release(before)
	return taken
}

// newest is a new snapshot, with one user. The lock is held.
func (s *snapshots) newest() *snapshot {
	made := &snapshot{commits: s.commits(), Snapshot: s.db.NewSnapshot(), renewals: s.renewals, users: 1}
	s.open[made] = s.clock.Now()
	return made
}

// next is a snapshot of all that is visible, to be passed to advance once that is on the disk.
func (s *snapshots) next() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest()
}

// advance makes a snapshot the one that readers get from now on, unless it may have what a purge
// removed meanwhile.
func (s *snapshots) advance(to *snapshot) {
	s.mu.Lock()
	if to.durable = true; to.renewals == s.renewals {
		s.current, to = to, s.current
	}
	s.mu.Unlock()
	s.release(to)
}

// release gives a snapshot back; nil is none. The last user's call closes it.
func (s *snapshots) release(back *snapshot) {
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
	s.renewals++
	s.mu.Unlock()
	s.release(last)
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
