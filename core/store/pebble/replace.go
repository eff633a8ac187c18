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

// A store replaces another one in steps, each of which leaves only complete stores:
//
//	DIR.staged-N   is being filled
//	DIR.ready      is complete
//	DIR.replaced   was DIR, and goes
//
// An open that finds DIR missing, but DIR.ready present, completes the replacement.
const (
	stagedSuffix   = ".staged-"
	readySuffix    = ".ready"
	replacedSuffix = ".replaced"
)

// Staged is a store that is made next to another one, which it replaces when it is
// complete. Until then nobody can open that other store.
type Staged struct {
	// Dir is where it is made: at first an empty folder that only its owner may use.
	Dir string

	target string
	// scratch are folders that are removed with it.
	scratch []string
	// lock is the lock of the store to be replaced; nil once it is released.
	lock *pebble.Lock
}

// Stage begins a store that will replace the one in the options' folder. If that store
// isn't empty, it is refused, sdk.Conflict of reason "store_not_empty", unless overwrite
// is set. Install or Discard ends it.
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
	clearReplacements(vfs.Default, s.target)
	var err error
	if s.Dir, err = os.MkdirTemp(filepath.Dir(s.target), filepath.Base(s.target)+stagedSuffix); err != nil {
		s.Discard()
		return nil, ioError("create a folder next to "+s.target, err)
	}
	return s, nil
}

// StageCopy begins a store that will replace the one in the options' folder, as a copy of
// it: changes to the copy reach the store completely or not at all. Install or Discard
// ends it.
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

// Scratch makes an empty folder next to the store, which only its owner may use and which
// is removed by Install and Discard, or when the store is next opened.
func (s *Staged) Scratch() (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(s.target), filepath.Base(s.target)+stagedSuffix)
	if err != nil {
		return "", ioError("create a folder next to "+s.target, err)
	}
	s.scratch = append(s.scratch, dir)
	return dir, nil
}

// hold takes the lock of the store to be replaced, after checking that nothing is lost.
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
		return err // the lock is already released
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

// checkEmpty refuses a store that holds anything besides its format.
func checkEmpty(r core.Reader, dir string) error {
	empty, err := store.Empty(r)
	if err == nil && !empty {
		err = sdk.Errorf(sdk.Conflict, "store_not_empty", "the store in %s isn't empty, and stores can't be merged", dir).
			WithHint("use another data folder (--data-dir), or replace the store (--replace); make a backup first to keep its data")
	}
	return err
}

// Install puts the store, which must be closed, in its place. Afterwards either the whole
// store is there, or the error is the reason why not. It ends the Staged either way.
func (s *Staged) Install() error {
	defer s.Discard()
	if err := os.Rename(s.Dir, s.target+readySuffix); err != nil {
		return ioError("rename "+s.Dir, err)
	}
	if err := os.Rename(s.target, s.target+replacedSuffix); err != nil {
		_ = os.RemoveAll(s.target + readySuffix)
		return ioError("rename "+s.target, err)
	}
	_ = s.lock.Close() // the lock of the old store, which nobody can open any more
	s.lock = nil
	if err := finishReplace(vfs.Default, s.target); err != nil {
		return ioError("take the place of "+s.target, err)
	}
	return nil
}

// Discard removes what was made, unless it was installed, and releases the lock. It is
// idempotent.
func (s *Staged) Discard() {
	if s.Dir != "" {
		_ = os.RemoveAll(s.Dir) // else the next open removes it
	}
	for _, dir := range s.scratch {
		_ = os.RemoveAll(dir) // likewise
	}
	if s.lock != nil {
		_ = os.Remove(filepath.Join(s.target, holderFile))
		_ = s.lock.Close()
		s.lock = nil
	}
}

// clearReplacements removes what replacements of a store left that were killed. The
// caller has the store's lock, which a replacement holds until the store is in its place.
// Whatever is left holds whole stores, in which no purge would look for what it removes.
func clearReplacements(fs vfs.FS, dir string) {
	dir = strings.TrimRight(dir, "/")
	parent, base := fs.PathDir(dir), fs.PathBase(dir)
	names, _ := fs.List(parent) // what can't be listed can't be removed
	for _, name := range names {
		if strings.HasPrefix(name, base+stagedSuffix) || name == base+readySuffix || name == base+replacedSuffix {
			_ = fs.RemoveAll(fs.PathJoin(parent, name)) // the next open tries again
		}
	}
}

// finishReplace completes a replacement that stopped between its two renames, because the
// program was killed or just now.
func finishReplace(fs vfs.FS, dir string) error {
	dir = strings.TrimRight(dir, "/")
	if _, err := fs.Stat(dir); err == nil || !errors.Is(err, iofs.ErrNotExist) {
		return nil // the store exists, or opening it will report why it can't be read
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
	_ = fs.RemoveAll(dir + replacedSuffix) // else the next open removes it
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
