package exec_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/sdk"
)

// hostVariable makes the test binary a host that runs a program in the folder that it names.
const hostVariable = "TEST_EXEC_HOST"

// runHost runs a program that says that it has begun, and never ends.
func runHost(dir string) {
	r := exec.New(exec.Options{Grants: func() exec.Grants { return exec.Grants{Allow: []string{os.Args[0]}} }, TempDir: dir, Sandbox: "off"})
	_, err := r.Run(context.Background(), exec.Caller{}, &sdk.ExecRequest{Run: []string{os.Args[0], "attack", "sleep", dir}})
	fmt.Println("ended:", err)
}

// TestRunner_LeavesNothingAfterAKill: the kernel ends a killed host's programs, and the next host
// removes what is left.
func TestRunner_LeavesNothingAfterAKill(t *testing.T) {
	dir := shortTempDir(t)
	host := osexec.CommandContext(t.Context(), attacker)
	host.Env = []string{hostVariable + "=" + dir}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for len(pids) == 0 { // the program has begun
		pids = commands(dir)
	}
	names := folders(t, dir)
	watch := make([]int, len(pids))
	for i, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		watch[i] = fd
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	for i, fd := range watch {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000); err != nil || n != 1 {
			t.Errorf("process %d outlives the host: %v", pids[i], err)
		}
	}
	o := options(t)
	o.TempDir = dir
	if _, err := exec.New(o).Run(t.Context(), exec.Caller{}, &sdk.ExecRequest{Shell: "true | true"}); err != nil {
		t.Fatal(err)
	}
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
	if left := groups(t, names); len(names) == 0 || len(left) > 0 {
		t.Errorf("groups of %v are left: %v", names, left)
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left: %v", err)
	}
}

// commands are the programs that attack with an argument.
func commands(arg string) (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), "attack\x00sleep\x00"+arg) {
			pids = append(pids, number(filepath.Base(filepath.Dir(path))))
		}
	}
	return pids
}
