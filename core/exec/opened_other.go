//go:build !linux

package exec

import "os"

// opened is the path by which a folder was opened.
func opened(f *os.File) string { return f.Name() }
