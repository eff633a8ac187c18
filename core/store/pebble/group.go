package pebble

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// group is the commits that share a sync: those that come while the group before is
// on its way to the disk. Pebble groups them as well, but begins a sync with the first
// that comes, and wakes each by itself: at 64 writers it syncs twice as often.
type group struct {
	// before is the group before; nil once that is on the disk.
	before *group
	// sealed is whether no commit may join any more. It is guarded by the store's mu.
	sealed bool
	done   chan struct{}
	// err is set before done is closed.
	err error
}

// wait returns once the group is durable, or why it isn't; at once for none.
func (g *group) wait() error {
	if g == nil {
		return nil
	}
	<-g.done
	return g.err
}

// join puts a commit that comes next in the open group, and returns how to wait for
// it: for who opens a group that is to sync it. The caller holds s.mu.
func (s *Store) join() (durable func() error) {
	g := s.newest.Load()
	if g != nil && !g.sealed {
		return g.wait
	}
	g = &group{before: g, done: make(chan struct{})}
	s.newest.Store(g)
	return func() error { return s.sync(g) }
}

// sync syncs a group, for its caller and for all who wait for it.
func (s *Store) sync(g *group) error {
	_ = g.before.wait() // the fuse keeps its error
	g.before = nil
	runtime.Gosched() // who waited for that one, and commits again, may join
	end, err := s.seal(g)
	if err == nil {
		err = end.SyncWait()
	}
	if err != nil {
		s.fuse.blow(err)
	}
	if g.err = s.fuse.err(); g.err != nil {
		s.newest.CompareAndSwap(g, nil) // later views don't wait for what won't come
	} else {
		_ = end.Close() // only returns memory, which a failed sync may still use
	}
	close(g.done)
	return g.err
}

// seal closes a group, and puts a record behind its commits in Pebble's log: once that
// is synced, they are as well.
func (s *Store) seal(g *group) (end *pebble.Batch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.sealed = true
	// After what it called fatal, Pebble may neither take the record nor end its sync.
	if err := s.fuse.err(); err != nil {
		return nil, err
	}
	end = s.db.NewBatch()
	if err := end.LogData(nil, nil); err != nil {
		return nil, err
	}
	if err := s.db.ApplyNoSyncWait(end, pebble.Sync); err != nil {
		return nil, err
	}
	return end, s.fuse.err()
}
