//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox/launcher"
)

// Probe checks what this system supports. It starts a process that ends at once, to find
// out whether it may have a namespace, and makes and removes control groups.
func Probe() Status {
	s, found := probe(), tryNamespaces()
	if os.Geteuid() != 0 {
		s.networked(found.network)
	}
	if s.Namespace = found.pids; !s.Namespace {
		s.Notes = append(s.Notes, "no PID namespaces: a plugin that may be several processes can outlive a host that is killed, until the next host starts")
	}
	g := newGroups("reflectory-probe-"+strconv.Itoa(os.Getpid()), MinMemory, tasks(1))
	g.remove()
	s.grouped(g.version)
	s.Tasks = tasksBound(s, os.Geteuid() != 0 && s.Namespace)
	if s.Tasks == "" {
		s.Notes = append(s.Notes, "no user namespaces (Linux 5.14) and no control groups: processes and threads of plugins are counted once a second, not bounded by the kernel")
	}
	return s
}

// tasksBound is what bounds an instance's processes and threads.
func tasksBound(s Status, userNS bool) string {
	switch {
	case s.Cgroup != "":
		return "control group"
	case s.User:
		return "own user"
	case userNS:
		return "user namespace"
	}
	return ""
}

// uncounted describes how much memory a plugin may use that no control group counts.
var uncounted = fmt.Sprintf("no writable control groups: limits.memory holds for the private data of each process by itself. Not counted are what sockets and "+
	"pipes hold (about 110 MiB, by the %d descriptors of a process), files in its temporary folder where that is in memory (%d MiB), and the kernel's own "+
	"records, such as page tables and file locks", maxOpen, MaxScratchBytes>>20)

// grouped records which control groups there are, and what follows from that.
func (s *Status) grouped(version string) {
	s.Cgroup = version
	if version == "" && !slices.Contains(s.Notes, uncounted) {
		s.Notes = append(slices.Clone(s.Notes), uncounted)
	}
}

// probe does what Probe does, except for what takes time and matters to few plugins.
func probe() Status {
	s := Status{NoNewPrivs: true, Rlimits: true, Landlock: landlockABI(), Seccomp: hasSeccomp()}
	if why := noUsers(); why != "" && os.Geteuid() == 0 {
		s.Missing = append(s.Missing, "users of their own: "+why)
	} else if why != "" {
		s.Notes = append(s.Notes, "plugins run as the host's user, since that isn't root")
	} else {
		s.User = true
	}
	if s.Landlock == 0 {
		s.Missing = append(s.Missing, "Landlock: the kernel has none (Linux 5.13, or a boot parameter lsm=), so plugins see what their user sees of the file system")
	}
	if os.Geteuid() == 0 { // others need a process to find out, see tryNamespaces
		s.networked(unsharesNetwork())
	}
	if !s.Seccomp {
		s.Missing = append(s.Missing, "seccomp: the kernel has no filter mode, so plugins can reach the network")
	}
	return s
}

// networked records whether instances have network namespaces, and what follows from that.
func (s *Status) networked(own bool) {
	s.Network = own
	if note := unscoped(s.Landlock, own); note != "" {
		s.Notes = append(slices.Clone(s.Notes), note)
	}
}

// unscoped says what a version of Landlock leaves open, with network namespaces or without, or "".
// Names of abstract sockets are in no file system, so no rule for files holds a plugin back from
// them, and seccomp can't read an address. Landlock holds back a plugin that connects, but not
// another program that connects to the plugin.
func unscoped(abi int, network bool) string {
	var open []string
	if abi < scopeABI {
		open = append(open, fmt.Sprintf("Landlock %d of %d: signals are held back by seccomp alone (Linux 6.12)", abi, scopeABI))
	}
	if !network {
		open = append(open, "no network namespaces: a plugin can listen on an abstract Unix socket, which every program on this machine reaches (a host that is root needs CAP_SYS_ADMIN, others need user namespaces)")
	}
	return strings.Join(open, "; ")
}

// hasSeccomp asks for the newest action that the filter uses (Linux 4.14).
func hasSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// noUsers is the reason why instances can't have their own users, or "".
func noUsers() string {
	if os.Geteuid() != 0 {
		return "the host isn't root"
	}
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return err.Error()
	}
	// These capabilities are needed to make and remove folders of plugins' users, to switch to these
	// users, and to kill their processes.
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

// isolate asks for namespaces: of process ids, of the network, and of users, in which the user
// stays the same.
func isolate(attr *syscall.SysProcAttr, pids, network, user bool) {
	if pids {
		attr.Cloneflags |= unix.CLONE_NEWPID
	}
	if network {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if user {
		uid, gid := os.Geteuid(), os.Getegid()
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
}

// tryNamespaces finds out which namespaces a process gets. A user namespace helps only if the
// kernel counts tasks by it.
func tryNamespaces() namespaces {
	ordinary := os.Geteuid() != 0
	if ordinary && !countsByNamespace() {
		return namespaces{}
	}
	if ordinary && startsIn(true, ordinary) {
		return namespaces{pids: true, network: true}
	}
	return namespaces{pids: startsIn(false, ordinary)}
}

// startsIn starts a launcher without a socket, which ends at once, in a namespace of process ids,
// and others.
func startsIn(network, user bool) bool {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"reflectory-launcher"},
		Env:         []string{launcher.Variable + "=" + launcher.Value},
		SysProcAttr: new(syscall.SysProcAttr),
	}
	isolate(cmd.SysProcAttr, true, network, user)
	if cmd.Start() != nil {
		return false
	}
	_ = cmd.Wait()
	return true
}

// unsharesNetwork is whether this process, without a new user namespace, may have a network
// namespace. A thread tries, and ends with it: that takes 0.3 ms, and a process 3.
func unsharesNetwork() bool {
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		tried <- unix.Unshare(unix.CLONE_NEWNET)
	}()
	return <-tried == nil
}

// countsByNamespace is whether the kernel counts a user's tasks separately in each user
// namespace, as it does since Linux 5.14.
func countsByNamespace() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return n == 2 && (major > 5 || major == 5 && minor >= 14)
}
