//go:build !linux

package sandbox

// NoExec reports whether a path is on a file system from which nothing may be executed: here
// that isn't known.
func NoExec(string) bool { return false }
