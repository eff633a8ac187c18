package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reflectory/reflectory/sdk"
)

// MakeDataDir makes the data folder, which only its owner may use, unless it exists. Its
// errors have the reasons of [CheckDataDir], and "path_untrusted" if another user was faster.
func (c *Config) MakeDataDir() error {
	dir := c.DataDir.Value
	if err := CheckDataDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dataDirError(dir, "it can't be made in "+Existing(dir), err)
	}
	return c.typed.trust.check("the data folder", dir)
}

// CheckDataDir reports which part of a path prevents it from being a folder, or returns
// nil: missing parts may be made. The error is sdk.Invalid with the reason
// "store_unwritable" if this user has no permission, else "data_dir_invalid". Called
// before anything in the folder is used, it prevents misleading errors about a wrong
// path.
func CheckDataDir(dir string) error {
	for _, part := range parts(dir) {
		info, err := os.Lstat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return dataDirError(dir, "this user may not look into "+filepath.Dir(part), err)
		case info.Mode()&fs.ModeSymlink != 0:
			if info, err = os.Stat(part); err != nil {
				target, _ := os.Readlink(part)
				return dataDirError(dir, part+" is a link to "+target+", which can't be followed", err)
			}
		}
		if !info.IsDir() {
			return dataDirError(dir, part+" is a file, not a folder", syscall.ENOTDIR)
		}
	}
	// Whether this user may look into the folder itself shows only when something in it is
	// looked at.
	if _, err := os.Lstat(dir + string(os.PathSeparator) + "."); err != nil {
		return dataDirError(dir, "this user may not look into "+dir, err)
	}
	return nil
}

// Existing is the part of a path that exists: the folder in which the rest would be made.
func Existing(dir string) string {
	there := "."
	for _, part := range parts(dir) {
		if _, err := os.Lstat(part); err != nil {
			break
		}
		there = part
	}
	return there
}

// parts are a path's folders, from the first to the path itself.
func parts(dir string) (all []string) {
	dir = filepath.Clean(dir)
	for i := range dir {
		if i > 0 && os.IsPathSeparator(dir[i]) && !strings.HasSuffix(dir[:i], ":") {
			all = append(all, dir[:i])
		}
	}
	return append(all, dir)
}

func dataDirError(dir, problem string, cause error) error {
	reason := "data_dir_invalid"
	if errors.Is(cause, fs.ErrPermission) || errors.Is(cause, syscall.EROFS) {
		reason = "store_unwritable"
	}
	return sdk.Errorf(sdk.Invalid, reason, "the data folder %s can't be used: %s: %w", dir, problem, cause).
		WithHint("name another with --data-dir, REFLECTORY_DATA_DIR or data_dir in reflectory.yaml")
}
