//go:build linux

package process_test

import "golang.org/x/sys/unix"

// olderAttributeCalls are those that newer architectures don't have.
func olderAttributeCalls(times uintptr) []attempt {
	return []attempt{
		{"chmod", unix.SYS_CHMOD, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, 0o777} }},
		{"chown", unix.SYS_CHOWN, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, ^uintptr(0), ^uintptr(0)} }},
		{"lchown", unix.SYS_LCHOWN, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, ^uintptr(0), ^uintptr(0)} }},
		{"utime", unix.SYS_UTIME, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, 0} }},
		{"utimes", unix.SYS_UTIMES, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, times} }},
		{"futimesat", unix.SYS_FUTIMESAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{^uintptr(99), p, times} }},
		{"inotify_init", unix.SYS_INOTIFY_INIT, func(_, _ uintptr) [5]uintptr { return [5]uintptr{} }},
	}
}
