package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// staleLock is the age from which a lock counts as left behind by a host that died:
// renaming a few files never takes as long.
const staleLock = 10 * time.Second

// rotate moves a full file away, renumbers the older ones, and deletes the oldest. If
// several hosts find the file full, one of them does this and the others go on writing.
// The caller must have closed its own file, since not every system can rename an open
// one.
func rotate(path string, full os.FileInfo) (err error) {
	locked, err := lock(path + ".lock")
	if err != nil || !locked {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(path+".lock")) }()
	if moved, err := isMoved(path, full); err != nil || moved {
		return err
	}
	for n := keptFiles; n > 0; n-- {
		err := os.Rename(older(path, n-1), older(path, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lock makes a file that only one host can make.
func lock(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return true, file.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > staleLock {
		_ = os.Remove(path) // the next writer whose file is full takes it
	}
	return false, nil
}

// isMoved reports whether another file than this, or none, is at a path.
func isMoved(path string, mine os.FileInfo) (bool, error) {
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && !os.SameFile(mine, there), err
}

// older returns the name of the n-th older file.
func older(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}
