//go:build linux

package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestKilledHostLeavesNoPlugin(t *testing.T) {
	host := self(t, "host")
	cmd := exec.Command(host.Path, host.Args...)
	// A killed host can't remove its folders.
	cmd.Env = append(os.Environ(), "TMPDIR="+shortTempDir(t))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if len(group(t, pid)) == 0 {
		t.Fatal("the plugin doesn't run")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wantNoGroup(t, pid)
}
