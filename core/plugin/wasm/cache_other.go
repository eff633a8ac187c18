//go:build !unix

package wasm

import "io/fs"

// openToOthers is left to the system's own rules, which a file's mode doesn't show.
func openToOthers(fs.FileInfo) bool { return false }
