package pebble

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// A store takes another's place in steps of which each leaves whole stores only:
//
//	DIR.staged-N   is being filled
//	DIR.ready      is complete
//	DIR.replaced   was DIR, and goes
//
// An open that finds DIR gone, but DIR.ready there, ends what was begun.
const (
	stagedSuffix   = ".staged-"
	readySuffix    = ".ready"
	replacedSuffix = ".replaced"
)

// Staged is a store that is made next to another, which it replaces once it is
// complete. Until then nobody can open that place.
type Staged struct {
	// Dir is where it is made: an empty folder at first, of the owner only.
	Dir string

	target string
	// scratch are folders that go with it.
	scratch []string
	// lock is the target's; nil once it is given up.
	lock *pebble.Lock
}

// Stage begins a store that will take the place of the one in the options' directory.
// If there is one that isn't empty, that is refused, sdk.Conflict of reason
// "store_not_empty", unless overwrite allows it. Install or Discard ends it.
func Stage(ctx context.Context, o Options, overwrite bool) (*Staged, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	o.Dir = filepath.Clean(o.Dir)
	s := &Staged{target: o.Dir}
	if err := s.hold(ctx, o, overwrite); err != nil {
		return nil, err
	}
	// The process that made others was killed: it held the lock.
	left, _ := filepath.Glob(s.target + stagedSuffix + "*") // fails only for a bad pattern
	for _, dir := range append(left, s.target+readySuffix, s.target+replacedSuffix) {
		_ = os.RemoveAll(dir) // what can't be removed harms nobody
	}
	var err error
	if s.Dir, err = os.MkdirTemp(filepath.Dir(s.target), filepath.Base(s.target)+stagedSuffix); err != nil {
		s.Discard()
		return nil, ioError("create a folder next to "+s.target, err)
	}
	return s, nil
}

// StageCopy begins a store that will take the place of the one in the options'
// directory, as a copy of that: what is done to the copy, the store has wholly or not at
// all. Install or Discard ends it.
func StageCopy(ctx context.Context, o Options) (*Staged, error) {
	s, err := Stage(ctx, o, true)
	if err != nil {
		return nil, err
	}
	if err := copyFiles(ctx, s.target, s.Dir); err != nil {
		s.Discard()
		return nil, err
	}
	return s, nil
}

// Scratch makes an empty folder next to the store, of the owner only, which goes with
// Install and Discard, or with the next store that is staged.
func (s *Staged) Scratch() (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(s.target), filepath.Base(s.target)+stagedSuffix)
	if err != nil {
		return "", ioError("create a folder next to "+s.target, err)
	}
	s.scratch = append(s.scratch, dir)
	return dir, nil
}

// hold takes the lock of the store that is to be replaced, after it made sure that
// nothing is lost by that.
func (s *Staged) hold(ctx context.Context, o Options, overwrite bool) error {
	lock, err := lockDir(ctx, &o, vfs.Default)
	if err != nil {
		return err
	}
	s.lock = lock
	if overwrite {
		return nil
	}
	old, err := openLocked(ctx, o, vfs.Default, lock)
	if err != nil {
		return err // which has given up the lock
	}
	old.keepsLock = true
	err = old.View(ctx, func(r core.Reader) error { return checkEmpty(r, s.target) })
	if closed := old.Close(); err == nil {
		err = closed
	}
	if err != nil {
		s.Discard()
	}
	return err
}

// checkEmpty refuses a store that holds anything but its format.
func checkEmpty(r core.Reader, dir string) error {
	empty, err := store.Empty(r)
	if err == nil && !empty {
		err = sdk.Errorf(sdk.Conflict, "store_not_empty", "the store in %s isn't empty, and two stores can't be made one", dir).
			WithHint("name another folder with --data-dir, or let it be replaced with --replace; store backup keeps what is there")
	}
	return err
}

// Install puts the store, which must be closed, in its place. It either is there
// then, as a whole, or the error says why it isn't. It ends the Staged either way.
func (s *Staged) Install() error {
	defer s.Discard()
	if err := os.Rename(s.Dir, s.target+readySuffix); err != nil {
		return ioError("rename "+s.Dir, err)
	}
	if err := os.Rename(s.target, s.target+replacedSuffix); err != nil {
		_ = os.RemoveAll(s.target + readySuffix)
		return ioError("rename "+s.target, err)
	}
	_ = s.lock.Close() // it is the old store's, which nobody opens any more
	s.lock = nil
	if err := finishReplace(vfs.Default, s.target); err != nil {
		return ioError("take the place of "+s.target, err)
	}
	return nil
}

// Discard removes what was made, unless it was installed, and lets others open the
// place. It is idempotent.
func (s *Staged) Discard() {
	if s.Dir != "" {
		_ = os.RemoveAll(s.Dir) // it harms nobody
	}
	for _, dir := range s.scratch {
		_ = os.RemoveAll(dir) // nor does that
	}
	if s.lock != nil {
		_ = os.Remove(filepath.Join(s.target, holderFile))
		_ = s.lock.Close()
		s.lock = nil
	}
}

// finishReplace ends a replacement that stopped, where a killed program left it
// or just now, between its two renames.
func finishReplace(fs vfs.FS, dir string) error {
	dir = strings.TrimRight(dir, "/")
	if _, err := fs.Stat(dir); err == nil || !errors.Is(err, iofs.ErrNotExist) {
		return nil // it is there, or opening it will tell why it can't be seen
	}
	if _, err := fs.Stat(dir + readySuffix); err != nil {
		return nil
	}
	if err := fs.Rename(dir+readySuffix, dir); err != nil {
		return err
	}
	if err := syncDir(fs, fs.PathDir(dir)); err != nil {
		return err
	}
	_ = fs.RemoveAll(dir + replacedSuffix) // what stays harms nobody
	return nil
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closed := d.Close(); err == nil {
		err = closed
	}
	return err
}
