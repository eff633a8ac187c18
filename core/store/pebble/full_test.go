package pebble

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// TestOpen_OnADiskThatFillsUp opens a store that was killed, whose log is to become
// tables, on a disk where the i-th change finds no room, once or from then on. Each open
// that fails returns an error that says that the disk is full, and leaves no empty tables.
// What was acknowledged is there as soon as there is room.
func TestOpen_OnADiskThatFillsUp(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	killed, acknowledged := killedStore(t)
	for _, lasting := range []bool{false, true} {
		t.Run(fmt.Sprintf("lasting=%t", lasting), func(t *testing.T) {
			refused := 0
			for at := int64(1); ; at += coretest.Heavy(int64(2), 1) {
				mem := killed.CrashClone(vfs.CrashCloneCfg{})
				full := &fullDisk{at: at, lasting: lasting}
				before := filesOf(t, mem)
				s, err := open(t.Context(), Options{Dir: "db"}, errorfs.Wrap(mem, full))
				if err == nil {
					_ = s.Close() // it may be what found no room
				} else {
					refused++
					checkRefused(t, mem, before, at, err)
				}
				checkCrowd(t, openTest(t, smallTables(), mem.CrashClone(vfs.CrashCloneCfg{})), []int64{acknowledged})
				if full.made.Load() < at {
					break
				}
			}
			if refused < 10 {
				t.Errorf("only %d opens were refused", refused)
			}
		})
	}
}

// TestOpen_ATableBegunThenMayFailLater: while Pebble opens, none of its files seems to fail, since
// the open asks the fuse at its end. A table that is written to its end after that must fail, or
// Pebble would read what was never written. The log never seems to.
func TestOpen_ATableBegunThenMayFailLater(t *testing.T) {
	mem, f := vfs.NewMem(), newFuse(Full)
	defer f.close()
	fs := fuseFS{errorfs.Wrap(mem, &fullDisk{at: 3, lasting: true}), f, "db"} // after the two files
	if err := mem.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]vfs.File{}
	for _, name := range []string{"000001.sst", "000002.log"} {
		file, err := fs.Create("db/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	f.serving.Store(true)
	for name, file := range files {
		_, written := file.Write([]byte("content"))
		if table := name == "000001.sst"; table != (written != nil) || table != (file.Sync() != nil) {
			t.Errorf("%s: a write on a full disk answers %v", name, written)
		}
	}
	if f.err() == nil {
		t.Error("the fuse doesn't know that the disk is full")
	}
}

// checkRefused proves what a refused open says, and that it leaves no tables.
func checkRefused(t *testing.T, fs vfs.FS, before []string, at int64, err error) {
	t.Helper()
	if sdk.ReasonOf(err) != "store_io" || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(sdk.AsError(err).Hint, "free space") {
		t.Errorf("change %d: %v (%s), hint %q", at, err, sdk.ReasonOf(err), sdk.AsError(err).Hint)
	}
	for _, name := range filesOf(t, fs) {
		if strings.HasSuffix(name, ".sst") && !slices.Contains(before, name) && sizeOf(t, fs, name) == 0 {
			t.Errorf("change %d: the refused open left an empty %s", at, name)
		}
	}
}

// killedStore returns a disk with a store whose program was killed: its logs hold
// what no table has yet.
func killedStore(t *testing.T) (killed *vfs.MemFS, acknowledged int64) {
	t.Helper()
	mem := newMemDisk()
	s := openTest(t, Options{Dir: "db"}, mem)
	for ; acknowledged < 100; acknowledged++ {
		if err := appendEntry(t, s, 0, int(acknowledged)); err != nil {
			t.Fatal(err)
		}
		// What a table deletes makes Pebble read the table as soon as it is there.
		err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Delete(crowdKey(1, int(acknowledged))) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem.CrashClone(vfs.CrashCloneCfg{}), acknowledged
}

// fullDisk has no room for the at-th change, and the later ones where it is lasting.
// While a table is read others go on first, so that what reads in the background is
// late.
type fullDisk struct {
	at      int64
	lasting bool
	made    atomic.Int64
}

// MaybeError implements [errorfs.Injector].
func (f *fullDisk) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		if strings.HasSuffix(op.Path, ".sst") {
			for range 100 {
				runtime.Gosched()
			}
		}
		return nil
	}
	switch op.Kind {
	case errorfs.OpRemove, errorfs.OpFilePreallocate: // which need no room
		return nil
	}
	if n := f.made.Add(1); n == f.at || f.lasting && n > f.at {
		return syscall.ENOSPC
	}
	return nil
}

func (f *fullDisk) String() string { return "full" }

func filesOf(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func sizeOf(t *testing.T, fs vfs.FS, name string) int64 {
	t.Helper()
	info, err := fs.Stat(fs.PathJoin("db", name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestClose_OnADiskThatFillsUp closes a store whose list of tables names a purged key, and
// so is written again, on a disk where the i-th change finds no room. Close returns, and
// releases the lock once.
func TestClose_OnADiskThatFillsUp(t *testing.T) {
	failed := 0
	for at := int64(1); ; at++ {
		mem := newMemDisk()
		hook := &beforeWrite{do: func(n int64) error {
			if n < at {
				return nil
			}
			return syscall.ENOSPC
		}}
		s, err := open(t.Context(), Options{Dir: "db"}, hook.wrap(mem))
		if err != nil {
			t.Fatal(err)
		}
		if err := appendEntry(t, s, 0, 0); err != nil {
			t.Fatal(err)
		}
		s.relist = true
		hook.armed.Store(true)
		if err := s.Close(); err != nil {
			failed++
			if sdk.ReasonOf(err) != "store_io" {
				t.Errorf("change %d: %v", at, err)
			}
		}
		checkCrowd(t, openTest(t, Options{Dir: "db"}, mem), []int64{1})
		if hook.writes.Load() < at {
			break
		}
	}
	if failed < 3 {
		t.Errorf("only %d closes failed", failed)
	}
}
