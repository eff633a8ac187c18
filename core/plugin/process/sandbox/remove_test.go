//go:build linux || darwin

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestAFolderIsRemovedWhateverIsInIt(t *testing.T) {
	for name, fill := range map[string]func(dir string) error{
		"nothing": func(string) error { return nil },
		"files":   func(dir string) error { return fill(dir, 3000, 0) },
		"a link to another folder": func(dir string) error {
			return os.Symlink(filepath.Dir(dir), filepath.Join(dir, "link"))
		},
		"folders closed to their owner": func(dir string) error {
			path := filepath.Join(dir, "a", "b", "c")
			if err := fill(path, 3, 0); err != nil {
				return err
			}
			for ; path != dir; path = filepath.Dir(path) {
				if err := os.Chmod(path, 0); err != nil {
					return err
				}
			}
			return os.Chmod(dir, 0)
		},
		"folders deeper than descriptors and paths reach": func(dir string) error { return nested(dir, 2000) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "private")
			beside := filepath.Join(filepath.Dir(dir), "beside")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(beside, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := fill(dir); err != nil {
				t.Fatal(err)
			}
			removeTree(dir)
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("it is still there: %v", err)
			}
			if _, err := os.Lstat(beside); err != nil {
				t.Errorf("what isn't in it is gone: %v", err)
			}
		})
	}
}

// Modes keep root out of nothing, so the same is tried as somebody who isn't.
func TestAFolderIsRemovedByAnOrdinaryUser(t *testing.T) {
	coretest.Long(t)
	if os.Getuid() != 0 {
		t.Skip("this user is one: TestAFolderIsRemovedWhateverIsInIt was that")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/tmp", "rt") // which others may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	const user = 54321
	tests := filepath.Join(home, "tests")
	if err := os.WriteFile(tests, program, 0o755); err != nil { //nolint:gosec // it is to be run by others
		t.Fatal(err)
	}
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tests, "-test.run=^TestAFolderIsRemovedWhateverIsInIt$")
	cmd.Dir, cmd.Env = home, []string{"TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as user %d: %v\n%s", user, err, out)
	}
}

// nested makes folders in folders.
func nested(dir string, depth int) error {
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for ; err == nil && depth > 0; depth-- {
		var next int
		if err = unix.Mkdirat(at, "in", 0o700); err != nil {
			break
		}
		next, err = unix.Openat(at, "in", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		_ = unix.Close(at)
		at = next
	}
	return err
}
