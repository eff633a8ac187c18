//go:build linux

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// TestProcessorTime_OfAPluginThatSpins after its call grows without end; an honest one's doesn't.
func TestProcessorTime_OfAPluginThatSpins(t *testing.T) {
	coretest.Long(t)
	const much = 300 * time.Millisecond // of processor time, more than the start of the next takes
	for _, processes := range []int{1, 2} {
		p := self(t, "serve")
		p.Limits.Processes = processes
		honest, i := start(t, process.Options{}, p), start(t, process.Options{}, p)
		try(t, i, "spin", "")
		used := func(i plugin.Instance) time.Duration {
			used, err := i.(plugin.InstanceWithProcessor).ProcessorTime()
			if err != nil {
				t.Fatal(err)
			}
			return used
		}
		first, idle := used(i), used(honest)
		for deadline := time.Now().Add(patience); used(i) < first+much; <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d processes: %s, then %s", processes, first, used(i))
			}
		}
		if got := used(honest); got > idle+much/2 {
			t.Errorf("%d processes: an idle one used %s, then %s", processes, idle, got)
		}
	}
}

// TestPriority_OfAPlugin: all threads of a plugin, and of what it starts, yield to the host.
func TestPriority_OfAPlugin(t *testing.T) {
	niceOf := func(path string) (n int) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, fields, _ := strings.Cut(string(text), ") ") // the program's name may have spaces
		if _, err := fmt.Sscan(strings.Fields(fields)[16], &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	own := niceOf("/proc/self/stat")
	for _, mode := range []sandbox.Mode{sandbox.Prefer, sandbox.Off} {
		dir, p := shortTempDir(t), self(t, "serve")
		p.Limits.Processes = 2
		p.Granted.FS = []string{"system"}
		i := start(t, process.Options{Sandbox: mode, TempDir: dir}, p)
		if _, err := evaluate(t, i, do("child")); err != nil {
			t.Fatal(err)
		}
		processes := group(t, childOf(t, os.Getpid(), dir))
		if len(processes) != 2 {
			t.Errorf("%s: the processes are %v, want the plugin and its child", mode, processes)
		}
		for _, pid := range processes {
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%s/task/*/stat", pid))
			if err != nil || len(threads) == 0 {
				t.Fatalf("%v %v", threads, err)
			}
			for _, path := range threads {
				if got := niceOf(path); got != min(own+10, 19) {
					t.Errorf("%s: %s has the niceness %d, the host %d", mode, path, got, own)
				}
			}
		}
	}
}
