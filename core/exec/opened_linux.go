package exec

import (
	"fmt"
	"os"
)

// opened is a path to an open folder, whatever is now at the path by which it was opened.
func opened(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
