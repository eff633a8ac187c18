package pebble

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// TestStore_ReservesNoRoom: a store with one key takes little of the disk while it is open
// and once it is closed. Pebble would reserve 9 MB for its log.
func TestStore_ReservesNoRoom(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	putPair(t, s, "key", "value")
	wantRoom(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantRoom(t, dir)
}

// wantRoom fails the test if the files of a folder have more than a mebibyte of the disk.
func wantRoom(t *testing.T, dir string) {
	t.Helper()
	var taken int64
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var s syscall.Stat_t
		if err == nil {
			err = syscall.Stat(path, &s)
		}
		taken += s.Blocks * 512 // whatever the disk's own unit is
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if taken > 1<<20 {
		t.Errorf("the store takes %d bytes of the disk", taken)
	}
}
