//go:build linux

package process_test

import (
	"fmt"
	"net"
	"os"
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

// try has a plugin attack, and returns its report.
func try(t *testing.T, i plugin.Instance, name, arg string) string {
	t.Helper()
	res, err := evaluate(t, i, do("attack "+name, arg))
	if err != nil {
		t.Fatalf("%s %s: %v", name, arg, err)
	}
	return res.Verdict.Feedback
}

// holds returns what confines an instance.
func holds(i plugin.Instance) sandbox.Status {
	return i.(interface{ Sandbox() sandbox.Status }).Sandbox()
}

// openDir is a folder that every user may enter and read.
func openDir(t *testing.T) string {
	t.Helper()
	dir := shortTempDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// refusal is an attack and what it gets.
type refusal struct {
	attack, arg string
	by          bool // what refuses it is there
	want        syscall.Errno
}

// An attack is refused by one part of the sandbox, for everybody could do it
// otherwise. Where the system lacks that part the status must say so.
func TestAPluginGetsNothing(t *testing.T) {
	dir := openDir(t)
	file := writeFile(t, filepath.Join(dir, "file"), "of the host")
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	abstract, err := net.Listen("unix", "@reflectory-test-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	if err := os.Chmod(listener.Addr().String(), 0o777); err != nil {
		t.Fatal(err)
	}
	i := start(t, process.Options{}, self(t, "serve"))
	status := holds(i)
	landlock, seccomp := status.Landlock > 0, status.Seccomp
	host := strconv.Itoa(os.Getpid())
	tests := []refusal{
		{"read", file, landlock, unix.EACCES},
		{"list", dir, landlock, unix.EACCES},
		{"read", "/etc/passwd", landlock, unix.EACCES},
		{"read", "/proc/" + host + "/environ", landlock, unix.EACCES},
		{"read", "/proc/" + host + "/cmdline", landlock, unix.EACCES},
		{"list", "/proc", landlock, unix.EACCES},
		{"list", "/tmp", landlock, unix.EACCES},
		{"own folder", "", landlock, unix.EACCES},
		{"symlink", listener.Addr().String(), landlock, unix.EACCES},
		{"socket", fmt.Sprint(unix.AF_INET, unix.SOCK_STREAM), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_INET, unix.SOCK_DGRAM), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_INET6, unix.SOCK_STREAM), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_NETLINK, unix.SOCK_RAW), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_VSOCK, unix.SOCK_STREAM), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_UNIX, unix.SOCK_DGRAM), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), seccomp, unix.EPERM},
		{"socket", fmt.Sprint(unix.AF_UNIX, unix.SOCK_SEQPACKET), seccomp, unix.EPERM},
		{"pair", fmt.Sprint(unix.SOCK_DGRAM), seccomp, unix.EPERM},
		{"connect", listener.Addr().String(), seccomp, unix.EPERM},
		{"connect", abstract.Addr().String(), seccomp, unix.EPERM},
		{"fork", "", seccomp, unix.EPERM},
		{"signal", host, seccomp, unix.EPERM},
		{"ptrace", host, seccomp, unix.EPERM},
		{"prlimit", host, seccomp, unix.EPERM},
		{"allocate", strconv.Itoa(2 * max(sandbox.MinMemory, plugin.DefaultProcessMemory)), status.Rlimits, unix.ENOMEM},
		{"big file", strconv.Itoa(1 << 30), status.Rlimits, unix.EFBIG},
		{"call", fmt.Sprint(unix.SYS_IO_URING_SETUP, 1, 0), seccomp, unix.ENOSYS},
		{"call", fmt.Sprint(unix.SYS_CLONE3, 0, 0), seccomp, unix.ENOSYS},
		{"call", fmt.Sprint(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), seccomp, unix.EPERM},
		{"call", fmt.Sprint(unix.SYS_SETSID), seccomp, unix.EPERM},
		{"call", fmt.Sprint(unix.SYS_SETPGID, 0, 0), seccomp, unix.EPERM},
		{"call", fmt.Sprint(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0), seccomp, unix.EPERM},
		{"call", fmt.Sprint(unix.SYS_BPF, 0, 0, 0), seccomp, unix.EPERM},
		{"call", fmt.Sprint(unix.SYS_FCNTL, 0, unix.F_SETOWN, os.Getpid()), seccomp, unix.EPERM},
		{"call", fmt.Sprint(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0), seccomp, unix.ENOTTY},
		{"call", "5000", seccomp, unix.ENOSYS},
	}
	if status.Cgroup == "" { // which counts them
		tests = append(tests,
			refusal{"share", strconv.Itoa(1 << 20), seccomp, unix.EPERM},
			refusal{"call", fmt.Sprint(unix.SYS_MEMFD_CREATE, 0, 0), seccomp, unix.ENOSYS})
	}
	for _, test := range tests {
		name := test.attack + " " + test.arg
		if !test.by {
			if status.Holds() {
				t.Errorf("%s: what refuses it is missing, and the status doesn't say so: %+v", name, status)
			}
			continue
		}
		if got := try(t, i, test.attack, test.arg); !strings.HasPrefix(got, "refused: ") || !strings.HasSuffix(got, test.want.Error()) {
			t.Errorf("%s: %s, want it refused with %q", name, got, test.want)
		}
	}
	if got := try(t, i, "scratch", ""); got != "got: text" {
		t.Errorf("its private folder: %s", got)
	}
	if got := try(t, i, "read", os.DevNull); got != "got: " {
		t.Errorf("%s: %s", os.DevNull, got)
	}
}

func TestAPluginThatLittersIsEnded(t *testing.T) {
	coretest.Long(t)
	dir := shortTempDir(t)
	i := start(t, process.Options{TempDir: dir}, self(t, "serve"))
	_, err := evaluate(t, i, do("attack litter", strconv.Itoa(sandbox.MaxScratchFiles+1)))
	if err == nil || !strings.Contains(err.Error(), "temporary folder") || sdk.AsError(err).Hint == "" {
		t.Errorf("its call: %v", err)
	}
	<-i.Done()
	wantError(t, i.Cause(), sdk.Exhausted, "scratch_exhausted", "more than 1024 files")
	wantEmpty(t, dir)
}

func TestAPluginHasAUserOfItsOwn(t *testing.T) {
	one, two := start(t, process.Options{}, self(t, "serve")), start(t, process.Options{}, self(t, "serve"))
	ids := try(t, one, "ids", "")
	if !holds(one).User {
		if os.Getuid() == 0 && holds(one).Holds() {
			t.Errorf("the host is root, and the status doesn't say why the plugin is: %+v", holds(one))
		}
		if want := fmt.Sprintf("got: %d %d ", os.Getuid(), os.Getgid()); !strings.HasPrefix(ids, want) {
			t.Errorf("it is %s, want %s", ids, want)
		}
		return
	}
	var uid, gid int
	if _, err := fmt.Sscanf(ids, "got: %d %d []", &uid, &gid); err != nil || uid != gid || uid < sandbox.FirstUser || uid >= sandbox.FirstUser+sandbox.Users {
		t.Errorf("it is %s: %v", ids, err)
	}
	if other := try(t, two, "ids", ""); other == ids {
		t.Errorf("two instances are both %s", ids)
	}
}

func TestAGrantedPathIsAllThatIsSeen(t *testing.T) {
	dir := openDir(t)
	granted, beside := filepath.Join(dir, "granted"), filepath.Join(dir, "beside")
	for _, d := range []string{granted, beside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(d, "file"), "text")
	}
	p := self(t, "serve")
	p.Granted.FS = []string{granted}
	i := start(t, process.Options{}, p)
	if got := try(t, i, "read", filepath.Join(granted, "file")); got != "got: text" {
		t.Errorf("the granted path: %s", got)
	}
	if holds(i).Landlock == 0 {
		return // TestAPluginGetsNothing makes sure that the status says so
	}
	for attack, path := range map[string]string{
		"read": filepath.Join(beside, "file"), "write": filepath.Join(granted, "file"), "list": dir,
	} {
		if got := try(t, i, attack, path); !strings.HasSuffix(got, unix.EACCES.Error()) {
			t.Errorf("%s %s: %s", attack, path, got)
		}
	}
}

func TestGrantsThatCannotBeGivenAreExplained(t *testing.T) {
	status := sandbox.Probe()
	if status.Landlock == 0 && !status.User {
		t.Skip("without Landlock and a user of its own nothing is taken away, so nothing needs to be given")
	}
	dir := shortTempDir(t)
	closed := filepath.Join(openDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path   string
		reason string
	}{
		"missing":  {"/nowhere", "grant_missing"},
		"relative": {"somewhere", "grant_missing"},
		"closed":   {closed, "grant_unreadable"},
	}
	for name, test := range tests {
		p := self(t, "serve")
		p.Granted.FS = []string{test.path}
		i, err := process.New(process.Options{TempDir: dir}).Start(t.Context(), p)
		if err == nil {
			_ = i.Close()
		}
		if name == "closed" && !status.User {
			continue // it is the host's own, as the plugin is
		}
		if sdk.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.path) || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		wantEmpty(t, dir)
	}
}

func TestSeveralProcessesAreBoundedAndEndTogether(t *testing.T) {
	const wanted = 300
	dir := shortTempDir(t)
	p := self(t, "serve")
	p.Limits.Processes = 2
	p.Granted.FS = []string{"system"}
	i := start(t, process.Options{TempDir: dir}, p)
	status := holds(i)
	pid := childOf(t, os.Getpid(), dir)
	if got := try(t, i, "call", fmt.Sprint(unix.SYS_SETSID)); status.Seccomp && !strings.HasSuffix(got, unix.EPERM.Error()) {
		t.Errorf("it could leave its group: %s", got)
	}
	res, err := evaluate(t, i, do("attack forks", strconv.Itoa(wanted)))
	switch {
	case sdk.ReasonOf(i.Cause()) == "processes_exhausted": // on a busy machine they are counted
		// before its answer
		wantError(t, i.Cause(), sdk.Exhausted, "processes_exhausted", "(limit 2)")
	case err != nil: // its runtime needed a thread
		wantError(t, err, sdk.Unavailable, "plugin_exited", fmt.Sprintf("it may be %d processes and threads", tasksOf(2)))
	case status.User || status.Cgroup != "":
		if got := number(strings.TrimPrefix(res.Verdict.Feedback, "got: ")); got == 0 || got == wanted {
			t.Errorf("it could start %d processes: %+v", got, status)
		}
	}
	i.Kill(nil)
	wantNoGroup(t, pid)
	wantEmpty(t, dir)
}
