//go:build linux

package process_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

func TestModes(t *testing.T) {
	status := sandbox.Probe()
	i, err := process.New(process.Options{Sandbox: sandbox.Require}).Start(t.Context(), self(t, "serve"))
	if !status.Holds() {
		wantError(t, err, sdk.Denied, "sandbox_missing", status.Missing...)
	} else if err != nil {
		t.Errorf("everything is there: %v", err)
	} else {
		_ = i.Close()
	}
	off := start(t, process.Options{Sandbox: sandbox.Off}, self(t, "serve"))
	if holds(off).Holds() {
		t.Error("the status doesn't say that the sandbox is off")
	}
	file := writeFile(t, filepath.Join(openDir(t), "file"), "text")
	if got := try(t, off, "read", file); got != "got: text" {
		t.Errorf("without a sandbox: %s", got)
	}
}

func TestAClosedTempFolderIsExplained(t *testing.T) {
	if !sandbox.Probe().User {
		t.Skip("the plugin has no user of its own, and may enter what the host may")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := process.New(process.Options{TempDir: dir}).Start(t.Context(), self(t, "serve"))
	wantError(t, err, sdk.Invalid, "temp_dir_closed", dir)
}

func TestAClosedFolderCostsTheUser(t *testing.T) {
	if status := sandbox.Probe(); !status.User || status.Landlock == 0 {
		t.Skip("there is no user to lose, or no Landlock instead of it")
	}
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := self(t, "serve")
	p.Dir = dir
	writeFile(t, filepath.Join(dir, "data"), "its own")
	i := start(t, process.Options{}, p)
	if status := holds(i); status.User || status.Holds() {
		t.Errorf("the status doesn't say so: %+v", status)
	}
	if got := try(t, i, "read", filepath.Join(dir, "data")); got != "got: its own" {
		t.Errorf("its own folder: %s", got)
	}
	if got := try(t, i, "write", filepath.Join(dir, "data")); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("its own folder: %s", got)
	}
	if got := try(t, i, "signal", strconv.Itoa(os.Getpid())); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("a signal to the host: %s", got)
	}
	_, err := process.New(process.Options{Sandbox: sandbox.Require}).Start(t.Context(), p)
	wantError(t, err, sdk.Denied, "sandbox_missing", dir)
}

func TestAnInstanceGetsWhatIsExpectedOfTheSystem(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Prefer, sandbox.Off} {
		for _, processes := range []int{1, 4} {
			p := self(t, "serve")
			p.Limits.Processes = processes
			got := holds(start(t, process.Options{Sandbox: mode}, p))
			want := sandbox.Probe().Expected(mode, processes)
			got.Notes, want.Notes = nil, nil // a probe has more of them
			if !cmp.Equal(want, got) {
				t.Errorf("%s, %d processes: %s", mode, processes, cmp.Diff(want, got))
			}
		}
	}
}
