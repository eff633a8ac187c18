package pebble

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// breakCommit commits a batch that Pebble calls fatal: it stays in its pipeline, where
// all that comes later would wait for it.
func breakCommit(t *testing.T, s *Store, key string) (durable func() error) {
	t.Helper()
	batch := s.db.NewBatch()
	if err := batch.Set([]byte(key), []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	const kind = 12 // of the first record, behind the header
	batch.Repr()[kind] = 0xee
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apply(batch)
}

// TestWhatPebbleCallsFatalFailsAll: nobody waits for it for ever, neither who
// commits, nor who shares the sync, nor a backup, nor Close; readers don't wait for it at all.
func TestWhatPebbleCallsFatalFailsAll(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		errs := make(chan error, 3)
		go func() { errs <- put(t, s, "first") }() // its sync is under way
		synctest.Wait()
		go func() { errs <- put(t, s, "second") }() // opens a group, which the broken one joins
		synctest.Wait()
		broken := breakCommit(t, s, "broken")
		go func() { errs <- broken() }()
		if err := s.View(t.Context(), func(core.Reader) error { return nil }); err != nil {
			t.Errorf("a view, which sees nothing of it: %v", err)
		}
		synctest.Wait()
		release()
		for range cap(errs) {
			if err := <-errs; sdk.ReasonOf(err) != "store_io" {
				t.Errorf("error %v (%s)", err, sdk.ReasonOf(err))
			}
		}
		checkFailed(t, s)
		if err := s.Backup(t.Context(), t.TempDir()+"/backup"); sdk.ReasonOf(err) != "store_io" {
			t.Errorf("a backup: %v", err)
		}
	})
}

// TestWhatPebbleCallsFatalIsNotKept: a transaction reads what a view does.
func TestWhatPebbleCallsFatalIsNotKept(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *disk, s *Store) {
		see := func(r core.Reader) error {
			_, found, err := r.Get([]byte("a"))
			if found {
				t.Error("it is read")
			}
			return err
		}
		if err := s.Update(t.Context(), func(tx core.Tx) error { return see(tx) }); err != nil {
			t.Fatal(err)
		}
		tx := &tx{store: s, begun: s.history.begin()}
		if err := tx.Put([]byte("a"), []byte("x")); err != nil {
			t.Fatal(err)
		}
		s.history.add(tx.begun, &tx.reads, &tx.writes, tx.writes.sorted())
		broken := breakCommit(t, s, "a")
		s.history.apply(tx.begun)
		if err := broken(); sdk.ReasonOf(err) != "store_io" {
			t.Errorf("error %v", err)
		}
		if err := s.Update(t.Context(), func(tx core.Tx) error { return see(tx) }); err != nil {
			t.Error(err)
		}
		if err := s.View(t.Context(), see); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseReportsWhatIsLost: a disk that fails behind the last commit costs nothing
// that was acknowledged, unless that was so before it was written.
func TestCloseReportsWhatIsLost(t *testing.T) {
	cases := []struct {
		durability   Durability
		closed, hint string
	}{
		{Full, "", "everything acknowledged is there"},
		{Relaxed, "store_io", "everything acknowledged is still there, except the newest commits"},
	}
	for _, c := range cases {
		s, err := open(t.Context(), Options{Dir: "db", Durability: c.durability}, vfs.NewMem())
		if err != nil {
			t.Fatal(err)
		}
		if err := put(t, s, "a"); err != nil {
			t.Fatal(err)
		}
		s.fuse.blow(syscall.ENOSPC)
		if e := sdk.AsError(s.Err()); !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: hint %q, want %q", c.durability, e.Hint, c.hint)
		}
		if err := s.Close(); sdk.ReasonOf(err) != c.closed {
			t.Errorf("%s: Close: %v", c.durability, err)
		}
	}
}

// TestAGroupTakesCommitsUntilTheOneBeforeIsOnDisk, and then keeps nothing of it.
func TestAGroupTakesCommitsUntilTheOneBeforeIsOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, d *disk, s *Store) {
		release := d.logs.hold()
		var groups []*group
		for _, key := range []string{"a", "b", "c", "d"} {
			go func() {
				if err := put(t, s, key); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			groups = append(groups, s.newest.Load())
		}
		first, second := groups[0], groups[1]
		if second == first || groups[2] != second || groups[3] != second {
			t.Errorf("groups %p: the first is under way, and all others share the next", groups)
		}
		if second.before != first || second.sealed {
			t.Error("the second group doesn't wait for the first")
		}
		release()
		synctest.Wait()
		if s.newest.Load() != second || second.before != nil {
			t.Error("groups that are on disk are kept")
		}
		if err := second.wait(); err != nil {
			t.Error(err)
		}
	})
}
