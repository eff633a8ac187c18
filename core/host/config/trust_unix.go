//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

// ownerOf is the user and the group of a file.
func ownerOf(info fs.FileInfo) (user, group uint32, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return stat.Uid, stat.Gid, true
}
