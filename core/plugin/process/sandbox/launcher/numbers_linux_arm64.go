package launcher

// Numbers that package syscall lacks.
const (
	sysSeccomp  = 277
	sysExecveat = 281
)
