//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A file that a plugin removed from its folder stays on the disk for as long as one of its
// processes holds it: open, mapped, or in a message that no socket has received yet. The process
// table shows all three. If it doesn't show a file's size, the file counts as the largest that a
// plugin may write.

// OutOfMemory is whether the kernel ended a process of the instance at its
// memory limit.
func (c *Cell) OutOfMemory() bool { return c.groups.outOfMemory() }

// members lists the processes of an instance, of which pid is the first. They can't leave
// its control group or, without one, its process group.
func (c *Cell) members(pid int) []int {
	switch {
	case c.spec.Processes <= 1:
		return []int{pid}
	case c.groups.version != "":
		return c.groups.members()
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			if group, err := unix.Getpgid(id); err == nil && group == pid {
				pids = append(pids, id)
			}
		}
	}
	return pids
}

// inode names a file for as long as the file exists.
type inode struct {
	major, minor uint32
	number       uint64
}

// unnamed counts what processes hold in files without a name.
func (c *Cell) unnamed(pids []int) unnamed {
	dir, err := filepath.EvalSymlinks(c.Dir())
	if err != nil {
		dir = c.Dir()
	}
	sizes, flying := map[inode]int64{}, 0
	for _, pid := range pids {
		flying += openFiles(pid, sizes)
		mappings(pid, dir, sizes)
	}
	u := unnamed{bytes: int64(flying) * maxFile}
	for _, size := range sizes {
		u.bytes += size
	}
	// A message may carry a socket whose messages carry more. Normally it is received between
	// two checks, unless it is meant to hide something.
	u.hidden = flying > 0 && c.flying
	c.flying = flying > 0
	return u
}

// openFiles adds the open files of a process that have no name, and returns how many
// descriptors are in messages to it. A process that has ended holds nothing.
func openFiles(pid int, sizes map[inode]int64) (flying int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return 0
	}
	for _, fd := range fds {
		path := filepath.Join(dir, "fd", fd.Name())
		to, err := os.Readlink(path)
		switch {
		case err != nil:
		case strings.HasPrefix(to, "socket:"):
			flying += carried(filepath.Join(dir, "fdinfo", fd.Name()))
		case strings.HasSuffix(to, deleted):
			var s unix.Stat_t
			if unix.Stat(path, &s) == nil && s.Nlink == 0 && s.Mode&unix.S_IFMT == syscall.S_IFREG {
				sizes[inode{unix.Major(s.Dev), unix.Minor(s.Dev), s.Ino}] = s.Size
			}
		}
	}
	return flying
}

// deleted is the suffix that the process table gives a file without a name.
const deleted = " (deleted)"

// carried is how many descriptors wait in a socket's messages.
func carried(fdinfo string) int {
	text, _ := os.ReadFile(filepath.Clean(fdinfo))
	_, rest, found := bytes.Cut(text, []byte("scm_fds:")) // Linux 5.6
	if !found {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line)))
	return n
}

// mappings adds the files below a folder that a process has mapped, and that
// have no name. Lines are: range, rights, offset, device, inode, path.
func mappings(pid int, dir string, sizes map[inode]int64) {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
	for line := range strings.Lines(string(text)) {
		fields, path, found := strings.Cut(strings.TrimSuffix(line, "\n"), "/")
		if !found || !strings.HasPrefix("/"+path, dir+"/") || !strings.HasSuffix(path, deleted) {
			continue
		}
		var file inode
		var address, rights, offset string
		if n, _ := fmt.Sscanf(fields, "%s %s %s %x:%x %d", &address, &rights, &offset, &file.major, &file.minor, &file.number); n != 6 {
			continue
		}
		if _, open := sizes[file]; !open {
			sizes[file] = maxFile
		}
	}
}
