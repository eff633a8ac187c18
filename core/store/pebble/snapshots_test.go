package pebble

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
)

// TestReadersShareASnapshotUntilACommit counts Pebble's snapshots. Closing the store
// fails if one is left.
func TestReadersShareASnapshotUntilACommit(t *testing.T) {
	s := openTest(t, Options{Dir: "db"}, vfs.NewMem())
	put := func(value string) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("k"), []byte(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	view := func(want string, snapshots int, more func()) {
		t.Helper()
		err := s.View(t.Context(), func(r core.Reader) error {
			more()
			value, _, err := r.Get([]byte("k"))
			if n := s.db.Metrics().Snapshots.Count; string(value) != want || n != snapshots {
				t.Errorf("%q of %d snapshots, want %q of %d", value, n, want, snapshots)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	put("old")
	view("old", 2, func() {
		view("old", 1, func() {})
		put("new")
		view("new", 2, func() {})
	})
	view("new", 1, func() {})
}

// TestAReaderSeesWhatWasAcknowledged is for snapshots that are taken and given back
// by many at once.
func TestAReaderSeesWhatWasAcknowledged(t *testing.T) {
	s := openTest(t, Options{Dir: "db", Durability: Relaxed}, vfs.NewMem())
	var all sync.WaitGroup
	for writer := range 8 {
		key := fmt.Appendf(nil, "k/%d", writer)
		all.Go(func() {
			for i := range 200 {
				want := fmt.Sprint(i)
				if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(key, []byte(want)) }); err != nil {
					t.Error(err)
				}
				err := s.View(t.Context(), func(r core.Reader) error {
					got, _, err := r.Get(key)
					if string(got) != want {
						t.Errorf("read %q after %q", got, want)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
