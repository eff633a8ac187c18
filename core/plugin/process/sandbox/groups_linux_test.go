//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Folders take the place of groups: either can be removed only while nothing is in it.
func TestGroupsThatWereLeftBehindAreRemoved(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{
		"reflectory-i1": time.Hour, "reflectory-i2/process": time.Hour, "reflectory-i3": time.Second, "reflectory-index": time.Hour, "user.slice": time.Hour,
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for path := name; path != "."; path = filepath.Dir(path) {
			if err := os.Chtimes(filepath.Join(dir, path), now, now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeEmpty(dir, now)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"reflectory-i2", "reflectory-i3", "reflectory-index", "user.slice"}, left); diff != "" {
		t.Error(diff)
	}
	removeEmpty("", now) // where there are no groups
}

// A thread of the host is in the groups only while it starts a program. Where a host
// can't have groups of v1 no thread enters any.
func TestGroupsAreEnteredByAThread(t *testing.T) {
	g := newGroups("reflectory-test-thread", MinMemory, TasksPerProcess)
	defer g.remove()
	within := func() []string { // one line for each group that the thread is in
		text, err := os.ReadFile("/proc/thread-self/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(strings.Fields(string(text)), func(line string) bool { return !strings.HasSuffix(line, "/reflectory-test-thread") })
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if entered := g.enter(); entered != (g.version == "v1") {
		t.Fatalf("entered groups of version %q: %t", g.version, entered)
	} else if entered {
		if got := within(); len(got) != 2 {
			t.Errorf("in %q, not in memory's and pids' group", got)
		}
		if err := g.leave(); err != nil {
			t.Fatal(err)
		}
	}
	if got := within(); len(got) != 0 {
		t.Errorf("still in %q", got)
	}
}
