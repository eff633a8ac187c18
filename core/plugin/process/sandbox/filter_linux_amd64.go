package sandbox

import "golang.org/x/sys/unix"

// auditArch is the architecture whose numbers the filter knows.
const auditArch = unix.AUDIT_ARCH_X86_64

// olderCalls are refused here and don't exist on newer architectures.
func olderCalls(r rules) refusal {
	calls := []uint32{
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
	}
	if !r.forks {
		calls = append(calls, unix.SYS_FORK, unix.SYS_VFORK)
	}
	return refusal{"what newer architectures do by other calls, or not at all", unix.EPERM, calls}
}
