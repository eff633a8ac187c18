// Package plainfile reads files that users name: never blocking on what isn't a plain file,
// within a limit, and with an error that says what to do.
//
// It is internal to Reflectory: its API may change in any release.
package plainfile

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reflectory/reflectory/sdk"
)

// Read reads a plain file of up to limit bytes, and never blocks: a named pipe, a
// device or a folder is refused. If there is no such file, the error is sdk.NotFound,
// reason "file_not_found", and fs.ErrNotExist; if it is larger, sdk.Exhausted,
// "file_too_large"; otherwise sdk.Invalid, "file_unreadable".
func Read(path string, limit int64) ([]byte, error) {
	return readPlain(os.OpenFile, path, path, limit)
}

// ReadIn is [Read] within a folder. Links that lead out of the folder aren't
// followed.
func ReadIn(folder *os.Root, name string, limit int64) ([]byte, error) {
	return readPlain(folder.OpenFile, name, filepath.Join(folder.Name(), name), limit)
}

// readPlain opens the file without blocking: opening a named pipe would otherwise wait
// for a writer before the file's kind is known. path is the file's place, for hints.
func readPlain(open func(string, int, fs.FileMode) (*os.File, error), name, path string, limit int64) ([]byte, error) {
	file, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unopened(name, path, err)
	}
	defer func() { _ = file.Close() }() // only reads
	if err := refuse(file, name, func(m fs.FileMode) bool { return !m.IsRegular() }); err != nil {
		return nil, err
	}
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size() // it may grow or shrink while it is read
	}
	return readAll(name, file, size, limit)
}

// ReadInput reads an input that the user named, of up to limit bytes, as [OpenInput]
// opens it. Its errors are [Read]'s.
func ReadInput(path string, limit int64) ([]byte, error) {
	file, err := OpenInput(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only reads
	return ReadAll(path, file, limit)
}

// OpenInput opens an input that the user named: a file, or a stream such as a pipe from
// the shell. For a pipe it waits until there is a writer. A folder is refused. The
// caller limits what it reads. Its errors are [Read]'s.
func OpenInput(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unopened(path, path, err)
	}
	if err := refuse(file, path, fs.FileMode.IsDir); err != nil {
		_ = file.Close() // only reads
		return nil, err
	}
	return file, nil
}

// ReadAll reads a stream of up to limit bytes. A longer one is sdk.Exhausted,
// reason "file_too_large". The name is for messages.
func ReadAll(name string, r io.Reader, limit int64) ([]byte, error) {
	return readAll(name, r, 0, limit)
}

// readAll is ReadAll for a stream of about size bytes.
func readAll(name string, r io.Reader, size, limit int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, min(max(size, 0), limit+1)+bytes.MinRead)) // so that it needn't grow
	_, err := data.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	if int64(data.Len()) > limit {
		return nil, sdk.Errorf(sdk.Exhausted, "file_too_large", "%s has more than %d bytes", name, limit).
			WithHint("check that this is the right input, and make it smaller").WithDetail("most", limit)
	}
	return data.Bytes(), nil
}

// refuse refuses a file of an unwanted kind.
func refuse(file *os.File, name string, unwanted func(fs.FileMode) bool) error {
	info, err := file.Stat()
	if err != nil {
		return unreadable(name, err)
	}
	if mode := info.Mode(); unwanted(mode) {
		hint := "put a plain file there, or choose another file"
		if inside, _ := filepath.Glob(filepath.Join(name, "*.yaml")); mode.IsDir() && len(inside) > 0 {
			hint = "name a file in it, such as " + strings.Join(inside[:min(len(inside), maxInside)], " or ")
		}
		return sdk.Errorf(sdk.Invalid, "file_unreadable", "can't read %s: it is %s", name, kindOf(mode)).WithHint("%s", hint)
	}
	return nil
}

// maxInside is how many files of a folder are named that was given in place of a file.
const maxInside = 3

// kindOf describes a file that isn't a plain file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no plain file"
}

func unopened(name, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		missing := sdk.Errorf(sdk.NotFound, "file_not_found", "there is no file %s", cmp.Or(name, `""`)).
			WithHint("%s", whereToLook(path))
		missing.Err = err
		return missing
	}
	return unreadable(name, err)
}

// maxNames is how many names in a folder are compared with a misspelt one.
const maxNames = 1000

// whereToLook describes where a file was looked for: the folder is missing, has a file
// with a similar name, or neither.
func whereToLook(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "give its full path"
	}
	folder, err := os.Open(dir)
	if err != nil {
		return "there is no folder " + dir
	}
	defer func() { _ = folder.Close() }() // only reads
	if base := filepath.Base(path); strings.ContainsAny(base, "*?[") {
		return "write it without quotes, so that the shell replaces " + base + " by the files that there are; none matches if it stays"
	}
	names, _ := folder.Readdirnames(maxNames)
	return sdk.DidYouMean(filepath.Base(path), names, "it was looked for in "+dir)
}

func unreadable(name string, err error) error {
	if sdk.CodeOf(err) == sdk.Cancelled {
		return err
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // which names the file again
	}
	hint := "check its permissions"
	if errors.Is(err, syscall.ENOTDIR) {
		hint = "a part of its path is a file, not a folder"
	}
	return sdk.Errorf(sdk.Invalid, "file_unreadable", "can't read %s: %w", name, err).WithHint("%s", hint)
}
