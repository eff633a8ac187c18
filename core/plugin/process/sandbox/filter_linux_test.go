//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs the filter as the kernel would. The machine of package bpf reads
// big-endian numbers, so the data is laid out for that: each low half first.
func verdict(t *testing.T, r rules, arch, number uint32, args ...uint32) uint32 {
	t.Helper()
	raw, err := assemble(r)
	if err != nil {
		t.Fatal(err)
	}
	program, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter isn't a program")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64) // struct seccomp_data
	binary.BigEndian.PutUint32(data[offsetCall:], number)
	binary.BigEndian.PutUint32(data[offsetArch:], arch)
	for i, arg := range args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], arg)
	}
	action, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(action)
}

func refused(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

func TestFilter(t *testing.T) {
	const self, allowed = 77, unix.SECCOMP_RET_ALLOW
	one, several, guarded := rules{self: self}, rules{self: self, forks: true, counted: true}, rules{self: self, alone: true}
	fork := uint32(unix.SIGCHLD)
	tests := []struct {
		name   string
		rules  rules
		number uint32
		args   []uint32
		want   uint32
	}{
		{"read", one, unix.SYS_READ, nil, allowed},
		{"execve", one, unix.SYS_EXECVE, nil, allowed},
		{"newest known", one, reviewed, nil, allowed},
		{"newer", one, reviewed + 1, nil, refused(unix.ENOSYS)},
		{"x32", one, 1<<30 | unix.SYS_READ, nil, refused(unix.ENOSYS)},
		{"negative", one, ^uint32(0), nil, refused(unix.ENOSYS)},
		{"connect", several, unix.SYS_CONNECT, nil, refused(unix.EPERM)},
		{"unix stream", one, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, allowed},
		{"unix raw", one, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_RAW}, refused(unix.EPERM)},
		{"inet stream", one, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, refused(unix.EPERM)},
		{"pair of datagrams", one, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, refused(unix.EPERM)},
		{"thread", one, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD}, allowed},
		{"fork", one, unix.SYS_CLONE, []uint32{fork}, refused(unix.EPERM)},
		{"vfork", one, unix.SYS_CLONE, []uint32{unix.CLONE_VFORK | unix.CLONE_VM | fork}, refused(unix.EPERM)},
		{"fork of several", several, unix.SYS_CLONE, []uint32{fork}, allowed},
		{"fork into a namespace", several, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | fork}, refused(unix.EPERM)},
		{"thread in a namespace", one, unix.SYS_CLONE, []uint32{unix.CLONE_THREAD | unix.CLONE_NEWNET}, refused(unix.EPERM)},
		{"clone3", several, unix.SYS_CLONE3, nil, refused(unix.ENOSYS)},
		{"own limits", one, unix.SYS_PRLIMIT64, []uint32{0}, allowed},
		{"own limits by number", one, unix.SYS_PRLIMIT64, []uint32{self}, allowed},
		{"another's limits", guarded, unix.SYS_PRLIMIT64, []uint32{1}, refused(unix.EPERM)},
		{"signal to itself", one, unix.SYS_TGKILL, []uint32{self, self}, allowed},
		{"signal to another", one, unix.SYS_KILL, []uint32{1}, refused(unix.EPERM)},
		{"signal to everybody", one, unix.SYS_KILL, []uint32{^uint32(0)}, refused(unix.EPERM)},
		{"signal that the kernel judges", guarded, unix.SYS_KILL, []uint32{1}, allowed},
		{"private memory", one, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANON}, allowed},
		{"a file's memory", one, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED}, allowed},
		{"shared memory", one, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED | unix.MAP_ANON}, refused(unix.EPERM)},
		{"shared memory, validated", one, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED_VALIDATE | unix.MAP_ANON}, refused(unix.EPERM)},
		{"shared memory that is counted", several, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED | unix.MAP_ANON}, allowed},
		{"end with the host", one, unix.SYS_PRCTL, []uint32{unix.PR_SET_PDEATHSIG}, refused(unix.EPERM)},
		{"name of a thread", one, unix.SYS_PRCTL, []uint32{unix.PR_SET_NAME}, allowed},
		{"fewer core dumps", one, unix.SYS_PRCTL, []uint32{unix.PR_SET_DUMPABLE, 0}, refused(unix.EPERM)},
		{"terminal input", one, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, refused(unix.ENOTTY)},
		{"attributes of a file", one, unix.SYS_IOCTL, []uint32{0, unix.FS_IOC_SETFLAGS}, refused(unix.ENOTTY)},
		{"attributes of an XFS file", one, unix.SYS_IOCTL, []uint32{0, 0x401c5820}, refused(unix.ENOTTY)},
		{"terminal size", one, unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, allowed},
		{"signals of a file", one, unix.SYS_FCNTL, []uint32{0, unix.F_SETOWN}, refused(unix.EPERM)},
		{"watch of a folder", one, unix.SYS_FCNTL, []uint32{0, unix.F_NOTIFY}, refused(unix.EPERM)},
		{"lease of a file", one, unix.SYS_FCNTL, []uint32{0, unix.F_SETLEASE}, refused(unix.EPERM)},
		{"large pipe", one, unix.SYS_FCNTL, []uint32{0, unix.F_SETPIPE_SZ}, refused(unix.EPERM)},
		{"flags of a file", one, unix.SYS_FCNTL, []uint32{0, unix.F_SETFL}, allowed},
		{"large socket", one, unix.SYS_SETSOCKOPT, []uint32{0, unix.SOL_SOCKET, unix.SO_SNDBUF}, refused(unix.EPERM)},
		{"larger socket", several, unix.SYS_SETSOCKOPT, []uint32{0, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE}, refused(unix.EPERM)},
		{"socket that waits", one, unix.SYS_SETSOCKOPT, []uint32{0, unix.SOL_SOCKET, unix.SO_RCVTIMEO}, allowed},
		{"option of TCP with that number", one, unix.SYS_SETSOCKOPT, []uint32{0, unix.IPPROTO_TCP, unix.SO_SNDBUF}, allowed},
		{"memory that grows down", several, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_GROWSDOWN}, refused(unix.EPERM)},
		{"chmod", one, unix.SYS_FCHMODAT, []uint32{0, 0, 0o755}, refused(0)},
		{"chmod to set-uid", one, unix.SYS_FCHMODAT, []uint32{0, 0, 0o4755}, refused(unix.EPERM)},
		{"chmod to set-gid", one, unix.SYS_FCHMODAT2, []uint32{0, 0, 0o2755}, refused(unix.EPERM)},
		{"chmod of an open file", several, unix.SYS_FCHMOD, []uint32{0, 0o644}, refused(0)},
		{"chmod of an open file to set-uid", several, unix.SYS_FCHMOD, []uint32{0, 0o4644}, refused(unix.EPERM)},
		{"chown", one, unix.SYS_FCHOWNAT, nil, refused(unix.EPERM)},
		{"times", one, unix.SYS_UTIMENSAT, nil, refused(0)},
		{"watch", one, unix.SYS_INOTIFY_ADD_WATCH, nil, refused(unix.EPERM)},
		{"attributes by name", one, unix.SYS_FILE_SETATTR, nil, refused(unix.EOPNOTSUPP)},
		{"attribute of a file", one, unix.SYS_GETXATTR, nil, refused(unix.EOPNOTSUPP)},
		{"names of a file's attributes", several, unix.SYS_LISTXATTR, nil, refused(unix.EOPNOTSUPP)},
		{"room on the disk", several, unix.SYS_FALLOCATE, []uint32{0, unix.FALLOC_FL_KEEP_SIZE}, refused(unix.EOPNOTSUPP)},
		{"shadow stack", one, unix.SYS_MAP_SHADOW_STACK, nil, refused(unix.EOPNOTSUPP)},
		{"shadow stack that is counted", several, unix.SYS_MAP_SHADOW_STACK, nil, allowed},
		{"queue of the machine's", one, unix.SYS_IO_SETUP, []uint32{1 << 16}, refused(unix.ENOSYS)},
		{"new file", one, unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o666}, allowed},
		{"new set-uid file", one, unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, refused(unix.EPERM)},
		{"new set-gid file without a name", one, unix.SYS_OPENAT, []uint32{0, 0, unix.O_TMPFILE | unix.O_WRONLY, 0o2755}, refused(unix.EPERM)},
		{"folder with a mode that means nothing", one, unix.SYS_OPENAT, []uint32{0, 0, unix.O_DIRECTORY, 0o4000}, allowed},
		{"new set-gid folder", one, unix.SYS_MKDIRAT, []uint32{0, 0, 0o2700}, refused(unix.EPERM)},
		{"new folder", one, unix.SYS_MKDIRAT, []uint32{0, 0, 0o1700}, allowed},
		{"cut by name", one, unix.SYS_TRUNCATE, nil, refused(unix.EPERM)},
		{"cut by name that Landlock judges", rules{self: self, cuts: true}, unix.SYS_TRUNCATE, nil, allowed},
	}
	for _, test := range tests {
		if got := verdict(t, test.rules, auditArch, test.number, test.args...); got != test.want {
			t.Errorf("%s: got %#x, want %#x", test.name, got, test.want)
		}
	}
	if got := verdict(t, one, unix.AUDIT_ARCH_I386, unix.SYS_READ); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("another architecture: got %#x", got)
	}
}

func TestEachRefusalIsListedOnceWithAReason(t *testing.T) {
	seen := map[uint32]bool{}
	for _, group := range append(refusals(), olderCalls(rules{})...) {
		if group.reason == "" || len(group.calls) == 0 {
			t.Errorf("a group without reason or calls: %+v", group)
		}
		for _, number := range group.calls {
			if seen[number] {
				t.Errorf("call %d is listed twice", number)
			}
			seen[number] = true
		}
	}
	for _, c := range conditions(rules{}) {
		if seen[c.call] {
			t.Errorf("call %d is refused before its condition", c.call)
		}
	}
}
