package pebble

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
)

// disk is a file system in memory. It counts the syncs of logs, which can be held,
// as can the making of tables.
type disk struct {
	vfs.FS
	syncs        atomic.Int64
	logs, tables barrier
}

func newDisk() *disk {
	d := &disk{}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileSyncData:
			d.syncs.Add(1)
			d.logs.pass()
		case strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpCreate:
			d.tables.pass()
		}
		return nil
	}))
	return d
}

// barrier is something that can be held shut. Its zero value is open.
type barrier struct {
	mu   sync.Mutex
	held chan struct{}
}

func (b *barrier) pass() {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held != nil {
		<-held
	}
}

// hold makes pass wait until the returned function is called.
func (b *barrier) hold() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := make(chan struct{})
	b.held = held
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.held = nil
		close(held)
	}
}

// inBubble runs a test with a store on a disk that can be held.
func inBubble(t *testing.T, test func(t *testing.T, d *disk, s *Store)) {
	inBubbleWith(t, smallTables(), test)
}

func inBubbleWith(t *testing.T, o Options, test func(t *testing.T, d *disk, s *Store)) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s, err := open(t.Context(), o, d)
		if err != nil {
			t.Fatal(err)
		}
		test(t, d, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// put commits one key.
func put(t *testing.T, s *Store, key string) error {
	return s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte("x")) })
}

func TestEveryRecordIsOneSync(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		opened := d.syncs.Load()
		err := play(t.Context(), s, func(commits int) {
			if n := d.syncs.Load() - opened; n != int64(commits) {
				t.Errorf("after %d records: %d syncs", commits, n)
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestUpdateReturnsOnceItIsOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		var done atomic.Bool
		var err error
		go func() {
			err = put(t, s, "a")
			done.Store(true)
		}()
		synctest.Wait()
		if done.Load() {
			t.Errorf("Update returned %v before the sync", err)
		}
		release()
		synctest.Wait()
		if !done.Load() || err != nil {
			t.Errorf("after the sync: done %v, error %v", done.Load(), err)
		}
	})
}

// TestRelaxedWaitsForNoDisk: neither a commit nor who reads it.
func TestRelaxedWaitsForNoDisk(t *testing.T) {
	o := smallTables()
	o.Durability = Relaxed
	inBubbleWith(t, o, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		defer release()
		var done atomic.Bool
		var err error
		go func() {
			if err = put(t, s, "a"); err == nil {
				err = s.View(t.Context(), func(r core.Reader) error {
					_, found, err := r.Get([]byte("a"))
					if !found {
						t.Error("the commit isn't visible")
					}
					return err
				})
			}
			done.Store(true)
		}()
		synctest.Wait()
		if !done.Load() || err != nil {
			t.Errorf("while the disk is held: done %v, error %v", done.Load(), err)
		}
	})
}

// TestReadersReturnOnceWhatTheySawIsOnDisk covers an Update that writes nothing, and one that
// fails.
func TestReadersReturnOnceWhatTheySawIsOnDisk(t *testing.T) {
	refused := fmt.Errorf("refused")
	sees := func(r core.Reader) error {
		if _, found, err := r.Get([]byte("a")); !found || err != nil {
			return fmt.Errorf("the commit isn't visible: %w", err)
		}
		return nil
	}
	readers := map[string]func(s *Store) error{
		"update": func(s *Store) error { return s.Update(t.Context(), func(tx core.Tx) error { return sees(tx) }) },
		"refusal": func(s *Store) error {
			err := s.Update(t.Context(), func(tx core.Tx) error {
				if err := sees(tx); err != nil {
					return err
				}
				return refused
			})
			if err == refused {
				return nil
			}
			return err
		},
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *disk, s *Store) {
				release := d.logs.hold()
				go func() { _ = put(t, s, "a") }()
				synctest.Wait()
				var done atomic.Bool
				var err error
				go func() {
					err = read(s)
					done.Store(true)
				}()
				synctest.Wait()
				if done.Load() {
					t.Errorf("it returned %v before what it saw was on disk", err)
				}
				release()
				synctest.Wait()
				if !done.Load() || err != nil {
					t.Errorf("after the sync: done %v, error %v", done.Load(), err)
				}
			})
		})
	}
}

// TestReadersDoNotWaitForTheDisk: while a commit is on its way to the disk, a view returns at once
// with what was acknowledged before, and doesn't see what a crash may undo. Commits are counted once
// a view sees them.
func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	sees := func(t *testing.T, s *Store, want bool) func() bool {
		var done atomic.Bool
		go func() {
			err := s.View(t.Context(), func(r core.Reader) error {
				if _, found, err := r.Get([]byte("a")); found != want || err != nil {
					t.Errorf("found %v, want %v: %v", found, want, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			done.Store(true)
		}()
		synctest.Wait()
		return done.Load
	}
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		if err := put(t, s, "before"); err != nil {
			t.Fatal(err)
		}
		commits, release := s.Commits(), d.logs.hold()
		go func() { _ = put(t, s, "a") }()
		synctest.Wait()
		if !sees(t, s, false)() {
			t.Error("a view waits for the sync of a commit that it doesn't see")
		}
		if n := s.Commits(); n != commits {
			t.Errorf("%d commits, want %d: no view sees the last one", n, commits)
		}
		// A purge drops the snapshots of before; the next reader has the newest state, and waits.
		s.snapshots.renew()
		done := sees(t, s, true)
		if done() {
			t.Error("a view returned what may be lost")
		}
		release()
		synctest.Wait()
		if !done() || !sees(t, s, true)() {
			t.Error("a view waits for a commit that is on the disk")
		}
		if n := s.Commits(); n != commits+1 {
			t.Errorf("%d commits, want %d", n, commits+1)
		}
	})
}

// TestAPurgeKeepsNoSnapshotOfBefore: a snapshot that was taken before readers were renewed, and is
// on the disk after that, isn't given to them.
func TestAPurgeKeepsNoSnapshotOfBefore(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		go func() { _ = put(t, s, "a") }()
		synctest.Wait()
		earlier := s.snapshots.renew()
		if s.snapshots.held(earlier) == "" {
			t.Error("the snapshot of the group that is synced isn't awaited")
		}
		release()
		synctest.Wait()
		if by := s.snapshots.held(earlier); by != "" {
			t.Errorf("it is held by %s", by)
		}
	})
}

func TestWritersShareSyncs(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				if err := put(t, s, fmt.Sprint(w)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		before := d.syncs.Load() // the one that waits
		release()
		all.Wait()
		if n := d.syncs.Load() - before; n > 2 {
			t.Errorf("%d more syncs for 64 writers", n)
		}
	})
}

// TestConflictingWritersShareSyncs: a retry starts from a commit that is visible,
// so it needn't wait until that is on disk.
func TestConflictingWritersShareSyncs(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		var all sync.WaitGroup
		var started sync.WaitGroup
		started.Add(16)
		for range 16 {
			all.Go(func() {
				first := true
				err := s.Update(t.Context(), func(tx core.Tx) error {
					n, _, err := tx.Get([]byte("n"))
					if err != nil {
						return err
					}
					if first { // all read the same before anyone commits
						first = false
						started.Done()
						started.Wait()
					}
					return tx.Put([]byte("n"), append(n, 'x'))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		before := d.syncs.Load()
		release()
		all.Wait()
		if n := d.syncs.Load() - before; n > 2 {
			t.Errorf("%d more syncs for 16 writers of one key", n)
		}
		err := s.View(t.Context(), func(r core.Reader) error {
			n, _, err := r.Get([]byte("n"))
			if len(n) != 16 {
				t.Errorf("%d writes counted, want 16", len(n))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
