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

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// hostile are the tests that hold for a host of any user.
func hostile(t *testing.T) {
	enterGroups(t)
	t.Run("attributes", hostileAttributes)
	t.Run("set-uid files", hostileSetUID)
	t.Run("sealed folders", hostileSealed)
	t.Run("deep folders", hostileDeep)
	t.Run("left folders", hostileLeft)
	t.Run("threads", hostileThreads)
	t.Run("tasks", hostileTasks)
	t.Run("processes", hostileProcesses)
	t.Run("files without a name", hostileUnnamed)
	t.Run("descriptors", hostileDescriptors)
	t.Run("buffers", hostileBuffers)
	t.Run("memory that no limit counts", hostileGrowsDown)
	t.Run("memory in sum", hostileSum)
	t.Run("ordinary programs", ordinaryPrograms)
}

func TestAHostilePlugin(t *testing.T) {
	coretest.Long(t)
	hostile(t)
}

// ordinaryUser is somebody who owns nothing on any system.
const ordinaryUser = 54321

// TestAHostilePluginOfAnOrdinaryUser runs the same tests as a user who isn't
// root: Landlock doesn't keep a plugin from the user's files in all regards there,
// and it has no user of its own.
func TestAHostilePluginOfAnOrdinaryUser(t *testing.T) {
	coretest.Long(t)
	if os.Getuid() != 0 {
		t.Skip("this user is one: TestAHostilePlugin was that")
	}
	asOrdinaryUser(t, nil)
}

// asOrdinaryUser runs TestAHostilePlugin in a process of an ordinary user's, which
// first enters the groups whose lists of processes are given.
func asOrdinaryUser(t *testing.T, groups func(home string) []string) {
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
	if groups != nil {
		cmd.Env = append(cmd.Env, enterVariable+"="+strings.Join(groups(home), ":"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAHostilePlugin ") {
		t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
	}
}

// enterVariable names the groups that a test process enters, parted by colons.
const enterVariable = "TEST_ENTER_GROUPS"

// enterGroups enters them. Below them a host can make groups of its own.
func enterGroups(t *testing.T) {
	t.Helper()
	names := os.Getenv(enterVariable)
	if names == "" {
		return
	}
	for procs := range strings.SplitSeq(names, ":") {
		if err := os.WriteFile(procs, []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if s := sandbox.Probe(); s.Cgroup == "" {
		t.Fatalf("there are groups, and the sandbox finds none: %+v", s)
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
		t.Skip("no seccomp or no Landlock, as the status says")
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

// noTasks is what a skipped test says.
const noTasks = "nothing counts processes and threads here, as the status says"

func hostileThreads(t *testing.T) {
	// A thread of C has a stack of 8 MiB.
	i := startHostile(t, shortTempDir(t), func(p *plugin.Installed) { p.Limits.MemoryBytes = 4 << 30 })
	if holds(i).Tasks == "" {
		t.Skip(noTasks)
	}
	if got := try(t, i, "threads", "30"); got != "got: 30" {
		t.Errorf("what it may: %s", got)
	}
	// Go ends a program that gets no thread.
	_, err := evaluate(t, i, do("attack threads", strconv.Itoa(tasksOf(1))))
	wantError(t, err, sdk.Unavailable, "plugin_exited", "probe exited", fmt.Sprintf("it may be %d processes and threads", tasksOf(1)))
	if hint := sdk.AsError(err).Hint; !strings.Contains(hint, "limits.processes") {
		t.Errorf("hint: %q", hint)
	}
}

// tasksOf is how many processes and threads together some processes may be.
func tasksOf(processes int) int { return sandbox.TasksPerProcess * processes }

func hostileTasks(t *testing.T) {
	i := startHostile(t, shortTempDir(t), func(p *plugin.Installed) { p.Limits.Processes = 8 })
	if holds(i).Tasks == "" {
		t.Skip(noTasks)
	}
	res, err := evaluate(t, i, do("attack children", strconv.Itoa(2000)))
	n := 0
	if err == nil {
		n = number(strings.TrimPrefix(res.Verdict.Feedback, "got: "))
	} else { // the host looked before the kernel refused, or the program's runtime needed a thread
		_, rest, _ := strings.Cut(err.Error(), "probe has ")
		_, _ = fmt.Sscan(rest, &n)
	}
	if n > tasksOf(8) || n == 0 && err == nil {
		t.Errorf("it forked %d (limit %d): %v", n, tasksOf(8), err)
	}
}

// The kernel counts processes and threads together; the host takes care of the rest.
func hostileProcesses(t *testing.T) {
	dir := shortTempDir(t)
	i := startHostile(t, dir, func(p *plugin.Installed) { p.Limits.Processes = 8 })
	if got := try(t, i, "children", "7"); got != "got: 7" {
		t.Errorf("what it may: %s", got)
	}
	if got := try(t, i, "children", "1"); got != "got: 1" {
		t.Errorf("one more, for now: %s", got)
	}
	<-i.Done()
	wantError(t, i.Cause(), sdk.Exhausted, "processes_exhausted", "9 processes (limit 8)")
	wantEmpty(t, dir)
}

func hostileUnnamed(t *testing.T) {
	for attack, says := range map[string]string{"unlinked": "removed and still holds", "mapped": "removed and still holds", "in flight": "temporary folder"} {
		dir := shortTempDir(t)
		i := startHostile(t, dir, nil)
		if _, err := evaluate(t, i, do("attack "+attack, "10")); err == nil {
			t.Errorf("%s: it could", attack)
			continue
		}
		<-i.Done()
		wantError(t, i.Cause(), sdk.Exhausted, "scratch_exhausted", says)
		wantEmpty(t, dir)
	}
	// Fewer than would be too many, where they can't be counted.
	i := startHostile(t, shortTempDir(t), nil)
	if _, err := evaluate(t, i, do("attack in flight", "1")); err == nil {
		t.Error("in a message: it could")
		return
	}
	<-i.Done()
	wantError(t, i.Cause(), sdk.Exhausted, "scratch_exhausted", "messages that nobody receives")
}

func hostileDescriptors(t *testing.T) {
	const most = 256
	i := startHostile(t, shortTempDir(t), nil)
	n := number(strings.TrimPrefix(try(t, i, "descriptors", "1000"), "got: "))
	if s := holds(i); s.Rlimits && (n >= most || n < most/2) {
		t.Errorf("it opened %d files more (limit %d in all)", n, most)
	}
}

// uncountedBytes is what the status says that sockets and pipes may hold.
const uncountedBytes = 110 << 20

func hostileBuffers(t *testing.T) {
	if !sandbox.Probe().Seccomp {
		t.Skip("no seccomp, as the status says")
	}
	for attack, most := range map[string]int{"buffers": uncountedBytes, "pipes": 16 << 20} {
		i := startHostile(t, shortTempDir(t), nil)
		res, err := evaluate(t, i, do("attack "+attack, ""))
		if err != nil {
			if <-i.Done(); sdk.ReasonOf(i.Cause()) != "scratch_exhausted" { // the host looked while sockets were in messages
				t.Errorf("%s: %v", attack, err)
			}
			continue
		}
		got := number(strings.TrimPrefix(res.Verdict.Feedback, "got: "))
		if got == 0 || got > most {
			t.Errorf("%s took %d MiB (limit %d)", attack, got>>20, most>>20)
		}
	}
}

func hostileGrowsDown(t *testing.T) {
	i := startHostile(t, shortTempDir(t), nil)
	if got := try(t, i, "grows down", strconv.Itoa(1<<30)); holds(i).Seccomp && !strings.HasSuffix(got, unix.EPERM.Error()) {
		t.Errorf("a stack of 1 GiB: %s", got)
	}
}

// Where a control group counts memory, its limit holds for all of it together.
func hostileSum(t *testing.T) {
	if sandbox.MinMemory > 1<<30 { // with the race detector there is no limit
		out, err := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^TestAHostilePlugin$/^memory_in_sum$").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
			t.Errorf("without the race detector: %v\n%s", err, out)
		}
		return
	}
	const limit = 160 << 20
	one := startHostile(t, shortTempDir(t), func(p *plugin.Installed) { p.Limits.MemoryBytes = limit })
	s := holds(one)
	if has := sandbox.Probe().Cgroup; s.Cgroup != has {
		t.Fatalf("the system has control groups %q, and the plugin %q", has, s.Cgroup)
	}
	if s.Cgroup == "" {
		if !strings.Contains(strings.Join(s.Notes, "\n"), "no writable control groups") {
			t.Errorf("no control group, and the status doesn't say what that means: %+v", s)
		}
		return
	}
	_, err := evaluate(t, one, do("attack fill", strconv.Itoa(130<<20)))
	wantError(t, err, sdk.Unavailable, "plugin_exited", "at its memory limit of 160 MiB")
	several := startHostile(t, shortTempDir(t), func(p *plugin.Installed) { p.Limits.MemoryBytes, p.Limits.Processes = limit, 32 })
	res, err := evaluate(t, several, do("attack take", strconv.Itoa(15<<20)))
	if err == nil && res.Verdict.Feedback != "got: ended" || err != nil && !strings.Contains(err.Error(), "memory limit of 160 MiB") {
		t.Errorf("sixteen processes of 15 MiB within 160 MiB: %+v, %v", res, err)
	}
}

// TestAHostilePluginInGroupsOfAnOrdinaryUser gives that user control groups, as
// systemd does.
func TestAHostilePluginInGroupsOfAnOrdinaryUser(t *testing.T) {
	coretest.Long(t)
	if os.Getuid() != 0 || sandbox.Probe().Cgroup != "v1" {
		t.Skip("there are no control groups of version 1 to give to another user")
	}
	asOrdinaryUser(t, func(home string) []string { return delegate(t, filepath.Base(home)) })
}

// delegate makes groups that belong to the ordinary user, below the groups of this
// process, and returns their lists of processes.
func delegate(t *testing.T, name string) (procs []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if parts[1] != "memory" && parts[1] != "pids" {
			continue
		}
		dir := filepath.Join("/sys/fs/cgroup", parts[1], parts[2], name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("left behind: %v", err)
			}
		})
		for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs"), filepath.Join(dir, "tasks")} {
			if err := os.Chown(path, ordinaryUser, ordinaryUser); err != nil {
				t.Fatal(err)
			}
		}
		procs = append(procs, filepath.Join(dir, "cgroup.procs"))
	}
	return procs
}
