//go:build amd64 || arm64

package sandbox

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refusal is a group of system calls that no plugin may make, and why.
type refusal struct {
	reason string
	errno  unix.Errno
	calls  []uint32
}

// reviewed is the newest system call that the table below was made with. Newer
// ones don't exist for a plugin until somebody has looked at them.
const reviewed = unix.SYS_RSEQ_SLICE_YIELD // Linux 7.0

// refusals lists what is refused whatever the arguments. What depends on them is
// in conditions; what one architecture alone has is in olderCalls.
func refusals() []refusal {
	return []refusal{
		{"reaches other programs: a plugin is connected to, and asks the host for the network", unix.EPERM, []uint32{
			unix.SYS_CONNECT,
		}},
		{"makes system calls past the filter", unix.ENOSYS, []uint32{
			unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		}},
		{"its arguments are in memory, where a filter can't see them; libraries fall back to clone", unix.ENOSYS, []uint32{
			unix.SYS_CLONE3,
		}},
		{"reads or changes other processes", unix.EPERM, []uint32{
			unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
			unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN,
			unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
		}},
		{"leaves the process group, which the host ends as a whole", unix.EPERM, []uint32{
			unix.SYS_SETSID, unix.SYS_SETPGID,
		}},
		{"makes or enters namespaces and mounts, where files and users look different", unix.EPERM, []uint32{
			unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
			unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN,
			unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS,
		}},
		{"opens files without a path that Landlock could judge", unix.EPERM, []uint32{
			unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
		}},
		{"large parts of the kernel that need no right, and that attacks on it begin with", unix.EPERM, []uint32{
			unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
			unix.SYS_PERSONALITY, unix.SYS_LSM_SET_SELF_ATTR, unix.SYS_VHANGUP,
		}},
		{"objects that outlive the process, or that others share", unix.EPERM, []uint32{
			unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
			unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
			unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY,
		}},
		{"administers the machine, which needs rights that a plugin doesn't have anyway", unix.EPERM, []uint32{
			unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
			unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
			unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
			unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_NFSSERVCTL,
		}},
	}
}

// rules are what differs from one instance to another.
type rules struct {
	forks   bool   // it may be several processes
	alone   bool   // signals can't reach others: the kernel sees to that
	self    uint32 // the process's id, by its own count if that differs from the host's
	counted bool   // a control group counts memory that several processes share
}

// Offsets in the kernel's struct seccomp_data. Arguments have 64 bits, low half
// first on both architectures; the arguments looked at here are ints, of which
// the kernel itself takes the low half.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

// assemble makes the filter.
func assemble(r rules) ([]bpf.RawInstruction, error) {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}, // another architecture's numbers mean other calls
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
		// Newer ones, and on amd64 those of the x32 kind, whose numbers begin at 1<<30.
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: reviewed, SkipTrue: 1},
		deny(unix.ENOSYS),
	}
	for _, group := range append(refusals(), olderCalls(r)) {
		for _, number := range group.calls {
			program = append(program, on(number, deny(group.errno))...)
		}
	}
	for _, c := range conditions(r) {
		program = append(program, on(c.call, c.then...)...)
	}
	return bpf.Assemble(append(program, allow))
}

// condition is a system call that depends on its arguments. Its instructions
// return in every case.
type condition struct {
	call uint32
	then []bpf.Instruction
}

// on runs instructions where the call has this number.
func on(number uint32, then ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(then))},
	}, then...)
}

var allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

func deny(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func argument(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offsetArgs + 8*n, Size: 4} }

// conditions list what depends on arguments.
func conditions(r rules) []condition {
	list := []condition{
		// Unix streams are what the plugin is called over. Datagrams can be sent
		// to any socket without connect; other families reach the network.
		{unix.SYS_SOCKET, streamsOnly()},
		{unix.SYS_SOCKETPAIR, streamsOnly()},
		// A fork is a clone that isn't a thread.
		{unix.SYS_CLONE, clones(r)},
		// Its own limits only, as 0 or by its number.
		{unix.SYS_PRLIMIT64, selfOnly(r.self)},
		{unix.SYS_SCHED_SETAFFINITY, selfOnly(r.self)},
		{unix.SYS_SCHED_SETSCHEDULER, selfOnly(r.self)},
		{unix.SYS_SCHED_SETPARAM, selfOnly(r.self)},
		{unix.SYS_SCHED_SETATTR, selfOnly(r.self)},
		{unix.SYS_MIGRATE_PAGES, selfOnly(r.self)},
		{unix.SYS_MOVE_PAGES, selfOnly(r.self)},
		// It would no longer end with the host.
		{unix.SYS_PRCTL, refuse(0, unix.PR_SET_PDEATHSIG)},
		// Terminals take input from these; the others have the kernel send signals.
		{unix.SYS_IOCTL, refuse(1, unix.TIOCSTI, unix.TIOCLINUX, fiosetown, siocspgrp)},
		{unix.SYS_FCNTL, refuse(1, unix.F_SETOWN, unix.F_SETOWN_EX)},
	}
	if !r.alone {
		list = append(list,
			condition{unix.SYS_KILL, selfOnly(r.self)},
			condition{unix.SYS_TGKILL, selfOnly(r.self)},
			condition{unix.SYS_RT_SIGQUEUEINFO, selfOnly(r.self)},
			condition{unix.SYS_RT_TGSIGQUEUEINFO, selfOnly(r.self)},
			condition{unix.SYS_TKILL, selfOnly(r.self)},
			condition{unix.SYS_PIDFD_SEND_SIGNAL, []bpf.Instruction{deny(unix.ENOSYS)}})
	}
	if !r.counted { // the data limit counts private memory only
		list = append(list,
			condition{unix.SYS_MMAP, noSharedMemory()},
			condition{unix.SYS_MEMFD_CREATE, []bpf.Instruction{deny(unix.ENOSYS)}},
			condition{unix.SYS_MEMFD_SECRET, []bpf.Instruction{deny(unix.ENOSYS)}})
	}
	return list
}

// Requests of ioctl that package unix lacks.
const (
	fiosetown = 0x8901
	siocspgrp = 0x8902
)

// streamsOnly allows sockets of the unix family and the stream type.
func streamsOnly() []bpf.Instruction {
	const typeMask = 0xf // without SOCK_CLOEXEC and SOCK_NONBLOCK
	return []bpf.Instruction{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 3},
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: typeMask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
		deny(unix.EPERM),
		allow,
	}
}

// clones allows threads and, where there may be several processes, forks; never
// namespaces.
func clones(r rules) []bpf.Instruction {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	must := uint32(unix.CLONE_THREAD)
	if r.forks {
		must = ^uint32(0) // any flag: each fork names at least its signal
	}
	return []bpf.Instruction{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaces, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: must, SkipTrue: 1},
		deny(unix.EPERM),
		allow,
	}
}

// selfOnly allows a first argument, a process id, that is 0 or the process's own.
func selfOnly(self uint32) []bpf.Instruction {
	return []bpf.Instruction{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: self, SkipTrue: 1},
		deny(unix.EPERM),
		allow,
	}
}

// refuse refuses some values of an argument.
func refuse(arg uint32, values ...uint32) []bpf.Instruction {
	list := []bpf.Instruction{argument(arg)}
	for i, v := range values {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)})
	}
	return append(list, allow, deny(unix.EPERM))
}

// noSharedMemory refuses anonymous memory that isn't private.
func noSharedMemory() []bpf.Instruction {
	const shared = unix.MAP_SHARED | unix.MAP_ANONYMOUS // the bit of MAP_SHARED is also in MAP_SHARED_VALIDATE
	return []bpf.Instruction{
		argument(3),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: shared},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: shared, SkipTrue: 1},
		deny(unix.EPERM),
		allow,
	}
}
