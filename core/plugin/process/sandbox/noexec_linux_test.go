package sandbox_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// The answer is the one that the system's list of mounts gives.
func TestNoExec_AgreesWithTheMounts(t *testing.T) {
	list, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]bool{} // a later mount hides an earlier one
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 5 && !strings.Contains(f[4], `\`) {
			last[f[4]] = slices.Contains(strings.Split(f[5], ","), "noexec")
		}
	}
	for path, noexec := range last {
		if _, err := os.Stat(path); err == nil && sandbox.NoExec(path) != noexec {
			t.Errorf("%s: %t, its mount says %t", path, !noexec, noexec)
		}
	}
	if sandbox.NoExec("/nowhere/at/all") {
		t.Error("a path that doesn't exist")
	}
}
