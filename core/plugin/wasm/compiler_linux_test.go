//go:build linux

package wasm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// The race detector maps memory of its own, so that a compiler with it isn't
// limited, and a host has more. These tests run without it.

func TestCompile_NamesTheMemoryThatIsPassed(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	d := newDriver(t, wasm.Options{Compile: wasm.CompileLimits{MemoryBytes: 256 << 20}, CacheDir: t.TempDir()})
	_, err := d.Compile(t.Context(), plugin.Installed{Name: "acme/bomb", Path: bomb(t, "500,000 functions")})
	if sdk.ReasonOf(err) != "compile_limit" || sdk.AsError(err).Details["limit"] != "memory" || !strings.Contains(err.Error(), "more than 256 MiB of memory") {
		t.Error(err)
	}
}

// maxGrowth is by how much a module may make the host grow that refuses it.
const maxGrowth = 64 << 20

// Whatever a module is, it doesn't stall the host nor make it grow. The ones that
// take the compiler its full time are left to REFLECTORY_STRESS.
func TestCompile_TheHostDoesNotGrow(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	d := newDriver(t, wasm.Options{})
	for _, b := range coretest.CompileBombs() {
		if !b.Refused && os.Getenv("REFLECTORY_STRESS") == "" {
			continue
		}
		path := moduleFile(t, b.Module())
		before := memory(t, "VmRSS:")
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins here
			t.Fatal(err)
		}
		_, err := d.Compile(t.Context(), plugin.Installed{Name: "acme/bomb", Path: path})
		grown := memory(t, "VmHWM:") - before
		t.Logf("%s: %d MiB, %v", b.Name, grown>>20, err)
		if reason := sdk.ReasonOf(err); grown > maxGrowth || reason != "" && reason != "module_too_complex" && reason != "compile_limit" && reason != "exports_invalid" {
			t.Errorf("%s: the host grew by %d MiB: %v", b.Name, grown>>20, err)
		}
	}
}

// memory is a line of the process's status, in bytes.
func memory(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), name)
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// A host that is killed takes its compiler along.
func TestCompile_EndsWithTheHost(t *testing.T) {
	host := exec.Command("/proc/self/exe")
	host.Env = append(os.Environ(), orphanVariable+"="+bomb(t, "a br_table of 999,999"))
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	compiler := ""
	for compiler == "" {
		children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", host.Process.Pid))
		if err != nil || len(children) == 0 {
			t.Fatal("the host has ended: ", err)
		}
		for _, path := range children {
			ids, _ := os.ReadFile(path)
			compiler += strings.TrimSpace(string(ids))
		}
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	for { // the test's own deadline is what ends this
		stat, err := os.ReadFile("/proc/" + compiler + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
}
