//go:build linux || darwin

package wasm

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// limitSelf puts the process under its limits. The system ends it where it passes
// that of processor time, and refuses it memory beyond the other, upon which Go's
// runtime ends it. On Linux it is also the first that the system ends where the
// machine's memory is short.
func limitSelf(l CompileLimits) error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	if raceDetector { // which computes for longer
		seconds *= 10
	}
	if err := setLimit(syscall.RLIMIT_CPU, seconds); err != nil {
		return compilerFailed("limit its processor time: %w", err)
	}
	if runtime.GOOS == "linux" {
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	}
	if raceDetector { // which maps its own memory, without end
		return nil
	}
	// Elsewhere than on Linux this counts less: what is mapped doesn't.
	if err := setLimit(syscall.RLIMIT_DATA, uint64(l.MemoryBytes)); err != nil {
		return compilerFailed("limit its memory: %w", err)
	}
	return nil
}

func setLimit(resource int, n uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	now.Cur = min(n, now.Max)
	now.Max = now.Cur
	return syscall.Setrlimit(resource, &now)
}

// ownGroup keeps the terminal's signals away: the host decides.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
