package plainfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// fileReaders are the ways to read a file of a folder, within a bound.
func fileReaders(t *testing.T, dir string) map[string]func(name string, limit int64) ([]byte, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return map[string]func(string, int64) ([]byte, error){
		"ReadFile": func(name string, limit int64) ([]byte, error) { return plainfile.Read(filepath.Join(dir, name), limit) },
		"ReadInput": func(name string, limit int64) ([]byte, error) {
			return plainfile.ReadInput(filepath.Join(dir, name), limit)
		},
		"ReadFileIn": func(name string, limit int64) ([]byte, error) { return plainfile.ReadIn(root, name, limit) },
	}
}

// wantRefusal wants an error that says why and what to do.
func wantRefusal(t *testing.T, what string, err error, reason string, says ...string) {
	t.Helper()
	e := sdk.AsError(err)
	if e == nil || e.Reason != reason || e.Hint == "" {
		t.Errorf("%s: %v, want %s with a hint", what, err, reason)
		return
	}
	for _, s := range says {
		if !strings.Contains(e.Message, s) {
			t.Errorf("%s: %q isn't in %q", what, s, e.Message)
		}
	}
}

func TestAFileIsReadUpToItsBound(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "five"), []byte("12345"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, read := range fileReaders(t, dir) {
		if data, err := read("five", 5); err != nil || string(data) != "12345" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		_, err := read("five", 4)
		wantRefusal(t, name, err, "file_too_large", "five", "more than 4 bytes")
		_, err = read("folder", 5)
		wantRefusal(t, name, err, "file_unreadable", "folder", "it is a folder")
		_, err = read("nothing", 5)
		wantRefusal(t, name, err, "file_not_found", "there is no file", "nothing")
		if !errors.Is(err, fs.ErrNotExist) || sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("%s: %v isn't fs.ErrNotExist", name, err)
		}
		_, err = read("five/below", 5)
		wantRefusal(t, name, err, "file_unreadable", "below")
	}
}

func TestAFileIsReadWithinItsFolder(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("s"), 0o600), os.Symlink(outside, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for name, read := range fileReaders(t, dir) {
		data, err := read("link", 5)
		if name == "ReadFileIn" {
			wantRefusal(t, name, err, "file_unreadable", "link")
		} else if err != nil || string(data) != "s" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

func TestAStreamIsReadUpToItsBound(t *testing.T) {
	if data, err := plainfile.ReadAll("standard input", strings.NewReader("abc"), 3); err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
	_, err := plainfile.ReadAll("standard input", strings.NewReader("abcd"), 3)
	wantRefusal(t, "a long one", err, "file_too_large", "standard input has more than 3 bytes")
}
