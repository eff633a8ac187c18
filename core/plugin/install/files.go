package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/reflectory/reflectory/sdk"
)

// Bounds of a package: an interpreter's program with all that it needs.
const (
	maxFiles     = 10_000
	maxFileName  = 255
	maxDepth     = 16
	maxFileBytes = 1 << 30
	maxBytes     = 2 << 30
)

// digests are the SHA-256 of the files of a package, in hexadecimal, by name.
type digests = map[string]string

// contents is the digest of a whole package: the digest of the list of its files.
func contents(files digests) string {
	sum := sha256.Sum256(listing(files))
	return hex.EncodeToString(sum[:])
}

// listing is the list of a package's files as sha256sum prints it, sorted by
// name: what is signed, and what a copy's folder is named after.
func listing(files digests) []byte {
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&list, "%s  %s\n", files[name], name)
	}
	return []byte(list.String())
}

// folder is an opened folder of a package. Nothing outside of it can be reached
// through it.
type folder struct {
	path string
	root *os.Root
}

func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sdk.Errorf(sdk.NotFound, "package_not_found", "there is no folder %s", dir)
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "package_unreadable", "can't open the folder %s: %w", dir, err)
	}
	return &folder{dir, root}, nil
}

func (f *folder) close() { _ = f.root.Close() } // only reads

// names lists the files of the package, sorted. Anything that is neither a file
// nor a folder is refused, symbolic links among it.
func (f *folder) names() ([]string, error) {
	var names []string
	err := fs.WalkDir(f.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return sdk.Errorf(sdk.Invalid, "package_unreadable", "can't read %s: %w", path.Join(f.path, name), err)
		case name != "." && !isFileName(name):
			return f.bad(name, "its name is not one that every platform can have")
		case strings.Count(name, "/") >= maxDepth:
			return f.bad(name, fmt.Sprintf("it lies more than %d folders deep", maxDepth))
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return f.bad(name, "it is a symbolic link: put the file itself there")
		case !entry.Type().IsRegular():
			return f.bad(name, "it is no file")
		case len(names) == maxFiles:
			return sdk.Errorf(sdk.Exhausted, "package_too_large", "the folder %s holds more than %d files", f.path, maxFiles).
				WithHint("name the plugin's own folder, with its built files only")
		}
		names = append(names, name)
		return nil
	})
	slices.Sort(names) // the walk lists a/x before a-b/x
	return names, err
}

func (f *folder) bad(name, why string) error {
	return sdk.Errorf(sdk.Denied, "package_file_refused", "%s in the folder %s can't be a part of a package: %s", fmt.Sprintf("%q", name), f.path, why).
		WithHint("remove it from the folder")
}

// digest hashes one file, and copies it to w on the way unless that is nil.
func (f *folder) digest(name string, w io.Writer) (sum string, size int64, err error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", 0, sdk.Errorf(sdk.Invalid, "package_unreadable", "can't read %s of the folder %s: %w", name, f.path, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", 0, f.bad(name, "it is no file")
	}
	h := sha256.New()
	into := io.Writer(h)
	if w != nil {
		into = io.MultiWriter(h, w)
	}
	size, err = io.CopyBuffer(into, io.LimitReader(file, maxFileBytes+1), make([]byte, 128<<10))
	switch {
	case err != nil:
		return "", 0, sdk.Errorf(sdk.Unavailable, "package_unreadable", "copy %s of the folder %s: %w", name, f.path, err)
	case size > maxFileBytes:
		return "", 0, sdk.Errorf(sdk.Exhausted, "package_too_large", "%s in the folder %s has more than %d bytes", name, f.path, maxFileBytes)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// hash hashes every file.
func (f *folder) hash(ctx context.Context) (digests, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	return f.each(ctx, names, func(name string) (string, int64, error) { return f.digest(name, nil) })
}

// copy copies every file into a folder, and returns the digests of what it wrote.
func (f *folder) copy(ctx context.Context, to *os.Root, m modes) (digests, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	return f.each(ctx, names, func(name string) (string, int64, error) { return f.copyFile(name, to, m) })
}

// each calls a function for each file in turn, up to the size limit of a package.
func (f *folder) each(ctx context.Context, names []string, take func(name string) (string, int64, error)) (digests, error) {
	files, total := make(digests, len(names)), int64(0)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum, size, err := take(name)
		if err != nil {
			return nil, err
		}
		if total += size; total > maxBytes {
			return nil, sdk.Errorf(sdk.Exhausted, "package_too_large", "the folder %s holds more than %d bytes", f.path, maxBytes).
				WithHint("name the plugin's own folder, with its built files only")
		}
		files[name] = sum
	}
	return files, nil
}

// modes are the permissions of copies.
type modes struct{ dir, file fs.FileMode }

// copyFile copies one file and hashes what it writes.
//
// No program is forked meanwhile: a child that holds the open file until it
// executes would make the copy's own execution fail (text file busy).
func (f *folder) copyFile(name string, to *os.Root, m modes) (sum string, size int64, err error) {
	if err := makeFolders(to, path.Dir(name), m.dir); err != nil {
		return "", 0, copyFailed(name, err)
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, m.file)
	if err != nil {
		return "", 0, copyFailed(name, err)
	}
	if sum, size, err = f.digest(name, out); err == nil {
		err = out.Chmod(m.file) // whatever the umask is
	}
	if closed := out.Close(); err == nil && closed != nil {
		err = copyFailed(name, closed)
	}
	return sum, size, err
}

// makeFolders makes a folder with those above it, with a mode whatever the umask is.
func makeFolders(root *os.Root, dir string, mode fs.FileMode) error {
	if dir == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(dir), mode); err != nil {
		return err
	}
	err := root.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, root.Chmod(dir, mode))
}

func copyFailed(name string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "package_copy_failed", "can't copy %s: %w", name, err).
		WithHint("check the disk that holds TMPDIR and the data folder")
}
