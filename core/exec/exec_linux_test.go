package exec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

func TestRunner_RunsAProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "given"), []byte("given\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Grants = func() exec.Grants { return exec.Grants{Allow: []string{"sh", "cat", "true"}, Env: []string{"GRANTED"}} }
	r := exec.New(o)
	for name, c := range map[string]struct {
		request sdk.ExecRequest
		want    sdk.ExecResponse
	}{
		"a status":      {sdk.ExecRequest{Shell: "pwd; echo problem >&2; exit 3"}, sdk.ExecResponse{Stdout: "/workspace\n", Stderr: "problem\n", Exit: 3}},
		"a signal":      {sdk.ExecRequest{Shell: "kill -ABRT $$"}, sdk.ExecResponse{Exit: -1, Signal: "SIGABRT"}},
		"a termination": {sdk.ExecRequest{Shell: "kill -TERM $$"}, sdk.ExecResponse{Exit: -1, Signal: "SIGTERM"}},
		"input":         {sdk.ExecRequest{Shell: "cat", Stdin: "text"}, sdk.ExecResponse{Stdout: "text"}},
		"a report":      {sdk.ExecRequest{Shell: "echo done > out; cat out", Report: "out"}, sdk.ExecResponse{Stdout: "done\n", Report: "done\n"}},
		"no report":     {sdk.ExecRequest{Shell: "true", Report: "out"}, sdk.ExecResponse{}},
		"its variables": {sdk.ExecRequest{Shell: "echo $HOME $TMPDIR $LANG; env | grep -c .", Env: []string{"GRANTED"}}, sdk.ExecResponse{Stdout: "/home /tmp C.UTF-8\n6\n"}},
		"an original": {
			sdk.ExecRequest{Shell: "cat given; echo changed > given", Workspace: sdk.ExecWorkspace{From: "."}},
			sdk.ExecResponse{Stdout: "given\n"},
		},
		"an attempt": {
			sdk.ExecRequest{Shell: "cat given", Workspace: sdk.ExecWorkspace{From: ".", Put: sdk.ExecPut{File: "given", Text: "put"}}},
			sdk.ExecResponse{Stdout: "put"},
		},
		"a pipe":      {sdk.ExecRequest{Shell: "echo a | cat | cat"}, sdk.ExecResponse{Stdout: "a\n"}},
		"its files":   {sdk.ExecRequest{Shell: "touch a; chmod 755 a; touch -d 2001-01-01 a; mkfifo b; ln -s a c; ls"}, sdk.ExecResponse{Stdout: "a\nb\nc\n"}},
		"not UTF-8":   {sdk.ExecRequest{Shell: `printf 'a\377b'`}, sdk.ExecResponse{Stdout: "a\uFFFDb"}},
		"a temporary": {sdk.ExecRequest{Shell: "echo x > $TMPDIR/x && cat /tmp/x"}, sdk.ExecResponse{Stdout: "x\n"}},
	} {
		got, err := r.Run(t.Context(), exec.Caller{Folder: dir}, &c.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Program.Path == "" || len(got.Program.SHA256) != 64 {
			t.Errorf("%s: the program is %+v", name, got.Program)
		}
		got.Program, got.Unbounded, got.DurationMS = sdk.ExecProgram{}, nil, 0
		if diff := cmp.Diff(c.want, *got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "given")); string(text) != "given\n" {
		t.Errorf("the original is %q, %v", text, err)
	}
}

// TestRunner_RefusesWhatIsNotGranted: nothing starts, and the message says what to grant.
func TestRunner_RefusesWhatIsNotGranted(t *testing.T) {
	o := options(t)
	o.Grants = func() exec.Grants {
		return exec.Grants{Allow: []string{"true", "nowhere", attacker}, Env: []string{"GRANTED"}}
	}
	r := exec.New(o)
	for name, c := range map[string]struct {
		request sdk.ExecRequest
		want    string
	}{
		"a program":           {sdk.ExecRequest{Run: []string{"env"}}, "program_not_granted"},
		"by its path":         {sdk.ExecRequest{Run: []string{"/usr/bin/true"}}, "program_not_granted"},
		"a relative path":     {sdk.ExecRequest{Run: []string{"./true"}}, "program_not_granted"},
		"a shell":             {sdk.ExecRequest{Shell: "true | true"}, "program_not_granted"},
		"a substitution":      {sdk.ExecRequest{Shell: "true $(env)"}, "program_not_granted"},
		"another line":        {sdk.ExecRequest{Shell: "true\nenv"}, "program_not_granted"},
		"a redirection":       {sdk.ExecRequest{Shell: "true > x"}, "program_not_granted"},
		"in the background":   {sdk.ExecRequest{Shell: "true & env"}, "program_not_granted"},
		"an assignment":       {sdk.ExecRequest{Shell: "PATH=/workspace true"}, "program_not_granted"},
		"the second":          {sdk.ExecRequest{Shell: "true && env"}, "program_not_granted"},
		"one that is missing": {sdk.ExecRequest{Run: []string{"nowhere"}}, "program_missing"},
		"a variable":          {sdk.ExecRequest{Run: []string{"true"}, Env: []string{"SECRET"}}, "variable_not_granted"},
		"a folder":            {sdk.ExecRequest{Run: []string{"true"}, Workspace: sdk.ExecWorkspace{From: "/etc"}}, "folder_not_granted"},
		"neither":             {sdk.ExecRequest{}, "request_invalid"},
		"both":                {sdk.ExecRequest{Run: []string{"true"}, Shell: "true"}, "request_invalid"},
		"no name":             {sdk.ExecRequest{Run: []string{""}}, "request_invalid"},
		"a negative limit":    {sdk.ExecRequest{Run: []string{"true"}, TimeoutMS: -1}, "request_invalid"},
		"a limit beyond":      {sdk.ExecRequest{Run: []string{"true"}, Limits: sdk.ExecLimits{MemoryBytes: 1 << 60}}, "request_invalid"},
		"too much input":      {sdk.ExecRequest{Run: []string{"true"}, Stdin: strings.Repeat("x", 8<<20+1)}, "request_invalid"},
		"a cache outside":     {sdk.ExecRequest{Run: []string{"true"}, Caches: map[string]string{"../x": "true"}, Workspace: sdk.ExecWorkspace{From: "."}}, "request_invalid"},
		"a cache of nothing":  {sdk.ExecRequest{Run: []string{"true"}, Caches: map[string]string{"x": "true"}}, "request_invalid"},
		"a cache's program":   {sdk.ExecRequest{Run: []string{"true"}, Caches: map[string]string{"x": "env"}, Workspace: sdk.ExecWorkspace{From: "."}}, "program_not_granted"},
	} {
		_, err := r.Run(t.Context(), exec.Caller{Folder: t.TempDir()}, &c.request)
		if sdk.ReasonOf(err) != c.want || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, request := range []sdk.ExecRequest{{Shell: "true && true -x --y=z"}, {Run: []string{filepath.Base(attacker), "attack", "list", "/"}}} {
		if got, err := r.Run(t.Context(), exec.Caller{}, &request); err != nil || got.Exit != 0 {
			t.Errorf("%+v: %+v, %v", request, got, err)
		}
	}
}

// TestRunner_RefusesWhatItCannotBound: without control groups nothing bounds the memory of several
// processes together. With the sandbox off, the response says so.
func TestRunner_RefusesWhatItCannotBound(t *testing.T) {
	o := options(t)
	o.Sandbox = sandbox.Prefer
	q := &sdk.ExecRequest{Shell: "exit 0"}
	got, err := exec.New(o).Run(t.Context(), exec.Caller{}, q)
	missing := exec.New(o).Missing()
	if sandbox.Probe().Cgroup != "" {
		if err != nil || len(got.Unbounded) > 0 || len(missing) > 0 {
			t.Errorf("%+v, %v; missing: %q", got, err, missing)
		}
		return
	}
	if sdk.ReasonOf(err) != "sandbox_missing" || len(missing) != 1 || !strings.HasPrefix(missing[0], "memory: ") {
		t.Errorf("%+v, %v; missing: %q", got, err, missing)
	}
	o.Sandbox = sandbox.Off
	if got, err = exec.New(o).Run(t.Context(), exec.Caller{}, q); err != nil || len(got.Unbounded) != 1 {
		t.Errorf("off: %+v, %v", got, err)
	}
}

// noNamespacesVariable makes the test binary a host, of an ordinary user, that can make no namespaces.
const noNamespacesVariable = "TEST_EXEC_NO_NAMESPACES"

// runWithoutNamespaces prints how programs end for which there is no sandbox, by what the operator says of that.
func runWithoutNamespaces() {
	if err := errors.Join(os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0), syscall.Setgroups(nil),
		syscall.Setresgid(ordinaryUser, ordinaryUser, ordinaryUser), syscall.Setresuid(ordinaryUser, ordinaryUser, ordinaryUser),
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)); err != nil {
		fmt.Println(err)
		return
	}
	o := exec.Options{Grants: func() exec.Grants { return exec.Grants{Allow: []string{"sh"}} }, TempDir: os.Getenv(noNamespacesVariable)}
	_, err := exec.New(o).Run(context.Background(), exec.Caller{}, &sdk.ExecRequest{Run: []string{"sh"}})
	fmt.Println(sdk.ReasonOf(err), strings.Contains(sdk.AsError(err).Hint, "sandbox: off"), exec.New(o).Missing())
	o.Sandbox = sandbox.Off
	for _, q := range []sdk.ExecRequest{
		{Shell: `echo "$HOME $TMPDIR $PWD $(cat)"; cat given >&2; pwd > report; exit 3`, Stdin: "in", Report: "report", Workspace: sdk.ExecWorkspace{Put: sdk.ExecPut{File: "given", Text: "put"}}},
		{Shell: "sleep 61.25 & kill -TERM $$"},
		{Shell: "sleep 60 & sleep 60", TimeoutMS: 100},
	} {
		got, err := exec.New(o).Run(context.Background(), exec.Caller{}, &q)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%d %s%s %q %q %q %d\n", got.Exit, got.Signal, got.Stopped, got.Stdout, got.Stderr, got.Report, len(got.Unbounded))
	}
	left, err := os.ReadDir(o.TempDir)
	fmt.Println(len(left), err)
	programs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range programs {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), "61.25") { //nolint:gosec // of /proc
			fmt.Printf("%s is left: %q\n", path, line)
		}
	}
}

// TestRunner_WithoutNamespaces: a program is refused, and the message says how to run it without a
// sandbox. Then it runs in a folder that is removed, with the processes of its group; what it writes
// names its folders as in a sandbox.
func TestRunner_WithoutNamespaces(t *testing.T) {
	if os.Getuid() != 0 {
		return // only root can become another user in a user namespace
	}
	dir := shortTempDir(t)
	if err := os.Chown(dir, ordinaryUser, ordinaryUser); err != nil {
		t.Fatal(err)
	}
	whole := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1 << 16}}
	host := osexec.CommandContext(t.Context(), attacker)
	host.Env = []string{noNamespacesVariable + "=" + dir, "PATH=" + os.Getenv("PATH")}
	host.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: whole, GidMappings: whole, GidMappingsEnableSetgroups: true}
	out, err := host.CombinedOutput()
	refused, ran, _ := strings.Cut(string(out), "\n")
	if err != nil || !strings.HasPrefix(refused, "sandbox_missing true [namespaces: ") {
		t.Errorf("%v: %s", err, out)
	}
	want := `3  "/home /tmp /workspace in\n" "put" "/workspace\n" 1
-1 SIGTERM "" "" "" 1
-1 SIGKILLtimeout "" "" "" 1
0 <nil>
`
	if ran != want {
		t.Error(cmp.Diff(want, ran))
	}
}
