//go:build linux

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
)

// What the whole suite may add to a host for good: a small part of one 8 MiB
// message, and for the process what the allocator and the kernel keep.
const (
	heapBound = 4 << 20
	rssBound  = 64 << 20
)

func TestAHostOutlivesTheWholeSuite(t *testing.T) {
	coretest.Long(t)
	s := newSuite(t, append(hostileProcesses(), hostileModules()...))
	s.round(nil) // what the first use of anything keeps
	before := measure(t)
	s.round(s.suspects)
	after := measure(t)
	for deadline := time.Now().Add(patience); after.goroutines > before.goroutines && time.Now().Before(deadline); <-time.After(time.Millisecond) {
		after.goroutines = runtime.NumGoroutine() // one that has nothing more to do may not be gone yet
	}
	if after.goroutines > before.goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, before it were %d:\n%s", after.goroutines, before.goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	for fd, target := range after.files {
		if before.files[fd] == "" {
			t.Errorf("descriptor %s is left: %s", fd, target)
		}
	}
	if grown := after.heap - before.heap; grown > heapBound {
		t.Errorf("the heap grew by %d bytes, more than %d", grown, heapBound)
	}
	if grown := after.rss - before.rss; grown > rssBound && !racing {
		t.Errorf("the process grew by %d bytes, more than %d", grown, rssBound)
	}
	t.Logf("heap %+d KiB, resident %+d KiB, %d goroutines, %d files", (after.heap-before.heap)>>10, (after.rss-before.rss)>>10, after.goroutines, len(after.files))
	s.checkGone()
	s.round(nil) // and it still serves
}

// residue is what a process holds.
type residue struct {
	heap, rss  int64
	goroutines int
	files      map[string]string
}

func measure(t *testing.T) residue {
	t.Helper()
	files := openFiles(t) // before the collector closes what was forgotten
	runtime.GC()
	debug.FreeOSMemory()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return residue{
		heap: int64(mem.HeapAlloc), rss: pages * int64(os.Getpagesize()),
		goroutines: runtime.NumGoroutine(), files: files,
	}
}

// openFiles lists the process's descriptors, and what they are of.
func openFiles(t *testing.T) map[string]string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil { // the listing's own is gone
			files[filepath.Base(link)] = target
		}
	}
	return files
}

// noteCells notes the names of the plugins' private folders, which are also the names of
// their control groups.
func (s *suite) noteCells() {
	s.t.Helper()
	entries, err := os.ReadDir(s.temp)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		s.cells[e.Name()] = true
	}
}

// checkGone checks that no child process, temporary folder or control group is
// left.
func (s *suite) checkGone() {
	s.t.Helper()
	if left := children(s.t); len(left) > 0 {
		s.t.Errorf("processes are left: %v", left)
	}
	if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
		s.t.Errorf("folders are left: %v %v", left, err)
	}
	if len(s.cells) < len(good) {
		s.t.Errorf("only %d private folders were seen", len(s.cells))
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // it went meanwhile
		}
		if s.cells[e.Name()] {
			s.t.Errorf("a control group is left: %s", path)
		}
		return nil
	})
}

// children lists the processes that this one started and hasn't waited for, by
// their ids and names.
func children(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		name, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			found[filepath.Base(filepath.Dir(path))] = name
		}
	}
	return found
}
