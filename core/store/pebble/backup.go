package pebble

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/sdk"
)

// Backup writes a copy of the store, as it is at this moment, to a folder that doesn't
// exist yet. The store stays in use meanwhile. Files that never change are linked if the
// folder is on the same disk, so that the copy takes little space at first. The folder
// appears when the copy is complete, and only its owner may use it.
func (s *Store) Backup(ctx context.Context, dir string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.users.Done()
	dir, err := s.backupDir(dir)
	if err == nil {
		err = s.fuse.err() // Pebble could wait for ever
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return backupError(dir, err)
	}
	private, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+stagedSuffix)
	if err != nil {
		return backupError(dir, err)
	}
	defer func() { _ = os.RemoveAll(private) }() // what is left is empty, or left by an error that is reported
	made := filepath.Join(private, "store")
	if err := s.db.Checkpoint(made, pebble.WithFlushedWAL()); err != nil {
		return backupError(dir, err)
	}
	if err := s.fuse.err(); err != nil {
		return err
	}
	if err := os.Chmod(made, 0o700); err != nil { //nolint:gosec // a folder needs to be entered
		return backupError(dir, err)
	}
	if err := os.Rename(made, dir); err != nil {
		return backupError(dir, err)
	}
	if err := syncDir(vfs.Default, filepath.Dir(dir)); err != nil {
		return backupError(dir, err)
	}
	return nil
}

// backupDir refuses a folder that exists, or that is inside the store's own.
func (s *Store) backupDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", backupError(dir, err)
	}
	if own, err := filepath.Abs(s.options.Dir); err == nil && (dir == own || filepath.Dir(dir) == own) {
		return "", sdk.Errorf(sdk.Invalid, "backup_inside", "%s is in the store's own folder", dir).
			WithHint("choose a folder elsewhere, preferably on another disk")
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", sdk.Errorf(sdk.Conflict, "backup_exists", "%s already exists", dir).
			WithHint("choose a folder that doesn't exist yet: it is created")
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return "", backupError(dir, err)
	}
	return dir, nil
}

// backupError reports that a backup can't be written. The store is unaffected.
func backupError(dir string, cause error) error {
	e := sdk.Errorf(sdk.Unavailable, "backup_io", "the backup %s can't be written: %w", dir, cause)
	if vfs.IsNoSpaceError(cause) {
		return e.WithHint("free space there, or choose a folder on another disk")
	}
	return e.WithHint("check that its folder can be written")
}

// Restore replaces the store in the options' folder with a backup. There must be no store
// there, or an empty one, unless overwrite allows replacing it. If the backup can't be
// opened, for example because its format is newer, it is refused, and the store stays as
// it was.
func Restore(ctx context.Context, from string, o Options, overwrite bool) error {
	lock, err := checkBackup(from)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { _ = lock.Close() }()
	}
	staged, err := Stage(ctx, o, overwrite)
	if err != nil {
		return err
	}
	defer staged.Discard()
	if err := copyFiles(ctx, from, staged.Dir); err != nil {
		return err
	}
	s, err := Open(ctx, Options{Dir: staged.Dir}) // replays the log, migrates, refuses
	if err != nil {
		return sdk.Wrap("open the copy of "+from, err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	return staged.Install()
}

// checkBackup refuses a folder without a store, and one that a program has open, because
// its files change while they are copied. lock is held if the folder has a lock file.
func checkBackup(from string) (lock *pebble.Lock, err error) {
	desc, err := pebble.Peek(from, vfs.Default)
	if err == nil && !desc.Exists || errors.Is(err, iofs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, sdk.Errorf(sdk.NotFound, "backup_missing", "there is no store in %s", from).
			WithHint("choose a folder that holds a backup")
	}
	if err != nil {
		return nil, ioError("look at "+from, err)
	}
	if _, err := os.Lstat(filepath.Join(from, "LOCK")); errors.Is(err, iofs.ErrNotExist) {
		return nil, nil // an unchanged backup, which nobody has opened
	}
	lock, err = pebble.LockDirectory(from, vfs.Default)
	if err != nil {
		return nil, lockError(from, readHolder(vfs.Default, filepath.Join(from, holderFile)), err)
	}
	return lock, nil
}

// copyFiles copies the regular files of a folder, and syncs them to the disk.
func copyFiles(ctx context.Context, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return ioError("read "+from, err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !e.Type().IsRegular() || e.Name() == "LOCK" || e.Name() == holderFile {
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return ioError("copy "+filepath.Join(from, e.Name()), err)
		}
	}
	if err := syncDir(vfs.Default, to); err != nil {
		return ioError("write "+to, err)
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
