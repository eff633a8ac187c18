//go:build !unix

package term

import "os"

// columns is the width of a terminal; 0 if it isn't known.
func columns(*os.File) int { return 0 }
