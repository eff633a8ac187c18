//go:build !unix

package access

import "os"

// openOwn opens a file.
func openOwn(path string) (*os.File, error) { return os.Open(path) }

// whyUnsafe is the reason why an open file can't be used; "" if it can. On this system the folder,
// which belongs to its user, decides who else may read a file.
func whyUnsafe(file *os.File) string {
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "it isn't a plain file"
	}
	return ""
}

// syncFolder does nothing: folders can't be synced here.
func syncFolder(string) error { return nil }
