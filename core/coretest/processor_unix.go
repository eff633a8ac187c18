//go:build unix

package coretest

import (
	"syscall"
	"time"
)

// ProcessorTime is how long the process has computed so far: what something took
// of it says more than the clock where others use the machine too. It is 0 where
// the system doesn't tell.
func ProcessorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
