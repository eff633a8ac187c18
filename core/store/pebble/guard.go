package pebble

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/sdk"
)

// guard stands between Pebble and the file system and remembers the first write
// that failed. From then on the disk is frozen: nothing is written, renamed or
// removed, so what a reopen finds is what a crash at that moment would leave.
//
// Pebble panics or exits when its log fails. So a log looks fine to it always:
// a failed or frozen log takes writes and drops them, and whoever committed asks
// failure before it calls the commit done. Other files return the error, which
// Pebble handles, but it retries flushes without a pause; so making a file in
// frozen state waits until the store closes.
type guard struct {
	vfs.FS
	dir    string
	failed atomic.Pointer[failure]
	// opened is whether Pebble's Open is through, after which making files may
	// wait for released.
	opened   atomic.Bool
	released chan struct{}
}

type failure struct{ err error }

func newGuard(fs vfs.FS, dir string) *guard {
	return &guard{FS: fs, dir: dir, released: make(chan struct{})}
}

// fail freezes the store.
func (g *guard) fail(err error) { g.failed.CompareAndSwap(nil, &failure{err}) }

func (g *guard) frozen() bool { return g.failed.Load() != nil }

// failure is the error for callers, nil while all is well.
func (g *guard) failure() error {
	f := g.failed.Load()
	if f == nil {
		return nil
	}
	e := sdk.Errorf(sdk.Unavailable, "store_io", "the store in %s can't be written: %w", g.dir, f.err)
	if errors.Is(f.err, syscall.ENOSPC) || errors.Is(f.err, syscall.EDQUOT) {
		return e.WithHint("free disk space, then start again: what was confirmed is safe")
	}
	return e.WithHint("check the disk and its permissions, then start again: what was confirmed is safe")
}

// corrupt is Pebble's word for a file that isn't what it wrote.
func (g *guard) corrupt(info pebbledb.DataCorruptionInfo) {
	g.fail(fmt.Errorf("the file %s is damaged: %w", info.Path, info.Details))
}

// Infof implements Pebble's logger: its chatter is dropped.
func (g *guard) Infof(string, ...any) {}

// Errorf implements Pebble's logger. What matters also comes as a failed call or
// a background error.
func (g *guard) Errorf(string, ...any) {}

// Fatalf implements Pebble's logger. Pebble expects it not to return; it does,
// and everything after it meets a frozen store.
func (g *guard) Fatalf(format string, args ...any) { g.fail(fmt.Errorf(format, args...)) }

// mutate runs a change of the directory.
func (g *guard) mutate(change func() error) error {
	if f := g.failed.Load(); f != nil {
		return f.err
	}
	err := change()
	if err != nil {
		g.fail(err)
	}
	return err
}

// make runs a call that makes a file to write to.
func (g *guard) make(name string, open func() (vfs.File, error)) (vfs.File, error) {
	log := strings.HasSuffix(name, ".log")
	if g.frozen() && g.opened.Load() && !log {
		<-g.released
	}
	var f vfs.File
	err := g.mutate(func() (err error) {
		f, err = open()
		return err
	})
	if err != nil && log {
		f, err = vfs.NewMemFile(nil), nil
	}
	if err != nil {
		return nil, err
	}
	return &guardFile{File: f, guard: g, forgiving: log}, nil
}

// Create implements [vfs.FS].
func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.make(name, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

// ReuseForWrite implements [vfs.FS].
func (g *guard) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.make(newname, func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, c) })
}

// OpenReadWrite implements [vfs.FS].
func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.make(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

// OpenDir implements [vfs.FS]. Pebble syncs directories between steps that can't
// fail, so a directory is as forgiving as a log.
func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardFile{File: f, guard: g, forgiving: true}, nil
}

// Link implements [vfs.FS].
func (g *guard) Link(oldname, newname string) error {
	return g.mutate(func() error { return g.FS.Link(oldname, newname) })
}

// Rename implements [vfs.FS].
func (g *guard) Rename(oldname, newname string) error {
	return g.mutate(func() error { return g.FS.Rename(oldname, newname) })
}

// MkdirAll implements [vfs.FS].
func (g *guard) MkdirAll(dir string, perm os.FileMode) error {
	return g.mutate(func() error { return g.FS.MkdirAll(dir, perm) })
}

// Remove implements [vfs.FS]. What can't be removed does no harm, and what is
// frozen must stay: a manifest of unknown state may still name it.
func (g *guard) Remove(name string) error {
	if g.frozen() {
		return nil
	}
	return g.FS.Remove(name)
}

// RemoveAll implements [vfs.FS], as Remove does.
func (g *guard) RemoveAll(name string) error {
	if g.frozen() {
		return nil
	}
	return g.FS.RemoveAll(name)
}

// Unwrap implements [vfs.FS].
func (g *guard) Unwrap() vfs.FS { return g.FS }
