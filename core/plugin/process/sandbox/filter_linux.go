//go:build amd64 || arm64

package sandbox

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refusal is a group of system calls that no plugin may make, why, and what they
// return: 0 is success, though nothing was done.
type refusal struct {
	reason string
	errno  unix.Errno
	calls  []uint32
	// plugins is whether only plugins may not make them: a program in a [Room] changes files,
	// processes and sockets of its own only.
	plugins bool
}

// reviewed is the newest system call that was known when the table below was made. For a
// plugin, newer calls don't exist until somebody has reviewed them.
const reviewed = unix.SYS_RSEQ_SLICE_YIELD // Linux 7.0

// refusals lists the calls that are refused with any arguments. Calls that depend on their
// arguments are in conditions; calls that only one architecture has are in olderCalls.
func refusals() []refusal {
	return []refusal{
		{"reaches other programs: a plugin is connected to, and asks the host for the network", unix.EPERM, []uint32{unix.SYS_CONNECT}, true},
		{"makes system calls past the filter", unix.ENOSYS, []uint32{
			unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		}, false},
		{"its arguments are in memory, where a filter can't see them; libraries fall back to clone", unix.ENOSYS, []uint32{unix.SYS_CLONE3}, false},
		{"reads or changes other processes", unix.EPERM, []uint32{
			unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
			unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN,
		}, false},
		{"changes the priority of other processes", unix.EPERM, []uint32{
			unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
		}, true},
		{"leaves the process group, which the host ends as a whole", unix.EPERM, []uint32{
			unix.SYS_SETSID, unix.SYS_SETPGID,
		}, true},
		{"makes or enters namespaces and mounts, where files and users look different", unix.EPERM, []uint32{
			unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
			unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN,
			unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS,
		}, false},
		{"changes owners of files, which Landlock doesn't judge: the host's user owns more than the plugin's folder", unix.EPERM, []uint32{
			unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		}, true},
		{"changes attributes of files, likewise; programs take it for a file system that has none", unix.EOPNOTSUPP, []uint32{
			unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
			unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
		}, true},
		{"changes times of files, likewise; programs that copy or unpack files would give up", 0, []uint32{unix.SYS_UTIMENSAT}, true},
		{"reads attributes of files, which Landlock doesn't judge: where a file was downloaded from is one of them", unix.EOPNOTSUPP, []uint32{
			unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_GETXATTRAT,
			unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR, unix.SYS_LISTXATTRAT,
		}, true},
		{"takes room on the disk beyond the end of a file, which no limit and no file's size shows; libraries write zeros instead", unix.EOPNOTSUPP, []uint32{unix.SYS_FALLOCATE}, true},
		{"watches files that it may not read", unix.EPERM, []uint32{
			unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_INOTIFY_RM_WATCH,
		}, true},
		{"its mode is in memory, where a filter can't see it; libraries fall back to openat", unix.ENOSYS, []uint32{unix.SYS_OPENAT2}, true},
		{"opens files without a path that Landlock could judge", unix.EPERM, []uint32{
			unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
		}, false},
		{"large parts of the kernel that need no right, and that attacks on it begin with", unix.EPERM, []uint32{
			unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
			unix.SYS_LSM_SET_SELF_ATTR, unix.SYS_VHANGUP,
		}, false},
		{"objects that outlive the process, or that others share", unix.EPERM, []uint32{
			unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
			unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
			unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY,
		}, true},
		{"queues of input and output, of which the machine has so many for all programs together", unix.ENOSYS, []uint32{unix.SYS_IO_SETUP}, false},
		{"administers the machine, which needs rights that a plugin doesn't have anyway", unix.EPERM, []uint32{
			unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
			unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
			unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
			unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_NFSSERVCTL,
		}, false},
	}
}

// rules are what differs between instances.
type rules struct {
	room    bool   // it is a program in a room; the rest doesn't matter then
	forks   bool   // it may be several processes
	alone   bool   // the kernel prevents signals to other processes
	self    uint32 // the process's id, by its own count if that differs from the host's
	counted bool   // a control group counts memory that several processes share
	cuts    bool   // Landlock decides who may truncate a file
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
		// Newer ones, and on amd64 calls of the x32 kind, whose numbers begin at 1<<30.
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: reviewed, SkipTrue: 1},
		deny(unix.ENOSYS),
	}
	for _, group := range append(refusals(), olderCalls(r)...) {
		if r.room && group.plugins {
			continue
		}
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

// on runs instructions if the call has this number.
func on(number uint32, then ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(then))},
	}, then...)
}

var (
	allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	// nothing makes the call do nothing and return success.
	nothing = deny(0)
)

func deny(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func argument(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offsetArgs + 8*n, Size: 4} }

// conditions lists the calls that depend on their arguments.
func conditions(r rules) []condition {
	if r.room {
		return roomConditions()
	}
	list := []condition{
		// Unix streams are what the plugin is called over. Datagrams can be sent
		// to any socket without connect; other families reach the network.
		{unix.SYS_SOCKET, streamsOnly()},
		{unix.SYS_SOCKETPAIR, streamsOnly()},
		{unix.SYS_SETSOCKOPT, usualBuffers()},
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
		// The process would no longer end with the host, or would hide its open files from the
		// host.
		{unix.SYS_PRCTL, refuse(0, unix.PR_SET_PDEATHSIG, unix.PR_SET_DUMPABLE)},
		{unix.SYS_PERSONALITY, []bpf.Instruction{deny(unix.EPERM)}},
		{unix.SYS_IOCTL, only(1, unix.ENOTTY, fileRequests()...)},
		{unix.SYS_FCNTL, only(1, unix.EPERM, fileCommands()...)},
		{unix.SYS_OPENAT, plainMode(2, 3)},
		{unix.SYS_MKDIRAT, plainMode(noFlags, 2)},
		{unix.SYS_MKNODAT, plainMode(noFlags, 2)},
		{unix.SYS_FCHMOD, sameMode(1)},
		{unix.SYS_FCHMODAT, sameMode(2)},
		{unix.SYS_FCHMODAT2, sameMode(2)},
		{unix.SYS_MMAP, countedMemory(r)},
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
			condition{unix.SYS_MEMFD_CREATE, []bpf.Instruction{deny(unix.ENOSYS)}},
			condition{unix.SYS_MEMFD_SECRET, []bpf.Instruction{deny(unix.ENOSYS)}},
			condition{unix.SYS_MAP_SHADOW_STACK, []bpf.Instruction{deny(unix.EOPNOTSUPP)}})
	}
	if !r.cuts { // it takes a path, so Landlock's right to write wouldn't be checked
		list = append(list, condition{unix.SYS_TRUNCATE, []bpf.Instruction{deny(unix.EPERM)}})
	}
	return append(list, olderConditions()...)
}

// fileRequests are the requests that ioctl allows: those that programs make for any file at
// their start. Others change attributes of files, write input for terminals, make the
// kernel send signals, or reach drivers. A file that doesn't support a request answers with
// the same ENOTTY.
func fileRequests() []uint32 {
	return []uint32{
		unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCINQ, fionbio, fioclex, fionclex,
	}
}

// Requests of ioctl that package unix lacks, the same on both architectures.
const (
	fionbio  = 0x5421
	fioclex  = 0x5451
	fionclex = 0x5450
)

// fileCommands are the commands that fcntl allows: for descriptors, their flags, and locks.
// Others enlarge pipes, watch folders, delay processes that open a file, set hints that
// stay with it, or make the kernel send signals.
func fileCommands() []uint32 {
	return []uint32{
		unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_DUPFD_QUERY, unix.F_CREATED_QUERY, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
		unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW,
		unix.F_GETOWN, unix.F_GETPIPE_SZ, unix.F_GET_SEALS, unix.F_ADD_SEALS,
	}
}

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

// clones allows threads and, if several processes are allowed, forks; never namespaces.
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
	return match(arg, values, deny(unix.EPERM), allow)
}

// only refuses all values of an argument but some.
func only(arg uint32, errno unix.Errno, values ...uint32) []bpf.Instruction {
	return match(arg, values, allow, deny(errno))
}

// match returns then if an argument has one of some values, and fallback otherwise.
func match(arg uint32, values []uint32, then, fallback bpf.Instruction) []bpf.Instruction {
	list := []bpf.Instruction{argument(arg)}
	for i, v := range values {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)})
	}
	return append(list, fallback, then)
}

// noFlags is the place of the flags of a call that always makes a file.
const noFlags = ^uint32(0)

// plainMode refuses to make a file that runs as its owner or group. The flags show whether
// a file is made at all, and so whether the mode has a meaning.
func plainMode(flags, mode uint32) []bpf.Instruction {
	const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	var list []bpf.Instruction
	if flags != noFlags {
		list = append(list,
			argument(flags),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: makes, SkipTrue: 1},
			allow)
	}
	return append(list,
		argument(mode),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.S_ISUID | unix.S_ISGID, SkipTrue: 1},
		deny(unix.EPERM),
		allow)
}

// sameMode leaves a file's mode unchanged. Landlock doesn't check these calls, and a filter
// sees neither path nor owner. Programs set modes of their own files when they copy, unpack
// and lock, and give up if that fails. In a folder that is closed to others, and from which
// nothing can be executed, a mode has no effect. So the call returns success, except for a
// mode with which the file would run as its owner or group.
func sameMode(mode uint32) []bpf.Instruction {
	return []bpf.Instruction{
		argument(mode),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.S_ISUID | unix.S_ISGID, SkipTrue: 1},
		deny(unix.EPERM),
		nothing,
	}
}

// usualBuffers refuses to change the size of a socket's buffers, which are the kernel's
// memory.
func usualBuffers() []bpf.Instruction {
	return append([]bpf.Instruction{
		argument(1),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOL_SOCKET, SkipTrue: 1},
		allow,
	}, refuse(2, unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_SNDBUFFORCE, unix.SO_RCVBUFFORCE)...)
}

// countedMemory refuses memory that no limit counts: memory that grows like a stack, which
// the data limit leaves out, and, without a control group, anonymous memory that isn't
// private.
func countedMemory(r rules) []bpf.Instruction {
	const shared = unix.MAP_SHARED | unix.MAP_ANONYMOUS // the bit of MAP_SHARED is also in MAP_SHARED_VALIDATE
	list := []bpf.Instruction{
		argument(3),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.MAP_GROWSDOWN, SkipTrue: 1},
		deny(unix.EPERM),
	}
	if !r.counted {
		list = append(list,
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: shared},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: shared, SkipTrue: 1},
			deny(unix.EPERM))
	}
	return append(list, allow)
}
