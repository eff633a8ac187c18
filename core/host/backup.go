package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// A backup of everything has its own folder, next to the store's files, for the
// host's other data. Restore puts it where the present settings say, which may be a
// different place than in the backup.
const backupFolder = "host"

// Part is data that a host keeps outside its store: a file, or a folder.
type Part struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// in is its name in a backup; "" for data that no backup includes.
	in string
}

// backupParts are the parts that a backup of everything includes.
func backupParts(c *config.Config) []Part {
	return []Part{
		{"policies", c.PolicyDir.Value, "policies"},
		{"lock", c.Lock.Value, install.LockFile},
		{"trust file", c.TrustFile.Value, "trust.yaml"},
		{"packages", c.PluginDir.Value, "plugins"},
		{"prompt policies", filepath.Join(c.DataDir.Value, PromptPolicyDir), PromptPolicyDir},
		{"role mixes", filepath.Join(c.DataDir.Value, RoleMixDir), RoleMixDir},
	}
}

// partsThere are all parts that exist.
func partsThere(c *config.Config) []Part {
	all := append(backupParts(c), Part{"settings", c.File(), ""}, Part{"pruned segments", SegmentDir(c), ""})
	return slices.DeleteFunc(all, func(p Part) bool {
		_, err := os.Stat(p.Path)
		return p.Path == "" || err != nil
	})
}

// Backup copies the store, as it is now, to a new folder, which appears when the copy is
// complete. With all it also copies the policies, the lock, the trust file, the packages, the
// prompt policies and the role mixes. It returns what it left out. If it fails, it leaves no folder.
func (s *Storage) Backup(ctx context.Context, dir string, all bool) (leftOut []Part, err error) {
	db, err := s.OpenLocal(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.Backup(ctx, dir); err != nil {
		return nil, err
	}
	leftOut = []Part{}
	for _, part := range partsThere(s.config.Settings) {
		if !all || part.in == "" {
			leftOut = append(leftOut, part)
			continue
		}
		if err := copyTree(ctx, part.Path, filepath.Join(dir, backupFolder, part.in)); err != nil {
			_ = os.RemoveAll(dir) // the copy isn't complete
			return nil, backupPartError(part, dir, err)
		}
	}
	s.markBackup()
	return leftOut, nil
}

// DiskSpace is how many bytes of the data folder's file system the host may still use, and how many it
// has.
func (s *Storage) DiskSpace() (available, size uint64, err error) {
	return pebble.Space(s.config.Settings.DataDir.Value)
}

// BackupMark is a file of the data folder. When it was last changed is when the last backup was taken.
// It isn't in the store: a store that is restored would forget its backup, and an operator who takes
// backups by other means can touch a file.
const BackupMark = "last-backup"

// markBackup notes that a backup was taken. The backup is complete if that fails, so it is only reported.
func (s *Storage) markBackup() {
	mark, now := filepath.Join(s.config.Settings.DataDir.Value, BackupMark), s.config.Clock.Now()
	err := os.WriteFile(mark, []byte("When this file was last changed is when the last backup was taken.\n"), 0o600)
	if err == nil {
		err = os.Chtimes(mark, now, now)
	}
	if err != nil {
		s.config.warnf("the backup is complete, but %s can't be written, so metrics show an older one: %s", mark, err)
	}
}

// LastBackup is when the last backup was taken, and whether that is known: see [BackupMark]. It is
// zero if a store in the data folder was never backed up. Of a database nothing is known, unless the
// file is there.
func (s *Storage) LastBackup() (at time.Time, known bool) {
	info, err := os.Stat(filepath.Join(s.config.Settings.DataDir.Value, BackupMark))
	if err == nil {
		return info.ModTime(), true
	}
	_, own := s.store.(*store.OnDemand)
	return time.Time{}, own && errors.Is(err, fs.ErrNotExist) && !s.config.Settings.Shared()
}

// Restore replaces the store of the data folder with a backup, completely or not at all,
// and puts the backup's other data where the settings say. The store must be empty and
// the other data missing, unless replace is set; and no program may have the store open,
// so this isn't a method of [Host].
func Restore(ctx context.Context, settings *config.Config, dir string, replace bool) error {
	if settings.Shared() {
		return notLocal()
	}
	if err := settings.MakeDataDir(); err != nil {
		return err
	}
	parts, err := restorable(settings, dir, replace)
	if err != nil {
		return err
	}
	if err := pebble.Restore(ctx, dir, StoreOptions(settings), replace); err != nil {
		return err
	}
	for _, part := range parts {
		if err := restorePart(ctx, part, dir); err != nil {
			return err
		}
	}
	return nil
}

func backupPartError(part Part, dir string, cause error) error {
	return sdk.Errorf(sdk.Unavailable, "backup_io", "the %s of %s can't be copied to or from the backup %s: %w", part.Name, part.Path, dir, cause).
		WithHint("check that both can be read and written, and that there is space")
}

// restorable are the parts of a backup that differ from the present ones. If a part
// exists with other content, it is refused, unless replace is set.
func restorable(settings *config.Config, dir string, replace bool) (parts []Part, err error) {
	for _, part := range backupParts(settings) {
		kept := filepath.Join(dir, backupFolder, part.in)
		if _, err := os.Stat(kept); err != nil || sameFile(kept, part.Path) {
			continue
		}
		if _, err := os.Lstat(part.Path); err == nil && !replace {
			return nil, sdk.Errorf(sdk.Conflict, "restore_exists", "the backup has the %s, but %s already exists", part.Name, part.Path).
				WithHint("choose another data folder, or replace what is there")
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// sameFile reports whether two files have the same bytes.
func sameFile(one, other string) bool {
	a, err := os.ReadFile(one)
	if err != nil {
		return false // it may be a folder
	}
	b, err := os.ReadFile(other)
	return err == nil && bytes.Equal(a, b)
}

// restorePart puts a part in its place when its copy is complete.
func restorePart(ctx context.Context, part Part, dir string) error {
	staged := part.Path + ".restored"
	err := os.RemoveAll(staged) // left by a restore that was killed
	if err == nil {
		err = copyTree(ctx, filepath.Join(dir, backupFolder, part.in), staged)
	}
	if err == nil {
		err = os.RemoveAll(part.Path)
	}
	if err == nil {
		err = os.Rename(staged, part.Path)
	}
	if err != nil {
		return backupPartError(part, dir, err)
	}
	return nil
}

// copyTree copies a file, or a folder with everything in it. A link to a file is copied
// as that file; a link to a folder is refused, because it may lead in a circle. Files
// that only their owner may read keep that mode.
func copyTree(ctx context.Context, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), os.MkdirAll(filepath.Dir(to), 0o700)); err != nil {
		return err
	}
	if !info.IsDir() {
		return copyPlain(from, to, info)
	}
	if err := os.Mkdir(to, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if target, err := os.Stat(filepath.Join(from, e.Name())); err == nil && target.IsDir() && !e.IsDir() {
			return fmt.Errorf("%s is a link to a folder", filepath.Join(from, e.Name()))
		}
		if err := copyTree(ctx, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyPlain copies a regular file, and syncs it to the disk.
func copyPlain(from, to string, info fs.FileInfo) (err error) {
	if !info.Mode().IsRegular() {
		return nil // such as a socket, which no backup includes
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
