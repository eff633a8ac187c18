package sandbox

import "golang.org/x/sys/unix"

// auditArch is the architecture whose numbers the filter knows.
const auditArch = unix.AUDIT_ARCH_X86_64

// olderCalls are refused here and don't exist on newer architectures.
func olderCalls(r rules) []refusal {
	list := []refusal{
		{"what newer architectures do by other calls, or not at all", unix.EPERM, []uint32{
			unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS__SYSCTL,
			unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
		}, false},
		{"changes or watches files, as the calls do that replaced it", unix.EPERM, []uint32{
			unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_INOTIFY_INIT,
		}, true},
		{"changes times of files, as the call does that replaced it", 0, []uint32{
			unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
		}, true},
	}
	if !r.forks {
		list = append(list, refusal{"forks", unix.EPERM, []uint32{unix.SYS_FORK, unix.SYS_VFORK}, true})
	}
	return list
}

// olderConditions are the conditions of calls that don't exist on newer architectures.
func olderConditions() []condition {
	return []condition{
		{unix.SYS_OPEN, plainMode(1, 2)},
		{unix.SYS_CREAT, plainMode(noFlags, 1)},
		{unix.SYS_MKDIR, plainMode(noFlags, 1)},
		{unix.SYS_MKNOD, plainMode(noFlags, 1)},
		{unix.SYS_CHMOD, sameMode(1)},
	}
}
