//go:build !unix

package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const nonBlocking = 0

// lockWait is how long to wait while another program changes the lock.
const lockWait = 10 * time.Second

// exclusive waits until this program alone holds a folder, by means of a file in it. A
// program that was killed leaves the file behind; the error then names it.
func exclusive(dir string) (release func(), err error) {
	path := filepath.Join(dir, "."+LockFile+".held")
	for deadline := time.Now().Add(lockWait); ; {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return func() { _ = errors.Join(f.Close(), os.Remove(path)) }, nil
		}
		if !errors.Is(err, fs.ErrExist) || time.Now().After(deadline) {
			return nil, err
		}
		<-time.After(10 * time.Millisecond)
	}
}

// syncFolder does nothing: folders can't be synced here.
func syncFolder(string) error { return nil }

func ours(fs.FileInfo) bool { return false }

func holdPrivate(string) (release func(), err error) { return func() {}, nil }

// It can't be known here whether a folder was abandoned, so nothing is swept.
func abandoned(string) bool { return false }

func privateModes() modes { return modes{dir: 0o700, file: 0o500} }

func isExecutable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}
