//go:build linux || darwin

package wasm

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// cpuGrace is how many seconds of processor time it has to report that it exceeded that
// limit, before the system ends it.
const cpuGrace = 2

// limitSelf sets the limits of the process. The system sends it a signal when it exceeds its
// processor time, and refuses memory beyond the other limit, upon which Go's runtime ends it.
// On Linux it is also the first process that the system ends when the machine runs out of
// memory.
func limitSelf(l CompileLimits) error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	if raceDetector { // which computes for longer
		seconds *= 10
	}
	// On a busy machine the processor time that the system counts for this limit differs by
	// seconds from what it reports at the end of a process. So the process itself reports
	// which limit it exceeded.
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXCPU)
	go func() {
		<-over
		os.Exit(exitCPU)
	}()
	if err := setLimit(syscall.RLIMIT_CPU, seconds, seconds+cpuGrace); err != nil {
		return compilerFailed("limit its processor time: %w", err)
	}
	if runtime.GOOS == "linux" {
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	}
	if raceDetector { // which maps its own memory, without end
		return nil
	}
	// On other systems than Linux this bounds less: mapped memory doesn't count.
	if err := setLimit(syscall.RLIMIT_DATA, uint64(l.MemoryBytes), uint64(l.MemoryBytes)); err != nil {
		return compilerFailed("limit its memory: %w", err)
	}
	return nil
}

func setLimit(resource int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	now.Max = min(hard, now.Max)
	now.Cur = min(soft, now.Max)
	return syscall.Setrlimit(resource, &now)
}

// ownGroup keeps the terminal's signals from it: the host decides when it ends.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
