package exec_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// TestHostile: a program reaches nothing outside its sandbox, and what it is refused is refused by the
// kernel.
func TestHostile(t *testing.T) {
	enterGroups(t)
	t.Run("reach", hostileReach)
	t.Run("bounds", hostileBounds)
	t.Run("report", hostileReport)
	t.Run("replaced folders", hostileReplaced)
	t.Run("flood", hostileFlood)
	t.Run("nothing left", hostileLeft)
}

func hostileReach(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(shortTempDir(t), "host.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	abstract, err := net.Listen("unix", "@reflectory-exec-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	host := strconv.Itoa(os.Getpid())
	r := exec.New(options(t))
	for _, c := range []struct{ attack, arg, want string }{
		{"read", secret, "no such file"},
		{"read", "/proc/" + host + "/environ", "no such file"},
		{"read", "/proc/1/environ", "permission denied"},
		{"read", "/etc/shadow", "no such file"},
		{"list", "/proc/1/root/", "permission denied"},
		{"list", "/proc/1/fd", "permission denied"},
		{"list", filepath.Dir(socket.Addr().String()), "no such file"},
		{"write", "/usr/bin/true", "read-only file system"},
		{"write", "/usr/left", "read-only file system"},
		{"write", "/proc/sys/kernel/core_pattern", ""},
		{"dial", "unix " + socket.Addr().String(), "no such file"},
		{"dial", "unix " + abstract.Addr().String(), "connection refused"},
		{"dial", "tcp " + tcp.Addr().String(), "connection refused"},
		{"dial", "tcp 192.0.2.1:80", "network is unreachable"},
		{"dial", "udp 192.0.2.1:53", "network is unreachable"},
		{"signal", host, "no such process"},
		{"memory of", "1", "permission denied"},
		{"ptrace", "1", "operation not permitted"},
		{"ptrace", host, ""},
		{"mount", sandbox.Temp, "operation not permitted"},
		{"unmount", "/usr", "operation not permitted"},
		{"unmount", "/proc", "operation not permitted"},
		{"unshare", "", "operation not permitted"},
		{"socket", strconv.Itoa(unix.AF_INET), ""},
		{"socket", strconv.Itoa(unix.AF_PACKET), "address family not supported"},
		{"socket", strconv.Itoa(unix.AF_VSOCK), "address family not supported"},
		{"socket", strconv.Itoa(unix.AF_ALG), "address family not supported"},
		{"device", sandbox.Temp + "/mem", "operation not permitted"},
		{"root", "", ""},
	} {
		if got := attacked(t, r, sdk.ExecRequest{}, c.attack, c.arg); !strings.HasPrefix(got.Stdout, "refused: ") || !strings.Contains(got.Stdout, c.want) {
			t.Errorf("%s %s: %+v", c.attack, c.arg, got)
		}
	}
	if got := attacked(t, r, sdk.ExecRequest{}, "loopback", ""); got.Stdout != "got: connected" {
		t.Errorf("its own loopback: %+v", got)
	}
	if got := attacked(t, r, sdk.ExecRequest{}, "signal", "1"); got.Signal != "" && got.Exit == 0 {
		t.Errorf("it ended the first process, and passes: %+v", got)
	}
}

// hostileBounds: what a program takes too much of ends it, and is named.
func hostileBounds(t *testing.T) {
	coretest.Long(t)
	small := sdk.ExecLimits{MemoryBytes: 256 << 20, Processes: 40, DiskBytes: 64 << 20}
	if sandbox.MinMemory > small.MemoryBytes { // with the race detector hardly any memory is too much
		if out, err := osexec.CommandContext(t.Context(), attacker, "-test.run=^TestHostile$/^bounds$").CombinedOutput(); err != nil {
			t.Errorf("without the race detector: %v\n%s", err, out)
		}
		return
	}
	r := exec.New(options(t))
	for _, c := range []struct{ attack, arg, want string }{
		{"forks", "", sdk.ExecProcesses},
		{"memory", "", sdk.ExecMemory},
		{"memory file", "", sdk.ExecMemory},
		{"disk", sandbox.Workspace + "/big", sdk.ExecDisk},
		{"disk", sandbox.Temp + "/big", sdk.ExecDisk},
		{"disk", sandbox.Home + "/big", sdk.ExecDisk},
		{"disk", "/dev/shm/big", sdk.ExecDisk},
		{"disk again", sandbox.Workspace + "/big", sdk.ExecDisk},
		{"files", sandbox.Workspace, sdk.ExecDisk},
		{"sleep", "", sdk.ExecTimeout},
	} {
		q := sdk.ExecRequest{Limits: small}
		if c.want == sdk.ExecTimeout {
			q.TimeoutMS = 100
		}
		if counted := sandbox.Probe().Cgroup != ""; !counted && (c.want == sdk.ExecMemory || c.want == sdk.ExecProcesses) {
			continue // the response names it as unbounded: TestRunner_RefusesWhatItCannotBound
		}
		if got := attacked(t, r, q, c.attack, c.arg); got.Stopped != c.want || got.Exit != -1 {
			t.Errorf("%s %s: %+v", c.attack, c.arg, got)
		}
	}
}

// hostileReport: a report is a plain file that the program itself left, at the time it ended.
func hostileReport(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "report"), []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := exec.New(options(t))
	for name, line := range map[string]string{
		"a link to the host's":   "ln -s " + dir + "/report report",
		"a link up":              "ln -s ../../../../.." + dir + "/report report",
		"a hard link":            "ln /etc/passwd report || ln /usr/bin/env report || cp /dev/null report",
		"a folder":               "mkdir report",
		"a pipe":                 "mkfifo report",
		"through a linked place": "ln -s " + dir + " sub; ln -s sub/report report",
	} {
		got, err := r.Run(t.Context(), exec.Caller{}, &sdk.ExecRequest{Shell: line, Report: "report"})
		if err == nil && got.Report != "" || err != nil && strings.Contains(err.Error(), "of the host") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := r.Run(t.Context(), exec.Caller{}, &sdk.ExecRequest{
		Shell: attacker + " attack daemon /workspace/report; echo honest > report.new; mv report.new report", Report: "report",
	})
	if err != nil || got.Exit != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if left := processes(t, "rewrite"); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// hostileReplaced: the host goes on to use the folders that it made.
func hostileReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "report"), []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := attacked(t, exec.New(options(t)), sdk.ExecRequest{Report: "report"}, "replace", dir)
	if got.Report != "" {
		t.Errorf("the report is %q (%+v)", got.Report, got)
	}
}

// hostileFlood: of endless output, the beginning and the end are kept.
func hostileFlood(t *testing.T) {
	got, err := exec.New(options(t)).Run(t.Context(), exec.Caller{}, &sdk.ExecRequest{Shell: "echo first; yes | head -c 50000000; echo last; echo last >&2"})
	if err != nil || !got.Cut || len(got.Stdout) > 4<<20 || !strings.HasPrefix(got.Stdout, "first\n") || !strings.HasSuffix(got.Stdout, "last\n") || got.Stderr != "last\n" {
		t.Errorf("%d bytes, cut: %v, stderr: %q, %v", len(got.Stdout), got.Cut, got.Stderr, err)
	}
}

// hostileLeft: a cancelled call leaves no process, group, mount or folder.
func hostileLeft(t *testing.T) {
	o := options(t)
	r := exec.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := r.Run(ctx, exec.Caller{}, &sdk.ExecRequest{Run: []string{attacker, "attack", "sleep", o.TempDir}})
		ended <- err
	}()
	for len(commands(o.TempDir)) == 0 { // it begins
	}
	names := folders(t, o.TempDir)
	if sandbox.Probe().Cgroup != "" && len(groups(t, names)) == 0 {
		t.Errorf("the program has no group of the name of its folder: %v", names)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if left := commands(o.TempDir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left := folders(t, o.TempDir); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), o.TempDir) {
		t.Errorf("mounts are left: %v", err)
	}
	if left := groups(t, names); len(names) == 0 || len(left) > 0 {
		t.Errorf("groups of %v are left: %v", names, left)
	}
}

// processes are those whose command line has a word.
func processes(t *testing.T, word string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), word) && !strings.Contains(string(text), "-test.") {
			found = append(found, fmt.Sprintf("%s: %q", path, text))
		}
	}
	return found
}

// groups are the control groups with these names. A program's group has the name of its folder.
func groups(t *testing.T, names []string) []string {
	t.Helper()
	var all []string
	for _, name := range names {
		for _, pattern := range []string{"/sys/fs/cgroup/*/", "/sys/fs/cgroup/*/*/", "/sys/fs/cgroup/"} {
			found, err := filepath.Glob(pattern + name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, found...)
		}
	}
	return all
}

// folders are the names of what is in a folder.
func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// ordinaryUser is somebody who owns nothing on any system.
const ordinaryUser = 54321

// TestHostile_ToAnOrdinaryUser runs the same attacks in a process of an ordinary user's, with control
// groups and without.
func TestHostile_ToAnOrdinaryUser(t *testing.T) {
	coretest.Long(t)
	if os.Getuid() != 0 {
		return // TestHostile was that
	}
	for name, delegated := range map[string]bool{"with groups": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			home := shortTempDir(t)
			if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
				t.Fatal(err)
			}
			cmd := osexec.CommandContext(t.Context(), attacker, "-test.run=^Test(Hostile|Runner_.*|Cache_.*)$", "-test.v")
			cmd.Dir, cmd.Env = home, []string{"TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
			if delegated && sandbox.Probe().Cgroup == "v1" {
				cmd.Env = append(cmd.Env, enterVariable+"="+strings.Join(delegate(t, filepath.Base(home)), ":"))
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestHostile ") {
				t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
			}
		})
	}
}

// enterVariable names the lists of processes of the groups that a test process enters, parted by
// colons.
const enterVariable = "TEST_ENTER_GROUPS"

func enterGroups(t *testing.T) {
	t.Helper()
	for procs := range strings.SplitSeq(os.Getenv(enterVariable), ":") {
		if procs == "" {
			continue
		}
		if err := os.WriteFile(procs, []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if s := sandbox.Probe(); os.Getenv(enterVariable) != "" && s.Cgroup == "" {
		t.Fatalf("there are groups, and the sandbox finds none: %+v", s)
	}
}

// delegate makes groups that belong to the ordinary user, below the groups of this process, and
// returns their lists of processes.
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
