package sandbox

import "golang.org/x/sys/unix"

// NoExec reports whether a path is on a file system from which nothing may be executed
// (mounted with noexec).
func NoExec(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0
}
