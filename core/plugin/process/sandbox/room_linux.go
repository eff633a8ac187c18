//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox/launcher"
	"github.com/reflectory/reflectory/sdk"
)

// ownTasks is how many tasks the two launchers of a room may have in addition to the program's: each
// is a Go program with few threads.
const ownTasks = 24

// room is the part of a cell that only a program in a [Room] has.
type room struct {
	launch launcher.Spec // for the first process
	dirs   []*os.File    // the folders that the program can write, as in launch.Room.Dirs
	// ended is where the first process reports how the program ended, and theirs its end until it is
	// started.
	ended, theirs *os.File
}

// prepareRoom makes the control groups, and the ruleset that keeps the program's signals to itself.
func (c *Cell) prepareRoom() error {
	c.on, c.ownUserNS = true, os.Geteuid() != 0
	c.groups = newGroups(c.folder.name(), c.spec.MemoryBytes, c.spec.Room.Tasks+ownTasks)
	c.status.grouped(c.groups.version)
	if c.status.Landlock < scopeABI {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL}
	var err error
	c.ruleset, err = createRuleset(&attr, unsafe.Sizeof(attr))
	return err
}

// Enter returns a command that runs the host's own program as the first process of the room, in
// which [Cell.Furnish] and [Cell.Confine] then start the program with these arguments, the first of
// which is its name, and this environment.
func (c *Cell) Enter(args, env []string) (*exec.Cmd, error) {
	if err := c.connect(); err != nil {
		return nil, err
	}
	var err error
	if c.room.ended, c.room.theirs, err = os.Pipe(); err != nil {
		return nil, err
	}
	c.command = launcher.Spec{User: c.user, Path: c.spec.Path, Args: args, Env: env, Dir: Workspace}
	cmd := c.launcher(c.room.theirs)
	isolate(cmd.SysProcAttr, true, true, c.ownUserNS)
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if c.ownUserNS { // to mount, and to make the loopback device usable
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
	c.room.launch = launcher.Spec{User: c.user, Ruleset: c.command.Ruleset}
	c.room.launch.Room, err = c.spec.Room.layout(c.Dir(), c.spec.Path, c.user)
	return cmd, err
}

// Furnish has the launcher, which runs as pid, make the room. If it fails, the caller must kill the
// process.
func (c *Cell) Furnish(pid int) error {
	_, _ = c.theirs.Close(), c.room.theirs.Close()
	_ = c.control.SetDeadline(time.Now().Add(c.spec.StartTimeout))
	c.join(pid)
	if err := c.send(&c.room.launch); err != nil {
		return err
	}
	var answer [launcher.FailureBytes]byte
	var rights [128]byte // for a few descriptors
	var n, oobn int
	raw, err := c.control.SyscallConn()
	if err != nil {
		return err
	}
	if readErr := raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, err = unix.Recvmsg(int(fd), answer[:], rights[:], unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(err, unix.EAGAIN)
	}); readErr != nil {
		err = readErr
	}
	if err == nil && n == launcher.FailureBytes {
		return c.explain(launcher.DecodeFailure(answer))
	}
	fds, parseErr := descriptors(rights[:oobn])
	for _, fd := range fds {
		c.room.dirs = append(c.room.dirs, os.NewFile(uintptr(fd), "room"))
	}
	if err != nil || parseErr != nil || len(fds) != len(c.room.launch.Room.Dirs) {
		return sdk.Errorf(sdk.Unavailable, "sandbox_failed", "the sandbox of %s ended before it began: %w", c.spec.subject(), errors.Join(err, parseErr))
	}
	return nil
}

func descriptors(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}

// Reach is the path by which the host reaches a folder of the room that the program can write, until
// the cell is closed. It stays the same folder, whatever the program puts in its place.
func (c *Cell) Reach(folder string) string {
	i := slices.Index(c.room.launch.Room.Dirs, folder)
	return fmt.Sprintf("/proc/self/fd/%d", c.room.dirs[i].Fd())
}

// User is the user as whom the program runs; 0 if that is the host's.
func (c *Cell) User() uint32 { return c.user }

// Ended is how the program ended, once the first process has; false if it was killed with that.
func (c *Cell) Ended() (syscall.WaitStatus, bool) {
	var b [4]byte
	n, _ := c.room.ended.Read(b[:])
	return syscall.WaitStatus(binary.LittleEndian.Uint32(b[:])), n == len(b)
}

// Unbounded lists what isn't bounded in this cell, with the reason. It is known after [Cell.Furnish].
func (c *Cell) Unbounded() (list []string) {
	if c.groups.version == "" {
		list = append(list, noRoomMemory)
	}
	if !c.status.Seccomp {
		list = append(list, "system calls: the kernel has no filter mode (seccomp)")
	}
	return list
}

// noRoomMemory is why memory isn't bounded: only control groups count it for all processes together.
const noRoomMemory = "memory: the host may not make control groups (systemd-run --user --scope -p Delegate=yes starts it where it may)"

// Reached is the bound that the program reached, "" if none: from then on, its processes get no more
// of it.
func (c *Cell) Reached() Bound {
	var disk unix.Statfs_t
	switch {
	case c.groups.outOfMemory():
		return BoundMemory
	case c.groups.outOfTasks():
		return BoundTasks
	case len(c.room.dirs) > 0 && unix.Fstatfs(int(c.room.dirs[0].Fd()), &disk) == nil && (disk.Bavail == 0 || disk.Ffree == 0):
		return BoundDisk
	}
	return ""
}

// layout describes the file system to the launcher.
func (r *Room) layout(at, program string, user uint32) (launcher.Room, error) {
	uid := user
	if uid == 0 {
		uid = uint32(os.Geteuid())
	}
	l := launcher.Room{
		Root: at, Options: fmt.Sprintf("size=%d,nr_inodes=%d,mode=755", r.Bytes, r.Files),
		Dirs:  []string{Workspace, Home, Temp, "/dev/shm"},
		Links: []string{"/dev/fd", "/proc/self/fd", "/dev/stdin", "/proc/self/fd/0", "/dev/stdout", "/proc/self/fd/1", "/dev/stderr", "/proc/self/fd/2"},
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if _, err := os.Stat(path); err == nil {
			l.Devices = append(l.Devices, path)
		}
	}
	shown := slices.DeleteFunc(system(), func(g grant) bool { _, err := os.Stat(g.path); return err != nil })
	for _, path := range append(slices.Clone(r.Read), program) {
		shown = append(shown, grant{path: path})
	}
	slices.SortFunc(shown, func(a, b grant) int { return strings.Compare(a.path, b.path) })
	var links []string
	for _, g := range shown {
		real, err := filepath.EvalSymlinks(g.path)
		if err != nil {
			return l, sdk.Errorf(sdk.Invalid, "grant_missing", "%s is granted and can't be read: %w", g.path, err).
				WithHint("make the path, or take it out of commands.read")
		}
		if real != g.path && !within(g.path, links) {
			links = append(links, g.path)
			l.Links = append(l.Links, g.path, real)
		}
		l.Binds = append(l.Binds, real)
	}
	slices.Sort(l.Binds)
	var binds []string
	for _, path := range l.Binds {
		if !within(path, binds) {
			binds = append(binds, path)
		}
	}
	l.Binds = binds
	for i := len(l.Links) - 2; i >= 0; i -= 2 {
		if within(l.Links[i], binds) {
			l.Links = slices.Delete(l.Links, i, i+2)
		}
	}
	for path, text := range map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nprogram:x:%d:%[1]d:program:%s:/bin/sh\n", uid, Home),
		"/etc/group":  fmt.Sprintf("root:x:0:\nprogram:x:%d:\n", uid),
		"/etc/hosts":  "127.0.0.1 localhost\n::1 localhost\n",
	} {
		if !within(path, binds) {
			l.Files = append(l.Files, path, text)
		}
	}
	return l, nil
}

// within is whether a path is one of some paths, or below one.
func within(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// roomLimits are the resource limits of each process of a room.
func (c *Cell) roomLimits() []uint64 {
	list := []uint64{
		unix.RLIMIT_STACK, maxStack,
		unix.RLIMIT_NOFILE, roomOpen,
		unix.RLIMIT_CORE, 0,
		unix.RLIMIT_MSGQUEUE, 0,
	}
	if c.groups.version == "" && (c.user != 0 || c.ownUserNS) { // else it would be reached before the group's, which tells
		list = append(list, unix.RLIMIT_NPROC, uint64(c.spec.Room.Tasks+ownTasks))
	}
	return lowered(list, hardLimit)
}

// roomOpen is how many descriptors a process of a room may have: runtimes and test runners open
// hundreds of files.
const roomOpen = 4096

// roomConditions lists the calls of a program in a room that depend on their arguments.
func roomConditions() []condition {
	return []condition{
		{unix.SYS_SOCKET, only(0, unix.EAFNOSUPPORT, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)},
		{unix.SYS_CLONE, clones(rules{forks: true})},
		// Sanitizers turn off the random layout of their memory.
		{unix.SYS_PERSONALITY, only(0, unix.EPERM, 0, addrNoRandomize, 1<<32-1)},
		{unix.SYS_IOCTL, refuse(1, unix.TIOCSTI, unix.TIOCLINUX)},
	}
}

// addrNoRandomize is ADDR_NO_RANDOMIZE, which package unix lacks.
const addrNoRandomize = 0x0040000
