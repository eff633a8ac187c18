//go:build unix

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is how wide a terminal is, 0 where that isn't known.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
