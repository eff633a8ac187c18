package pebble

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// group is the commits that share a sync: those that arrive while the previous group is
// written to the disk. Pebble groups commits too, but begins a sync with the first one,
// and wakes each writer separately: with 64 writers it syncs twice as often.
type group struct {
	// before is the previous group; nil once that is on the disk.
	before *group
	// sealed is whether no more commits may join. It is guarded by the store's mu.
	sealed bool
	done   chan struct{}
	// err is set before done is closed.
	err error
}

// wait returns nil when the group is durable, or why it isn't; at once if there is no
// group.
func (g *group) wait() error {
	if g == nil {
		return nil
	}
	<-g.done
	return g.err
}

// join adds the next commit to the open group, and returns how to wait for it: whoever
// opens a group also syncs it. The caller holds s.mu.
func (s *Store) join() (durable func() error) {
	g := s.newest.Load()
	if g != nil && !g.sealed {
		return g.wait
	}
	g = &group{before: g, done: make(chan struct{})}
	s.newest.Store(g)
	return func() error { return s.sync(g) }
}

// sync syncs a group, for its caller and for everybody who waits for it.
func (s *Store) sync(g *group) error {
	_ = g.before.wait() // the fuse keeps its error
	g.before = nil
	runtime.Gosched() // writers that waited for the previous group may join with their next commit
	end, snap, err := s.seal(g)
	if err == nil {
		err = end.SyncWait()
	}
	if err != nil {
		s.fuse.blow(err)
	}
	if g.err = s.fuse.err(); g.err != nil {
		s.newest.CompareAndSwap(g, nil) // later views don't wait for a group that failed
		s.snapshots.release(snap)
	} else {
		s.snapshots.advance(snap)
		_ = end.Close() // only returns memory, which a failed sync may still use
	}
	close(g.done)
	return g.err
}

// seal closes a group, and writes a record after its commits to Pebble's log: once that
// record is synced, so are the commits, and with them all that is in snap.
func (s *Store) seal(g *group) (end *pebble.Batch, snap *snapshot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.sealed = true
	// After an error that Pebble calls fatal, it may neither accept the record nor finish
	// its sync.
	if err := s.fuse.err(); err != nil {
		return nil, nil, err
	}
	end = s.db.NewBatch()
	if err := end.LogData(nil, nil); err != nil {
		return nil, nil, err
	}
	if err := s.db.ApplyNoSyncWait(end, pebble.Sync); err != nil {
		return nil, nil, err
	}
	return end, s.snapshots.next(), s.fuse.err()
}
