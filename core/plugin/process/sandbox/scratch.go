package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/reflectory/reflectory/sdk"
)

// The limits of a private folder: far more than a call needs, and only a small part of a
// disk.
const (
	// MaxScratchFiles is how many files and folders it may hold.
	MaxScratchFiles = 1024
	// MaxScratchBytes is how much they may hold together.
	MaxScratchBytes = 512 << 20
)

// Check refuses an instance, whose first process is pid, if it has too many processes, keeps too
// much in its private folder or in files without a name, or keeps something that the host can't
// examine. No system call limits these, so a driver calls Check from time to time, from one
// goroutine.
func (c *Cell) Check(pid int) error {
	pids := c.members(pid)
	if len(pids) > max(1, c.spec.Processes) {
		return sdk.Errorf(sdk.Exhausted, "processes_exhausted", "plugin %s has %d processes (limit %d)", c.spec.Plugin, len(pids), max(1, c.spec.Processes)).
			WithHint("raise limits.processes in its plugin.yaml, or have it start fewer")
	}
	files, size, err := measure(c.Dir())
	e := sdk.Errorf(sdk.Exhausted, "scratch_exhausted", "plugin %s keeps more than %d files or %d MiB in its temporary folder",
		c.spec.Plugin, MaxScratchFiles, MaxScratchBytes>>20)
	unnamed := c.unnamed(pids)
	switch {
	case err != nil:
		e.Message, e.Err = "plugin "+c.spec.Plugin+" keeps files in its temporary folder that can't be counted", err
	case unnamed.hidden:
		e.Message = "plugin " + c.spec.Plugin + " keeps open files in messages that nobody receives, where they can't be counted"
	case files <= MaxScratchFiles && size+unnamed.bytes <= MaxScratchBytes:
		return nil
	case unnamed.bytes > 0:
		e.Message += " and in files that it removed and still holds"
	}
	return e.WithHint("have it remove and close what a call no longer needs, and keep what lasts in the host's cache")
}

// unnamed is what an instance keeps in files that have no name any more.
type unnamed struct {
	bytes  int64
	hidden bool // some can't be counted
}

// measure counts what is below a folder, and stops once it is too much.
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
