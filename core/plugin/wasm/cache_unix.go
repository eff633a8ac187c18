//go:build unix

package wasm

import (
	"io/fs"
	"os"
	"syscall"
)

// openToOthers reports whether other users than the one that this program runs as may
// write to a file, or could let themselves.
func openToOthers(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0
}
