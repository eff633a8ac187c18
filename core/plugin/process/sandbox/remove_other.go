//go:build !linux && !darwin

package sandbox

import "os"

// removeTree removes a folder.
func removeTree(path string) { _ = os.RemoveAll(path) }
