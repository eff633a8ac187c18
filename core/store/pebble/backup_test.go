package pebble

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// putPair puts a key.
func putPair(t *testing.T, s core.Store, key, value string) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }); err != nil {
		t.Fatal(err)
	}
}

// made makes a store with one key, closes it, and returns its folder.
func made(t *testing.T, dir, value string) string {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	putPair(t, s, "k", value)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// value opens a store and reads the key of made; "" if there is none.
func value(t *testing.T, dir string) string {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got string
	err = s.View(t.Context(), func(r core.Reader) error {
		v, _, err := r.Get([]byte("k"))
		got = string(v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// only checks that a folder holds these names and no others.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

func TestBackupIsOneMomentOfAStoreInUse(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: filepath.Join(dir, "store"), Durability: Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { // a and b of each writer change together
			for i := 0; ctx.Err() == nil; i++ {
				_ = s.Update(ctx, func(tx core.Tx) error {
					_ = tx.Put(fmt.Appendf(nil, "a%d", w), fmt.Append(nil, i))
					return tx.Put(fmt.Appendf(nil, "b%d", w), fmt.Append(nil, i))
				})
			}
		})
	}
	putPair(t, s, "k", "before")
	for i := range 3 {
		backup := filepath.Join(dir, fmt.Sprint("backup", i))
		if err := s.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		copied, err := Open(t.Context(), Options{Dir: backup})
		if err != nil {
			t.Fatal(err)
		}
		err = copied.View(t.Context(), func(r core.Reader) error {
			for w := range 4 {
				a, _, _ := r.Get(fmt.Appendf(nil, "a%d", w))
				b, _, _ := r.Get(fmt.Appendf(nil, "b%d", w))
				if string(a) != string(b) {
					t.Errorf("half a commit: %s and %s", a, b)
				}
			}
			k, _, err := r.Get([]byte("k"))
			if string(k) != "before" {
				t.Errorf("what was acknowledged before is missing: %q", k)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	writers.Wait()
	only(t, dir, "backup0", "backup1", "backup2", "store")
}

// TestABackupThatFailsLeavesTheStoreAlone: the store can still write.
func TestABackupThatFailsLeavesTheStoreAlone(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for to, reason := range map[string]string{
		"file": "backup_exists", "store": "backup_inside", "store/x": "backup_inside", "file/x": "backup_io",
	} {
		if err := s.Backup(t.Context(), filepath.Join(dir, to)); sdk.ReasonOf(err) != reason || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v (%s), want %s", to, err, sdk.ReasonOf(err), reason)
		}
	}
	putPair(t, s, "k", "after")
	only(t, dir, "file", "store")
}

// elsewhere fails all changes outside the store's folder, as a full disk would.
type elsewhere struct{ vfs.FS }

func (elsewhere) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, syscall.ENOSPC }
func (elsewhere) Link(string, string) error                              { return syscall.EXDEV }
func (elsewhere) Rename(string, string) error                            { return syscall.ENOSPC }

func TestTheFuseGuardsTheStoresFolderOnly(t *testing.T) {
	mem := vfs.NewMem()
	f := newFuse(Full)
	f.serving.Store(true)
	fs := fuseFS{elsewhere{mem}, f, "dir/store/"}
	if _, err := fs.Create("dir/backup/1.sst", ""); err == nil {
		t.Error("no error")
	}
	if fs.Link("dir/store/1.sst", "dir/backup/1.sst") == nil || fs.Rename("dir/backup/a", "dir/backup/b") == nil {
		t.Error("no error")
	}
	if err := f.err(); err != nil {
		t.Errorf("the fuse blew: %v", err)
	}
	if _, err := fs.Create("dir/store/1.sst", ""); err == nil || f.err() == nil {
		t.Errorf("the fuse didn't blow: %v", err)
	}
}

func TestRestore(t *testing.T) {
	dir := t.TempDir()
	backup := made(t, filepath.Join(dir, "backup"), "saved")
	// What else is in its folder is no part of it.
	if err := core.JoinErrors(os.Mkdir(filepath.Join(backup, "notes"), 0o700), os.Symlink("nowhere", filepath.Join(backup, "000001.sst"))); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "data", "store")
	if err := Restore(t.Context(), backup, Options{Dir: target}, false); err != nil {
		t.Fatal(err)
	}
	if got := value(t, target); got != "saved" {
		t.Errorf("restored %q", got)
	}
	if got := value(t, backup); got != "saved" {
		t.Errorf("the backup holds %q", got)
	}
	// What is there isn't replaced unless that is meant.
	if err := Restore(t.Context(), backup, Options{Dir: made(t, target, "newer")}, false); sdk.ReasonOf(err) != "store_not_empty" {
		t.Error(err)
	}
	if got := value(t, target); got != "newer" {
		t.Errorf("after a refusal: %q", got)
	}
	if err := Restore(t.Context(), backup, Options{Dir: target}, true); err != nil || value(t, target) != "saved" {
		t.Errorf("%v, %q", err, value(t, target))
	}
	only(t, filepath.Join(dir, "data"), "store")
}

func TestRestoreReplacesADamagedStore(t *testing.T) {
	dir := t.TempDir()
	backup := made(t, filepath.Join(dir, "backup"), "saved")
	target := made(t, filepath.Join(dir, "store"), "lost")
	manifests, _ := filepath.Glob(filepath.Join(target, "MANIFEST-*"))
	for _, m := range manifests {
		if err := os.WriteFile(m, []byte("damage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(t.Context(), Options{Dir: target}); err == nil {
		t.Fatal("the damaged store opens")
	}
	if err := Restore(t.Context(), backup, Options{Dir: target}, true); err != nil || value(t, target) != "saved" {
		t.Error(err)
	}
}

func TestRestoreRefusesAndLeavesTheStoreAlone(t *testing.T) {
	dir := t.TempDir()
	target := made(t, filepath.Join(dir, "store"), "kept")
	newer := made(t, filepath.Join(dir, "newer"), "x")
	s, err := Open(t.Context(), Options{Dir: newer})
	if err != nil {
		t.Fatal(err)
	}
	putPair(t, s, "meta/format", "99")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	inUse, err := Open(t.Context(), Options{Dir: filepath.Join(dir, "in-use"), Program: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	defer inUse.Close()
	damaged := made(t, filepath.Join(dir, "damaged"), "x")
	logs, _ := filepath.Glob(filepath.Join(damaged, "MANIFEST-*"))
	if err := os.Truncate(logs[0], 3); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for from, reason := range map[string]string{
		"newer": "store_format_newer", "in-use": "store_locked", "empty": "backup_missing", "nowhere": "backup_missing", "damaged": "store_corrupt",
	} {
		if err := Restore(t.Context(), filepath.Join(dir, from), Options{Dir: target}, true); sdk.ReasonOf(err) != reason {
			t.Errorf("%s: %v (%s), want %s", from, err, sdk.ReasonOf(err), reason)
		}
		if got := value(t, target); got != "kept" {
			t.Errorf("%s: the store holds %q", from, got)
		}
	}
	only(t, dir, "damaged", "empty", "in-use", "newer", "store")
}
