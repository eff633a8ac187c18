//go:build !unix

package term

import "os"

// columns is how wide a terminal is, 0 where that isn't known.
func columns(*os.File) int { return 0 }
