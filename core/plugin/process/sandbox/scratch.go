package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/reflectory/reflectory/sdk"
)

// Bounds of what a private folder holds: far more than a call needs, and little
// to lose of a disk.
const (
	// MaxScratchFiles is how many files and folders it may hold.
	MaxScratchFiles = 1024
	// MaxScratchBytes is how much they may hold together.
	MaxScratchBytes = 512 << 20
)

// CheckScratch refuses a private folder beyond its bounds, or one that the host
// can't look through. No system call bounds them, so a driver looks from time to
// time. Files that were removed while they were open aren't seen.
func (c *Cell) CheckScratch() error {
	files, size, err := measure(c.Dir())
	e := sdk.Errorf(sdk.Exhausted, "scratch_exhausted", "plugin %s keeps more than %d files or %d MiB in its temporary folder",
		c.spec.Plugin, MaxScratchFiles, MaxScratchBytes>>20)
	switch {
	case err != nil:
		e.Message, e.Err = "plugin "+c.spec.Plugin+" keeps files in its temporary folder that can't be counted", err
	case files <= MaxScratchFiles && size <= MaxScratchBytes:
		return nil
	}
	return e.WithHint("have it remove what a call no longer needs, and keep what lasts in the host's cache")
}

// measure counts what is below a folder, until it is too much.
func measure(dir string) (files int, size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was just removed
		}
		if err != nil {
			return err
		}
		if path == dir {
			return nil
		}
		if files++; files > MaxScratchFiles || size > MaxScratchBytes {
			return fs.SkipAll
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return files, size, err
}
