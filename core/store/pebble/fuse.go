package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/sdk"
)

// fuse is a layer between Pebble and the disk. It blows at the first write that fails,
// and from then on nothing on disk changes any more: not a byte, not a name. The folder
// stays as a crash at that moment would have left it, which recovery is designed for, and
// acknowledged commits are still there after the next open. Reads still work.
//
// Pebble needs it because Pebble ends the program when its log or manifest can't be
// written: it panics in the middle of a rotation with a mutex in a state that no recover
// can repair, or continues with an inconsistent manifest in memory. So these writes seem
// to succeed to Pebble, see toleratedFile, and the commit asks the fuse before it
// acknowledges anything. All other refused writes return the error: for example tables,
// which Pebble then tries to make again.
//
// While Pebble opens, none of its writes seems to fail. If its Open failed halfway, it
// would close its files while some of its goroutines already read the tables it has just
// made, and they would end the program. So Open succeeds, and its caller asks the fuse
// and closes the database, which waits for those goroutines.
type fuse struct {
	// left describes what the next open will find, for the hint.
	left  string
	mu    sync.Mutex
	cause error

	leftovers leftovers
	// listed is the folder's content when it was last listed, while Pebble opens. Pebble
	// lists it from its own goroutines too, if a table that it looks for is missing.
	listed atomic.Pointer[[]string]

	// Until serving is set, Pebble is opening. After that, until closing is closed, a
	// refused create waits a little, because Pebble repeats a failed flush without a
	// pause.
	serving   atomic.Bool
	closing   chan struct{}
	closeOnce sync.Once

	// blown is closed when the first cause is recorded.
	blown chan struct{}
	// reuse is held while a log is used again, or prepared for that.
	reuse sync.Mutex
}

// retryPause slows Pebble's endless retries of a flush down to a trickle.
const retryPause = 100 * time.Millisecond

func newFuse(d Durability) *fuse {
	f := &fuse{left: allLeft, closing: make(chan struct{}), blown: make(chan struct{})}
	if d == Relaxed {
		f.left = "everything acknowledged is still there, except the newest commits"
	}
	return f
}

// blow records the first cause.
func (f *fuse) blow(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cause == nil {
		f.cause = cause
		close(f.blown)
	}
}

// err is why writing has stopped; nil if it hasn't.
func (f *fuse) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cause == nil {
		return nil
	}
	return diskError("write", f.cause, f.left)
}

// do runs one change of the disk, unless the fuse has blown.
func (f *fuse) do(change func() error) error {
	if err := f.err(); err != nil {
		return err
	}
	err := change()
	if err != nil {
		f.blow(err)
	}
	return err
}

// close ends the pauses.
func (f *fuse) close() { f.closeOnce.Do(func() { close(f.closing) }) }

func (f *fuse) pause() {
	select {
	case <-time.After(retryPause):
	case <-f.closing:
	}
}

// ioError is the error of a failed disk access; with the reason "store_corrupt", the
// files aren't what was written, and with "store_unwritable", the files may not be
// written to.
func ioError(verb string, cause error) error { return diskError(verb, cause, allLeft) }

// allLeft is what the next open usually finds.
const allLeft = "everything acknowledged is there"

// diskError is ioError with left as the description of what the next open will find.
func diskError(verb string, cause error, left string) error {
	line, _, _ := strings.Cut(cause.Error(), "\n") // Pebble adds lines for its developers
	e := sdk.Errorf(sdk.Unavailable, "store_io", "the store can't %s: %s", verb, line)
	e.Err = cause
	switch {
	case pebble.IsCorruptionError(cause) || errors.Is(cause, fs.ErrNotExist) || errors.Is(cause, pebble.ErrDBNotPristine):
		e.Code, e.Reason, e.Message = sdk.Internal, "store_corrupt", "a file of the store is damaged or gone: "+e.Message
		return e.WithHint("keep a copy of the data folder, check the disk's health, and restore a backup")
	case vfs.IsNoSpaceError(cause):
		return e.WithHint("free space on the disk; a server then opens the store again within 10 s, and any other program when it is started: %s", left)
	case errors.Is(cause, fs.ErrPermission) || errors.Is(cause, syscall.EROFS):
		e.Reason = "store_unwritable"
		return e.WithHint("give this user write permission there, which reading needs too, or use a copy of it as the data folder")
	}
	return e.WithHint("check the disk's health and the data folder's permissions, then start the program again: %s", left)
}

func engineError(format string, args ...any) error { return fmt.Errorf(format, args...) }

// fuseFS is a file system with a fuse. Only the store's own folder is protected by it: a
// backup that can't be written, for example on another disk, doesn't stop the store.
type fuseFS struct {
	vfs.FS
	fuse *fuse
	dir  string
}

// own reports whether a path is the store's folder, or a file in it.
func (s fuseFS) own(name string) bool {
	dir := s.PathJoin(s.dir)
	return s.PathJoin(name) == dir || s.PathDir(name) == dir
}

// tolerated reports whether a file is one whose failure Pebble can't handle: a log, a
// manifest, or the marker that names the manifest.
func tolerated(name string) bool {
	base := baseName(name)
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST-") || strings.HasPrefix(base, "marker.")
}

// Create implements vfs.FS. A marker names a manifest. Pebble syncs the folder only after
// the marker is written, and a crash may keep the marker without the manifest, so that
// nobody could open the store; so the manifest's own name is synced first.
func (s fuseFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return s.open(name, func() (vfs.File, error) {
		if strings.HasPrefix(s.PathBase(name), "marker.manifest.") {
			if err := syncDir(s.FS, s.dir); err != nil {
				return nil, err
			}
		}
		s.fuse.leftovers.created(name, s.opening())
		return s.FS.Create(name, c)
	})
}

// ReuseForWrite implements vfs.FS.
func (s fuseFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	s.fuse.reuse.Lock()
	defer s.fuse.reuse.Unlock()
	return s.open(to, func() (vfs.File, error) { return s.FS.ReuseForWrite(from, to, c) })
}

// OpenReadWrite implements vfs.FS.
func (s fuseFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return s.open(name, func() (vfs.File, error) { return s.FS.OpenReadWrite(name, c, opts...) })
}

func (s fuseFS) open(name string, open func() (vfs.File, error)) (f vfs.File, err error) {
	if !s.own(name) {
		return open()
	}
	blown := s.fuse.err() != nil
	err = s.fuse.do(func() (err error) {
		f, err = open()
		return err
	})
	if tolerated(name) || s.opening() {
		if err != nil {
			f = vfs.NewMemFile(nil)
		}
		return toleratedFile{fuseFile{f, s.fuse, manifestOf(name)}, !tolerated(name)}, nil
	}
	if err != nil {
		if blown {
			s.fuse.pause()
		}
		return nil, err
	}
	return fuseFile{f, s.fuse, ""}, nil
}

// opening reports whether Pebble is being opened, so that no call may fail.
func (s fuseFS) opening() bool { return !s.fuse.serving.Load() }

// manifestOf is the name of a manifest; "" for other files.
func manifestOf(name string) string {
	if strings.HasPrefix(baseName(name), "MANIFEST-") {
		return name
	}
	return ""
}

// change runs a change of a name in the store's folder.
func (s fuseFS) change(change func() error) error {
	if err := s.fuse.do(change); !s.opening() {
		return err
	}
	return nil
}

// List implements vfs.FS. Pebble lists its folder several times while it opens; once it
// has begun, a listing that fails returns the previous one.
func (s fuseFS) List(name string) ([]string, error) {
	names, err := s.FS.List(name)
	if !s.own(name) || !s.opening() {
		return names, err
	}
	if err == nil {
		s.fuse.listed.Store(&names)
		return slices.Clone(names), nil
	}
	if before := s.fuse.listed.Load(); before != nil {
		s.fuse.blow(err)
		return slices.Clone(*before), nil
	}
	return nil, err
}

// OpenDir implements vfs.FS. Syncing a directory is part of rotating the log.
func (s fuseFS) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	if err != nil || !s.own(name) {
		return f, err
	}
	return toleratedFile{fuseFile: fuseFile{f, s.fuse, ""}}, nil
}

// Link implements vfs.FS.
func (s fuseFS) Link(from, to string) error {
	if !s.own(to) {
		return s.FS.Link(from, to)
	}
	return s.change(func() error { return s.FS.Link(from, to) })
}

// Rename implements vfs.FS.
func (s fuseFS) Rename(from, to string) error {
	if !s.own(to) {
		return s.FS.Rename(from, to)
	}
	return s.change(func() error { return s.FS.Rename(from, to) })
}

// Remove implements vfs.FS. A file that can't be removed is harmless.
func (s fuseFS) Remove(name string) error {
	if stays, err := s.stays(name); stays {
		return err
	}
	return s.FS.Remove(name)
}

// RemoveAll implements vfs.FS.
func (s fuseFS) RemoveAll(name string) error {
	if stays, err := s.stays(name); stays {
		return err
	}
	return s.FS.RemoveAll(name)
}

// stays reports whether a file mustn't be removed any more, and what Pebble is told about
// it.
func (s fuseFS) stays(name string) (bool, error) {
	err := s.fuse.err()
	if err == nil || !s.own(name) {
		return false, nil
	}
	if s.opening() {
		return true, nil
	}
	return true, err
}

// Unwrap implements vfs.FS.
func (s fuseFS) Unwrap() vfs.FS { return s.FS }
