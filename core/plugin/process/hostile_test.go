//go:build linux

package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// hostile are the tests that hold for a host of any user.
func hostile(t *testing.T) {
	t.Run("attributes", hostileAttributes)
	t.Run("set-uid files", hostileSetUID)
	t.Run("sealed folders", hostileSealed)
	t.Run("deep folders", hostileDeep)
	t.Run("left folders", hostileLeft)
}

func TestAHostilePlugin(t *testing.T) { hostile(t) }

// ordinaryUser is somebody who owns nothing on any system.
const ordinaryUser = 54321

// TestAHostilePluginOfAnOrdinaryUser runs the same tests as a user who isn't
// root: Landlock doesn't keep a plugin from the user's files in all regards there,
// and it has no user of its own.
func TestAHostilePluginOfAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // TestAHostilePlugin was that
	}
	asOrdinaryUser(t, nil)
}

// asOrdinaryUser runs TestAHostilePlugin in a process of an ordinary user's, after
// prepare had its turn with the process that waits to begin.
func asOrdinaryUser(t *testing.T, prepare func(cmd *exec.Cmd, home string)) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "rt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestAHostilePlugin$", "-test.v")
	cmd.Dir, cmd.Env = home, []string{"TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	if prepare != nil {
		prepare(cmd, home)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAHostilePlugin ") {
		t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
	}
}

// startHostile starts a plugin in the strictest mode the system allows.
func startHostile(t *testing.T, dir string, change func(*plugin.Installed)) plugin.Instance {
	t.Helper()
	p := self(t, "serve")
	if change != nil {
		change(&p)
	}
	mode := sandbox.Require
	if !sandbox.Probe().Holds() {
		mode = sandbox.Prefer
	}
	return start(t, process.Options{Sandbox: mode, TempDir: dir}, p)
}

// ofHost makes a folder of the host's user with a file, and returns a state of
// both that changes with every change of either.
func ofHost(t *testing.T) (dir, file string, state func() string) {
	t.Helper()
	dir = openDir(t)
	file = writeFile(t, filepath.Join(dir, "file"), "of the host")
	return dir, file, func() string {
		var b strings.Builder
		for _, path := range []string{dir, file} {
			var s unix.Stat_t
			if err := unix.Stat(path, &s); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %o %d %d %d %d %d\n", path, s.Mode, s.Uid, s.Gid, s.Size, s.Mtim, s.Ctim)
		}
		return b.String()
	}
}

func hostileAttributes(t *testing.T) {
	dir, file, state := ofHost(t)
	granted, beneath, stateOfGranted := ofHost(t)
	i := startHostile(t, shortTempDir(t), func(p *plugin.Installed) { p.Granted.FS = []string{granted} })
	if s := holds(i); !s.Seccomp || s.Landlock == 0 {
		return // the status says so
	}
	before, beforeGranted := state(), stateOfGranted()
	for _, path := range []string{dir, file, granted, beneath} {
		if got := try(t, i, "touch", path); got != "got: {}" {
			t.Errorf("%s: these weren't refused: %s", path, got)
		}
	}
	if after := state(); after != before {
		t.Errorf("it was\n%snow it is\n%s", before, after)
	}
	if after := stateOfGranted(); after != beforeGranted {
		t.Errorf("it was\n%snow it is\n%s", beforeGranted, after)
	}
}

func hostileSetUID(t *testing.T) {
	i := startHostile(t, shortTempDir(t), nil)
	if got := try(t, i, "set-uid", ""); holds(i).Seccomp && got != "got: []" {
		t.Errorf("it made files that run as their owner: %s", got)
	}
}

func hostileSealed(t *testing.T) {
	dir := shortTempDir(t)
	i := startHostile(t, dir, nil)
	if got := try(t, i, "seal", ""); got != "got: sealed" {
		t.Fatal(got)
	}
	i.Kill(nil)
	wantEmpty(t, dir)
}

func hostileDeep(t *testing.T) {
	dir := shortTempDir(t)
	i := startHostile(t, dir, nil)
	if got := try(t, i, "nest", strconv.Itoa(900)); got != "got: nested" {
		t.Fatal(got)
	}
	i.Kill(nil)
	wantEmpty(t, dir)
}

// What a host that was killed left behind goes with the next host's start, also
// where its plugin sealed it.
func hostileLeft(t *testing.T) {
	dir := shortTempDir(t)
	for n, mode := range []os.FileMode{0o700, 0o500, 0} {
		left := filepath.Join(dir, "reflectory-i"+strconv.Itoa(n))
		if err := os.MkdirAll(filepath.Join(left, "sub", "deeper"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(left, "sub"), left} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	i := startHostile(t, dir, nil)
	i.Kill(nil)
	wantEmpty(t, dir)
}

var _ = sdk.Exhausted
