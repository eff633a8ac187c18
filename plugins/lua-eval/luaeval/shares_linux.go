package luaeval

import "syscall"

// dataLimit returns the limit on the data of this process, or 0 if there is none.
func dataLimit() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &limit); err != nil || limit.Cur >= 1<<40 {
		return 0
	}
	return int64(limit.Cur)
}
