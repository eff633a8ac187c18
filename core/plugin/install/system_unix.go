//go:build unix

package install

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonBlocking keeps the opening of a named pipe from waiting for its writer.
const nonBlocking = syscall.O_NONBLOCK

// exclusive waits until this program alone holds a folder, and returns the function that
// releases it. Nothing is left behind, even by a program that was killed.
func exclusive(dir string) (release func(), err error) {
	return hold(dir, unix.LOCK_EX)
}

// hold locks a folder. The lock ends when this program does, if not before.
func hold(dir string, how int) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// syncFolder makes a renaming in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ours reports whether a file belongs to this program's user.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// holdPrivate marks a private folder as one in use.
func holdPrivate(dir string) (release func(), err error) {
	return hold(dir, unix.LOCK_SH|unix.LOCK_NB)
}

// abandoned reports whether no running program holds a private folder.
func abandoned(dir string) bool {
	release, err := hold(dir, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return false
	}
	release()
	return true
}

// privateModes are the permissions of what is executed: readable and executable, never writable. If
// the host is root, the sandbox gives its plugins another user, who must be able to read the files;
// otherwise nobody else must.
func privateModes() modes {
	if os.Geteuid() == 0 {
		return modes{dir: 0o755, file: 0o555}
	}
	return modes{dir: 0o700, file: 0o500}
}

// isExecutable reports whether a file can be run.
func isExecutable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
