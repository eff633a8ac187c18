//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// fullWorld is a data folder on a small disk of its own.
type fullWorld struct {
	t    *testing.T
	dir  string
	self string
	// acknowledged are the ids of the memories that were stored.
	acknowledged []string
	refused      int
}

// TestNoCommandPanicsOnAFullDisk runs commands on disks of 1 to 24 MB with no more
// than a few pages left. Each ends well, or with store_io and the advice to free
// space, and once there is space all that was acknowledged is there. Where the user may not
// mount a disk, the tests of core/store/pebble do the same on disks in memory.
func TestNoCommandPanicsOnAFullDisk(t *testing.T) {
	coretest.Long(t)
	commands, refused := 30, 0
	if os.Getenv("REFLECTORY_STRESS") != "" {
		commands = 500
	}
	const each = 10
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range commands / each {
		w := &fullWorld{t: t, dir: t.TempDir(), self: filepath.Join(programs, "reflectory")}
		megabytes := 1 + (i*7+3)%24
		if err := syscall.Mount("tmpfs", w.dir, "tmpfs", 0, fmt.Sprintf("mode=0700,size=%dm", megabytes)); err != nil {
			t.Skipf("no disk can be mounted here, which root may: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(w.dir, 0) })
		w.observe(4+rng.IntN(8), rng)
		for range each {
			w.fill(rng.Int64N(40))
			w.command(rng)
		}
		w.check()
		refused += w.refused
	}
	if refused < commands/10 {
		t.Errorf("only %d of %d commands were refused", refused, commands)
	}
}

// TestHook_OnAFullDisk: a hook on a full disk exits with 0, and prints nothing or whole context.
func TestHook_OnAFullDisk(t *testing.T) {
	coretest.Long(t)
	w := &fullWorld{t: t, dir: t.TempDir(), self: filepath.Join(programs, "reflectory")}
	if err := syscall.Mount("tmpfs", w.dir, "tmpfs", 0, "mode=0700,size=16m"); err != nil {
		t.Skipf("no disk can be mounted here, which root may: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(w.dir, 0) })
	w.observe(2, rand.New(rand.NewPCG(1, 2)))
	var connected any
	if code := w.run(&connected, "", "connect", "codex"); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, pages := range []int64{0, 1, 3, 20} {
		w.fill(pages)
		for _, kind := range []string{"session-start", "prompt", "tool", "stop", "session-end"} {
			var out, errs bytes.Buffer
			cmd := exec.Command(w.self, "hook", kind, "--client", "codex")
			cmd.Env = []string{"HOME=" + w.dir, "REFLECTORY_DATA_DIR=" + filepath.Join(w.dir, "data")}
			cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s%d","cwd":%q,"hook_event_name":"E","prompt":"remember that disks fill","tool_name":"Bash","last_assistant_message":"Yes."}`, pages, w.dir))
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || errs.Len() > 0 || out.Len() > 0 && !json.Valid(out.Bytes()) {
				t.Errorf("%s with %d pages left: %v, %s%s", kind, pages, err, &out, &errs)
			}
		}
	}
}

// run runs a command, and decodes the one value that it prints.
func (w *fullWorld) run(v any, input string, args ...string) int {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(w.self, append(args, "--json")...)
	cmd.Env = []string{"HOME=" + w.dir, "REFLECTORY_DATA_DIR=" + filepath.Join(w.dir, "data")}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.dir, strings.NewReader(input), &out, &errs
	_ = cmd.Run()
	err := json.Unmarshal(out.Bytes(), v)
	if strings.Contains(errs.String(), "goroutine ") || err != nil {
		w.t.Fatalf("%v: exit %d, printed %q, %s", args, cmd.ProcessState.ExitCode(), out.String(), errs.String())
	}
	return cmd.ProcessState.ExitCode()
}

// observe stores memories of up to 64 KB.
func (w *fullWorld) observe(n int, rng *rand.Rand) {
	for range n {
		w.observeOne(rng)
	}
}

func (w *fullWorld) observeOne(rng *rand.Rand) {
	w.t.Helper()
	content := make([]byte, 1+rng.IntN(48<<10))
	for i := range content {
		content[i] = byte('a' + rng.IntN(26))
	}
	id := fmt.Sprintf("m-%d", len(w.acknowledged)+1000*w.refused)
	var said fullAnswer
	if w.ends(w.run(&said, string(content), "memory", "observe", "--id", id, "--content", "-"), &said) {
		w.acknowledged = append(w.acknowledged, id)
	}
}

type fullAnswer struct {
	Error struct{ Code, Message, Hint string }
}

// ends checks how a command ended, and reports whether it succeeded.
func (w *fullWorld) ends(code int, said *fullAnswer) bool {
	w.t.Helper()
	if code == exitPassed {
		return true
	}
	w.refused++
	if code != exitFailure || said.Error.Code != "store_io" || !strings.Contains(said.Error.Hint, "free space") {
		w.t.Errorf("exit %d: %+v", code, said.Error)
	}
	return false
}

// fill fills the disk and leaves some pages free.
func (w *fullWorld) fill(pages int64) {
	w.t.Helper()
	ballast, err := os.Create(filepath.Join(w.dir, "ballast"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer ballast.Close()
	written, _ := io.Copy(ballast, neverEnding{}) // until there is no room
	if err := ballast.Truncate(max(0, written-pages*4096)); err != nil {
		w.t.Fatal(err)
	}
}

// neverEnding is zeros without an end.
type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

// command runs one, as it comes.
func (w *fullWorld) command(rng *rand.Rand) {
	w.t.Helper()
	commands := [][]string{
		{"memory", "list"}, {"runs", "list"}, {"store", "check"}, {"audit", "verify"},
		{"governance", "set", "team", "max_reflection_depth=1"}, {"memory", "sweep", "default"},
	}
	n := rng.IntN(2 * len(commands))
	if n >= len(commands) {
		w.observeOne(rng)
		return
	}
	var said fullAnswer
	w.ends(w.run(&said, "", commands[n]...), &said)
}

// check makes room, and looks for what was acknowledged.
func (w *fullWorld) check() {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, "ballast")); err != nil {
		w.t.Fatal(err)
	}
	for _, id := range w.acknowledged {
		var m struct {
			fullAnswer
			ID string
		}
		if code := w.run(&m, "", "memory", "get", id); code != exitPassed || m.ID != id {
			w.t.Errorf("exit %d: %s was acknowledged and isn't there: %+v", code, id, m.Error)
		}
	}
	var checked fullAnswer
	if code := w.run(&checked, "", "store", "check"); code != exitPassed {
		w.t.Errorf("store check: exit %d: %+v", code, checked.Error)
	}
}
