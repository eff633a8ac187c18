package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// folderName is the name of a private folder. Its number is random.
var folderName = regexp.MustCompile(`^reflectory-i([0-9]{1,10})$`)

// folder is a private folder. Its host keeps it locked for as long as the host runs, so
// that other hosts know that it isn't abandoned. The lock is on the folder itself, so the
// plugin, which owns the contents, can't affect it.
type folder struct {
	path   string
	number uint64
	lock   *os.File
}

// newFolder makes a folder, mode 0700.
func newFolder(parent string) (*folder, error) {
	for {
		path, err := os.MkdirTemp(parent, "reflectory-i")
		if err != nil {
			return nil, err
		}
		lock, err := lockFolder(path)
		if errors.Is(err, errTaken) {
			continue // another host swept it as abandoned
		}
		if err != nil {
			_ = os.Remove(path)
			return nil, err
		}
		number, _ := strconv.ParseUint(folderName.FindStringSubmatch(filepath.Base(path))[1], 10, 64)
		return &folder{path: path, number: number, lock: lock}, nil
	}
}

// Enterable is whether every user may enter a folder. It is true if the host isn't root,
// since that doesn't matter then.
func Enterable(dir string) bool {
	if os.Geteuid() != 0 {
		return true
	}
	dir, err := filepath.Abs(dir)
	for err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return err == nil
		}
		dir = filepath.Dir(dir)
	}
	return false
}

// errTaken means that a folder is locked by another host, or gone.
var errTaken = errors.New("the folder is taken")

func (f *folder) name() string { return filepath.Base(f.path) }

// chown makes the folder belong to a user.
func (f *folder) chown(user uint32) error { return os.Chown(f.path, int(user), int(user)) }

func (f *folder) remove() {
	removeTree(f.path)
	_ = f.lock.Close()
}

// sweep removes the folders of killed hosts: folders with our kind of name that are closed
// to others, belong to this user or to an instance's user, and are locked by nobody.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // making the next folder reports the problem
	}
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if !folderName.MatchString(e.Name()) || !ours(path) {
			continue
		}
		_ = os.Chmod(path, 0o700) //nolint:gosec // its original mode: without rights it can't be locked
		lock, err := lockFolder(path)
		if err != nil {
			continue
		}
		removeGroups(e.Name())
		removeTree(path)
		_ = lock.Close()
	}
	sweepGroups()
}

// ours is whether a path is a private folder that this host may remove. The owner's own
// rights don't matter: a plugin may have removed them.
func ours(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0 && info.Mode()&fs.ModeSticky == 0 && owned(info)
}
