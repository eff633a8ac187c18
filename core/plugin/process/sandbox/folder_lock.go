//go:build linux || darwin

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFolder locks a folder, without waiting.
func lockFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, errTaken
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var there, locked unix.Stat_t
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errTaken
	}
	// Between the opening and the lock it may have been removed.
	if err == nil && (unix.Lstat(path, &there) != nil || unix.Fstat(fd, &locked) != nil || there.Ino != locked.Ino) {
		err = errTaken
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// owned is whether a folder belongs to this host's user or to an instance's.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	self := os.Geteuid()
	return int(stat.Uid) == self || self == 0 && stat.Uid >= FirstUser && stat.Uid < FirstUser+Users
}
