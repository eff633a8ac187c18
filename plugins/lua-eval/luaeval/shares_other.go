//go:build !linux

package luaeval

// dataLimit returns 0: the host limits the data of a plugin on Linux alone.
func dataLimit() int64 { return 0 }
