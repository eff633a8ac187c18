//go:build linux

package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// killHost starts a host with one plugin, which has or hasn't a child, kills the
// host, and returns the id of the plugin's group.
func killHost(t *testing.T, dir, kind string) int {
	t.Helper()
	host := self(t, kind)
	cmd := exec.Command(host.Path, host.Args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid := childOf(t, cmd.Process.Pid, dir)
	if len(group(t, pid)) == 0 {
		t.Fatal("the plugin doesn't run")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return pid
}

func TestKilledHostLeavesNoPlugin(t *testing.T) {
	wantNoGroup(t, killHost(t, shortTempDir(t), "host"))
}

func TestKilledHostLeavesNoPluginsChild(t *testing.T) {
	if !sandbox.Probe().Namespace {
		t.Skip("no namespace of processes, as the status says; TestWhatAKilledHostLeftIsSwept is what remains")
	}
	wantNoGroup(t, killHost(t, shortTempDir(t), "host of children"))
}

func TestWhatAKilledHostLeftIsSwept(t *testing.T) {
	coretest.Long(t)
	dir := shortTempDir(t)
	wantNoGroup(t, killHost(t, dir, "host"))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Fatalf("the killed host left %v (%v), want its folder", left, err)
	}
	// Neither is a private folder of a host that is gone.
	for name, mode := range map[string]os.FileMode{"reflectory-checkout": 0o700, "reflectory-i12345": 0o755} {
		if err := os.Mkdir(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	first := start(t, process.Options{TempDir: dir}, self(t, "serve"))
	second := start(t, process.Options{TempDir: dir}, self(t, "serve")) // another sandbox, which sweeps too
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("there are %v (%v), want two folders that aren't ours and those of two plugins", entries, err)
	}
	for _, e := range entries {
		if e.Name() == left[0].Name() {
			t.Errorf("%s is still there", e.Name())
		}
	}
	for _, i := range []plugin.Instance{first, second} {
		if _, err := evaluate(t, i, do("ok")); err != nil {
			t.Error(err)
		}
	}
}
