//go:build linux || darwin

package sandbox

import (
	"io"
	"math/rand/v2"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeTree removes a folder, whatever a plugin did to it. os.RemoveAll stops at a
// folder whose mode keeps its own user out, and needs one descriptor per level of
// nesting, of which a plugin can make hundreds of thousands. So each folder is opened up
// and its contents are moved to the top before it is removed: nothing is ever more than
// two folders deep.
//
// It follows no link. The plugin's processes must be gone.
func removeTree(path string) {
	top, err := openFolder(unix.AT_FDCWD, path)
	if err != nil {
		return
	}
	defer top.Close()
	l := lifter{top: top, prefix: strconv.FormatUint(rand.Uint64(), 36) + "-"} //nolint:gosec // a name that isn't taken
	for names := list(top); len(names) > 0; names = list(top) {
		removed := 0
		for _, name := range names {
			if l.remove(name) {
				removed++
			}
		}
		if removed == 0 {
			return // something other than modes and depth is in the way
		}
	}
	_ = os.Remove(path)
}

// lifter moves the contents of the folders in a top folder into that folder.
type lifter struct {
	top    *os.File
	prefix string
	count  int
}

// remove removes a name of the top folder. If that is a folder, the folders in it
// come to the top.
func (l *lifter) remove(name string) bool {
	top := int(l.top.Fd())
	if unix.Unlinkat(top, name, 0) == nil {
		return true
	}
	if dir, err := openFolder(top, name); err == nil {
		for _, inner := range list(dir) {
			l.lift(dir, inner)
		}
		_ = dir.Close()
	}
	return unix.Unlinkat(top, name, unix.AT_REMOVEDIR) == nil
}

func (l *lifter) lift(from *os.File, name string) {
	if unix.Unlinkat(int(from.Fd()), name, 0) == nil {
		return
	}
	// Moving a folder changes its "..", which requires the right to write to it.
	_ = unix.Fchmodat(int(from.Fd()), name, 0o700, 0)
	l.count++
	_ = unix.Renameat(int(from.Fd()), name, int(l.top.Fd()), l.prefix+strconv.Itoa(l.count))
}

// openFolder opens a folder that its user may enter from then on.
func openFolder(at int, name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, flags, 0)
	if err == nil {
		err = unix.Fchmod(fd, 0o700)
	} else if unix.Fchmodat(at, name, 0o700, 0) == nil {
		fd, err = unix.Openat(at, name, flags, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// list returns the names in a folder.
func list(dir *os.File) []string {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	return names
}
