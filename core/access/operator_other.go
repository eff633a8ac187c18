//go:build !unix

package access

import "os"

// openOwn opens a file.
func openOwn(path string) (*os.File, error) { return os.Open(path) }

// whyUnsafe says why an open file can't be used; "" is that it can. Here, who else may read
// a file is what its folder says, which belongs to its user.
func whyUnsafe(file *os.File) string {
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "it isn't a plain file"
	}
	return ""
}

// syncFolder does nothing: folders can't be synced here.
func syncFolder(string) error { return nil }
