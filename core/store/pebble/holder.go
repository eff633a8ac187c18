package pebble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/sdk"
)

// Holder names the program that has a folder open, for the message to other programs.
// The lock itself is Pebble's: this file may be stale, or missing.
type Holder struct {
	// PID is the process id, Program its name, Since when it opened the store, and
	// Durability when its commits are acknowledged; "" means unknown.
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`

	Durability Durability `json:"durability,omitempty"`
}

const (
	holderFile = "HOLDER"
	// maxHolderBytes bounds what is read of a holder file.
	maxHolderBytes = 1024
	// lockPause is the time between two tries to get a lock that another program holds: a
	// small part of the time of a short command.
	lockPause = 20 * time.Millisecond
)

// lockDir takes the folder's lock and writes down the holder. While another program has
// the lock, it waits as long as the options say.
func lockDir(ctx context.Context, o *Options, fs vfs.FS) (*pebble.Lock, error) {
	lock, err := tryLock(o, fs)
	if o.LockWait <= 0 {
		return lock, err
	}
	timeout := time.NewTimer(o.LockWait)
	defer timeout.Stop()
	for sdk.ReasonOf(err) == lockedReason {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timeout.C:
			return nil, err
		case <-time.After(lockPause):
		}
		lock, err = tryLock(o, fs)
	}
	return lock, err
}

// tryLock takes the lock, unless another program has it.
func tryLock(o *Options, fs vfs.FS) (*pebble.Lock, error) {
	if err := finishReplace(fs, o.Dir); err != nil {
		return nil, ioError("take the place of "+o.Dir, err)
	}
	if err := fs.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, ioError("create its directory "+o.Dir, err)
	}
	path := fs.PathJoin(o.Dir, holderFile)
	lock, err := pebble.LockDirectory(o.Dir, fs)
	if err != nil {
		return nil, lockError(o.Dir, readHolder(fs, path), err)
	}
	me := Holder{PID: os.Getpid(), Program: o.Program, Since: o.Clock.Now().UTC().Truncate(time.Second), Durability: o.Durability}
	if err := writeHolder(fs, path, me); err != nil {
		_ = fs.Remove(path) // it would be useless
		_ = lock.Close()
		return nil, ioError("write "+path, err)
	}
	return lock, nil
}

const lockedReason = "store_locked"

// lockError distinguishes a lock that another program holds, which it names, from a disk
// error.
func lockError(dir string, h *Holder, cause error) error {
	var file *iofs.PathError // opening the lock's file failed, not locking it
	refused := errors.Is(cause, syscall.EAGAIN) || errors.Is(cause, syscall.EACCES)
	if errors.As(cause, &file) || h == nil && !refused {
		return ioError("lock "+dir, cause)
	}
	by := "another program"
	if h != nil {
		by = fmt.Sprintf("%s (pid %d) since %s", h.Program, h.PID, h.Since.UTC().Format(time.RFC3339))
	}
	e := sdk.Errorf(sdk.Conflict, lockedReason, "the store in %s is in use by %s", dir, by).
		WithHint("end that program, wait longer for it, or use another data folder")
	if h != nil {
		e.WithDetail("pid", h.PID).WithDetail("program", h.Program).WithDetail("since", h.Since)
	}
	e.Err = cause
	return e
}

func writeHolder(fs vfs.FS, path string, h Holder) error {
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode holder: %w", err)
	}
	f, err := fs.Create(path, "holder")
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// readHolder returns nil if the file is missing or invalid.
func readHolder(fs vfs.FS, path string) *Holder {
	f, err := fs.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHolderBytes))
	if err != nil {
		return nil
	}
	var h Holder
	if json.Unmarshal(data, &h) != nil || h.PID <= 0 {
		return nil
	}
	return &h
}
