package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// A plugin folder may serve the locks of several projects, and each pins copies in it. So
// the copy of a replaced version stays. The folder alone doesn't show which copies are
// still pinned, so it keeps a list of all locks that ever pinned a copy in it.

// locksFile lists the locks of a plugin folder, a path a line, sorted.
const locksFile = ".locks"

// maxLocks bounds that list: more projects than anybody has.
const maxLocks = 10_000

// use records that the lock pins copies in the plugin folder.
func (p Place) use() error {
	release, err := exclusive(p.Dir)
	if err != nil {
		return locksUnusable(p.Dir, err)
	}
	defer release()
	locks, err := p.locks()
	if err != nil || slices.Contains(locks, p.Lock) {
		return err
	}
	locks = append(locks, p.Lock)
	slices.Sort(locks)
	if err := replaceFile(filepath.Join(p.Dir, locksFile), []byte(strings.Join(locks, "\n")+"\n")); err != nil {
		return locksUnusable(p.Dir, err)
	}
	return nil
}

// locks returns the locks that pin copies in the plugin folder, or once did.
func (p Place) locks() ([]string, error) {
	text, err := plainfile.Read(filepath.Join(p.Dir, locksFile), maxLocks*256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var locks []string
	for line := range bytes.Lines(text) {
		if path := strings.TrimSuffix(string(line), "\n"); filepath.IsAbs(path) {
			locks = append(locks, path)
		}
	}
	return locks, nil
}

func locksUnusable(dir string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "plugin_folder_unusable", "can't use the plugin folder %s: %w", dir, err).
		WithHint("check that it can be written to")
}

// Pruned is what [Prune] found.
type Pruned struct {
	// Removed are the folders of the copies that no lock names, sorted.
	Removed []string `json:"removed"`
	// Bytes is the total size of those copies.
	Bytes int64 `json:"bytes"`
	// Locks are the locks whose copies were kept.
	Locks []string `json:"locks"`
}

// Prune deletes the copies of the plugin folder that no lock in use names: neither the
// lock of this place, nor any other that pinned a copy there and still exists. With
// dryRun it only reports them. It stops at a lock that can't be read, because it can't
// know what that lock pins.
func Prune(place Place, dryRun bool) (*Pruned, error) {
	if _, err := os.Stat(place.Dir); errors.Is(err, fs.ErrNotExist) {
		return &Pruned{Removed: []string{}, Locks: []string{}}, nil
	}
	release, err := exclusive(place.Dir)
	if err != nil {
		return nil, locksUnusable(place.Dir, err)
	}
	defer release()
	pruned := &Pruned{Removed: []string{}, Locks: []string{}}
	pinned, err := place.pinnedCopies(pruned)
	if err != nil {
		return nil, err
	}
	copies, err := fs.Glob(os.DirFS(place.Dir), "[a-z]*/[a-z]*/[0-9]*-*") // the folder's own path is no pattern
	if err != nil {
		return nil, locksUnusable(place.Dir, err)
	}
	if !dryRun {
		sweep(place.Dir, stagedPrefix)
	}
	for _, name := range copies {
		folder := filepath.Join(place.Dir, filepath.FromSlash(name))
		if pinned[folder] {
			continue
		}
		pruned.Removed = append(pruned.Removed, folder)
		pruned.Bytes += sizeOf(folder)
		if dryRun {
			continue
		}
		if err := deleteCopy(folder); err != nil {
			return pruned, err
		}
	}
	return pruned, nil
}

// pinnedCopies returns the folders of the copies that a lock names.
func (p Place) pinnedCopies(pruned *Pruned) (map[string]bool, error) {
	locks, err := p.locks()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(locks, p.Lock) {
		locks = append(locks, p.Lock)
	}
	pinned := map[string]bool{}
	for _, file := range locks {
		lock, err := ReadLock(file)
		if err != nil {
			return nil, sdk.Wrap("find what is in use", err)
		}
		if len(lock.Plugins) == 0 {
			continue
		}
		pruned.Locks = append(pruned.Locks, file)
		for i := range lock.Plugins {
			if folder := p.copyOf(&lock.Plugins[i]); folder != "" {
				pinned[folder] = true
			}
		}
	}
	return pinned, nil
}

// sizeOf returns the total size of the files in a folder.
func sizeOf(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
