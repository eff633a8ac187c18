package workspace

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// clone makes an empty file share the blocks of another one, until one of them is written. It
// fails where the file system can't (ext4, tmpfs), and from one file system to another.
func clone(to, from *os.File) bool {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil
}

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, is := info.Sys().(*syscall.Stat_t); is {
		return uint64(s.Nlink) //nolint:unconvert // 32 bits on some architectures
	}
	return 1
}
