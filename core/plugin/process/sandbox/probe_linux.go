//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox/launcher"
)

// Probe looks at what this system has. It starts a process that ends at once, to
// see whether it may have a namespace.
func Probe() Status {
	s := look()
	if s.Namespace = tryNamespace(); !s.Namespace {
		s.Notes = append(s.Notes, "no PID namespaces: a plugin that may be several processes can outlive a host that is killed, until the next host starts")
	}
	return s
}

// look is Probe without what costs time and matters to few plugins.
func look() Status {
	s := Status{NoNewPrivs: true, Rlimits: true, Landlock: landlockABI(), Seccomp: hasSeccomp(), Cgroup: findGroups().version}
	if why := noUsers(); why != "" && os.Geteuid() == 0 {
		s.Missing = append(s.Missing, "users of their own: "+why)
	} else if why != "" {
		s.Notes = append(s.Notes, "plugins run as the host's user, since that isn't root")
	} else {
		s.User = true
	}
	switch {
	case s.Landlock == 0:
		s.Missing = append(s.Missing, "Landlock: the kernel has none (Linux 5.13, or a boot parameter lsm=), so plugins see what their user sees of the file system")
	case s.Landlock < scopeABI:
		s.Notes = append(s.Notes, fmt.Sprintf("Landlock %d of %d: signals are held back by seccomp alone", s.Landlock, scopeABI))
	}
	if !s.Seccomp {
		s.Missing = append(s.Missing, "seccomp: the kernel has no filter mode, so plugins can reach the network")
	}
	if s.Cgroup == "" {
		s.Notes = append(s.Notes, "no writable control groups for memory and tasks: a plugin that may be several processes has the memory limit for each of them")
	}
	return s
}

// hasSeccomp asks for the newest action that the filter uses (Linux 4.14).
func hasSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// noUsers says why instances can't have users of their own, or "".
func noUsers() string {
	if os.Geteuid() != 0 {
		return "the host isn't root"
	}
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return err.Error()
	}
	// To make and remove their folders, become them, and kill them.
	for name, bit := range map[string]int{
		"CAP_CHOWN": unix.CAP_CHOWN, "CAP_DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "CAP_KILL": unix.CAP_KILL,
		"CAP_SETGID": unix.CAP_SETGID, "CAP_SETUID": unix.CAP_SETUID,
	} {
		if data[0].Effective&(1<<bit) == 0 {
			return "the host is root without " + name
		}
	}
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		if !mapsUsers(file) {
			return fmt.Sprintf("%s doesn't have %d to %d", file, FirstUser, FirstUser+Users-1)
		}
	}
	return ""
}

// mapsUsers is whether a user namespace has the range of users. Lines are: first
// id inside, first id outside, count.
func mapsUsers(file string) bool {
	text, err := os.Open(file)
	if err != nil {
		return false
	}
	defer text.Close()
	for {
		var inside, outside, count uint64
		if _, err := fmt.Fscan(text, &inside, &outside, &count); err != nil {
			return false
		}
		if inside <= FirstUser && inside+count >= FirstUser+Users {
			return true
		}
	}
}

// isolate asks for a PID namespace; where the host isn't root, in a user
// namespace in which it is who it was.
func isolate(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= unix.CLONE_NEWPID
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
}

// tryNamespace starts a launcher without a socket, which ends at once.
func tryNamespace() bool {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"reflectory-launcher"},
		Env:         []string{launcher.Variable + "=" + launcher.Value},
		SysProcAttr: new(syscall.SysProcAttr),
	}
	isolate(cmd.SysProcAttr)
	if cmd.Start() != nil {
		return false
	}
	_ = cmd.Wait()
	return true
}
