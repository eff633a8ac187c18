//go:build unix

package access

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openOwn opens a file, without following a link or waiting for a pipe.
func openOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// whyUnsafe is the reason why somebody else may read or change an open file; "" if nobody may.
func whyUnsafe(file *os.File) string {
	info, err := file.Stat()
	if err != nil {
		return "its status can't be read"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return "it isn't a plain file"
	case !ok || int(stat.Uid) != os.Geteuid():
		return "it belongs to another user"
	case mode.Perm()&0o077 != 0:
		return fmt.Sprintf("others may read it (its mode is %#o, not 0600)", mode.Perm())
	}
	return ""
}

// syncFolder syncs the names in a folder to the disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
