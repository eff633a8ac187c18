package launcher

// Numbers that package syscall lacks.
const (
	sysSeccomp  = 317
	sysExecveat = 322
)
