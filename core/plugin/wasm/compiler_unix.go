//go:build linux || darwin

package wasm

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// cpuGrace is how many seconds of processor time it has to say that it passed the
// limit of that, until the system ends it.
const cpuGrace = 2

// limitSelf puts the process under its limits. The system tells it where it passes that
// of processor time, and refuses it memory beyond the other, upon which Go's runtime
// ends it. On Linux it is also the first that the system ends where the machine's memory
// is short.
func limitSelf(l CompileLimits) error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	if raceDetector { // which computes for longer
		seconds *= 10
	}
	// What the system counts for this limit isn't what it reports of a process at its
	// end, by seconds on a busy machine. So the process says itself which limit it was.
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
	// Elsewhere than on Linux this counts less: what is mapped doesn't.
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

// ownGroup keeps the terminal's signals away: the host decides.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
