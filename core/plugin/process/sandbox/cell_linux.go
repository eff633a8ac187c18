//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox/launcher"
	"github.com/reflectory/reflectory/sdk"
)

// confinement is the part of a cell that only Linux has.
type confinement struct {
	on      bool
	ruleset *os.File // nil without Landlock
	groups  groups
	joined  bool // the launcher was started in its groups
	// ownUserNS is whether it has a user namespace, in which the kernel counts its
	// processes and threads separately from the others of its user.
	ownUserNS bool
	flying    bool     // messages held descriptors at the last check
	access    []string // granted paths, which its user must be able to read
	command   launcher.Spec
	room      room
	control   *os.File // the host's end of the launcher's socket
	theirs    *os.File // the launcher's end, until it is started
}

// prepare makes everything that can be made before the process exists.
func (c *Cell) prepare() error {
	if c.spec.Room != nil {
		return c.prepareRoom()
	}
	if c.on = c.box.options.Mode != Off; !c.on {
		return nil
	}
	several, ordinary := c.spec.Processes > 1, os.Geteuid() != 0
	if several || ordinary {
		found := c.box.namespaces()
		c.status.Namespace = several && found.pids
		c.ownUserNS = ordinary && found.pids
		if ordinary {
			c.status.networked(found.network)
		}
	}
	c.groups = newGroups(c.folder.name(), c.spec.MemoryBytes, tasks(c.spec.Processes))
	c.status.grouped(c.groups.version)
	c.status.Tasks = tasksBound(c.status, c.ownUserNS)
	if c.status.Landlock == 0 {
		return nil
	}
	var err error
	c.ruleset, err = c.newRuleset()
	return err
}

// Command returns a command that runs the host's own program as the launcher of the
// plugin's program, with these arguments, the first of which is the program's name, and
// this environment. The program inherits keep as descriptor [KeepFD].
func (c *Cell) Command(args, env []string, keep *os.File) (*exec.Cmd, error) {
	if !c.on {
		return &exec.Cmd{Path: c.spec.Path, Args: args, Env: env, Dir: c.Dir(), ExtraFiles: []*os.File{nil, keep}}, nil
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	c.command = launcher.Spec{User: c.user, Path: c.spec.Path, Args: args, Env: lastOfEach(env), Access: c.access}
	if keep != nil {
		c.command.Keep = KeepFD
	}
	cmd := c.launcher(keep)
	isolate(cmd.SysProcAttr, c.status.Namespace, c.status.Network, c.ownUserNS)
	return cmd, nil
}

// launcher returns a command that runs the host's own program as the launcher.
func (c *Cell) launcher(keep *os.File) *exec.Cmd {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"reflectory-launcher"},
		Env: []string{launcher.Variable + "=" + launcher.Value}, Dir: c.Dir(),
		ExtraFiles:  []*os.File{c.theirs, keep}, // from 3 on
		SysProcAttr: new(syscall.SysProcAttr),
	}
	if c.ruleset != nil {
		c.command.Ruleset = KeepFD + 1
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.ruleset)
	}
	return cmd
}

// Start starts the launcher, in the instance's control groups if the kernel can start it
// there. The calling goroutine must be locked to its thread. If Start fails, the
// goroutine must end without unlocking it, since the thread may have been left in those
// groups.
func (c *Cell) Start(cmd *exec.Cmd) error {
	if c.joined = c.groups.enter(); !c.joined {
		return cmd.Start()
	}
	err := cmd.Start()
	if left := c.groups.leave(); left != nil && err == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		err = sdk.Errorf(sdk.Unavailable, "sandbox_failed", "the host can't leave the control groups of %s: %w", c.spec.subject(), left).
			WithHint("look at what confines the host itself, such as a container")
	}
	return err
}

// connect makes the launcher's socket. The host's end doesn't block, so that
// the wait has a deadline.
func (c *Cell) connect() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		_ = unix.Close(pair[0])
		_ = unix.Close(pair[1])
		return os.NewSyscallError("fcntl", err)
	}
	c.control, c.theirs = os.NewFile(uintptr(pair[0]), "launcher"), os.NewFile(uintptr(pair[1]), "launcher")
	return nil
}

// Confine tells the launcher, which runs as pid, what to do, and waits until it has become the
// plugin. If it fails, the caller must kill the process; the error is the kernel's own if the
// program itself can't be run.
func (c *Cell) Confine(pid int) error {
	if !c.on {
		return nil
	}
	defer c.control.Close()
	_ = c.theirs.Close()
	_ = c.control.SetDeadline(time.Now().Add(c.spec.StartTimeout))
	c.command.Limits = c.limits()
	if c.spec.Room == nil {
		c.join(pid)
	}
	var err error
	if c.command.Filter, err = c.filter(pid); err != nil {
		return err
	}
	if err := c.send(&c.command); err != nil {
		return err
	}
	return c.await()
}

// send sends a spec to the launcher.
func (c *Cell) send(s *launcher.Spec) error {
	spec, ok := s.Encode()
	if !ok {
		return sdk.Errorf(sdk.Exhausted, "spec_too_large", "%s is started with too many arguments, variables or paths (%d bytes)", c.spec.subject(), len(spec)).
			WithHint("grant it fewer, or shorter ones")
	}
	// If the launcher is already gone, its answer will be missing.
	_, _ = c.control.Write(spec)
	return nil
}

// join puts the launcher into the instance's control groups before the program runs. A
// group that it can't join counts as one that the system doesn't have.
func (c *Cell) join(pid int) {
	if c.joined {
		return
	}
	err := c.groups.add(pid)
	if err == nil {
		return
	}
	c.groups.remove()
	c.groups = groups{}
	c.status.grouped("")
	c.status.Tasks = tasksBound(c.status, c.ownUserNS)
	c.status.Notes = append(slices.Clone(c.status.Notes), "its control group doesn't take it: "+err.Error())
}

// await reads the launcher's report, which is empty if everything succeeded.
func (c *Cell) await() error {
	var b [launcher.FailureBytes]byte
	_, err := io.ReadFull(c.control, b[:])
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return sdk.Errorf(sdk.Unavailable, "sandbox_failed", "the sandbox's launcher of %s: %w", c.spec.subject(), err).
			WithHint("set sandbox: %s to find out whether the sandbox is in the way", Off)
	}
	return c.explain(launcher.DecodeFailure(b))
}

func (c *Cell) explain(f launcher.Failure) error {
	errno := syscall.Errno(f.Errno)
	switch {
	case f.Step == launcher.StepExec:
		return &os.PathError{Op: "exec", Path: c.spec.Path, Err: errno}
	case f.Step == launcher.StepMount && int(f.Item) < len(c.room.launch.Room.Binds):
		return sdk.Errorf(sdk.Unavailable, "sandbox_failed", "the sandbox can't show %s to programs: %w", c.room.launch.Room.Binds[f.Item], errno).
			WithHint("look at what confines the host itself, such as a container")
	case f.Step == launcher.StepAccess && int(f.Item) < len(c.access):
		return sdk.Errorf(sdk.Denied, "grant_unreadable", "plugin %s is granted %s, which it can't read as user %d: %w",
			c.spec.Plugin, c.access[f.Item], c.user, errno).
			WithHint("let other users read the path and enter the folders above it, or run the host as the user who owns it")
	}
	return sdk.Errorf(sdk.Unavailable, "sandbox_failed", "the sandbox of %s can't %s: %w", c.spec.subject(), f.Step, errno).
		WithHint("look at what confines the host itself, such as a container; set sandbox: %s to run without", Off)
}

// Peer checks that the other end of a connection is the instance that runs as
// pid, since a path in its folder may have been made to lead elsewhere.
func (c *Cell) Peer(conn net.Conn, pid int) error {
	peer, err := peerOf(conn)
	if err != nil {
		return err
	}
	group, _ := unix.Getpgid(int(peer.Pid))
	if c.user != 0 && peer.Uid == c.user || int(peer.Pid) == pid || group == pid {
		return nil
	}
	return sdk.Errorf(sdk.Denied, "peer_denied", "plugin %s listens at an address that process %d of user %d serves", c.spec.Plugin, peer.Pid, peer.Uid).
		WithHint("a plugin must itself listen in the folder that PLUGIN_UNIX_SOCKET_DIR names")
}

func peerOf(conn net.Conn) (peer *unix.Ucred, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); e != nil {
		return nil, e
	}
	return peer, err
}

// release closes the host's part of the confinement, and ends the processes that are
// left.
func (c *Cell) release() {
	for _, f := range append(c.room.dirs, c.ruleset, c.control, c.theirs, c.room.ended, c.room.theirs) {
		if f != nil {
			_ = f.Close() // closing twice is harmless
		}
	}
	c.groups.remove()
}

// filter is the seccomp program in the kernel's encoding; "" if there is none.
func (c *Cell) filter(pid int) (string, error) {
	if !c.status.Seccomp {
		return "", nil
	}
	program, err := assemble(rules{
		room:    c.spec.Room != nil,
		forks:   c.spec.Processes > 1,
		alone:   c.status.Namespace || c.user != 0 || c.status.Landlock >= scopeABI,
		self:    uint32(pid),
		counted: c.groups.memory,
		cuts:    c.status.Landlock >= truncateABI,
	})
	if err != nil {
		return "", err
	}
	var b []byte
	for _, i := range program {
		b = binary.NativeEndian.AppendUint16(b, i.Op)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return string(b), nil
}
