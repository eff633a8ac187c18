//go:build !unix

package config

import "io/fs"

// ownerOf knows no owners on this system, whose files have other rules.
func ownerOf(fs.FileInfo) (user, group uint32, known bool) { return 0, 0, false }
