//go:build bench && linux

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
)

// idleTime is how long the server is watched.
const idleTime = 2 * time.Minute

// TestFiguresIdle measures a server that nobody asks for anything: the program itself, on an
// empty store. Its first seconds, in which it opens the store and writes the operator's
// token, don't count.
func TestFiguresIdle(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "reflectory")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../host")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), program, "serve", "--json", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Wait() }()
	defer func() { _ = server.Process.Signal(os.Interrupt) }()
	s := &serving{t: t}
	if err := json.NewDecoder(out).Decode(&s.served); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second)
	before := writes(t, server.Process.Pid)
	time.Sleep(idleTime)
	written := writes(t, server.Process.Pid) - before
	_, metrics := s.get("/metrics")
	for _, f := range []coretest.Figure{
		{Name: "an idle server's memory", Value: metric(t, metrics, "process_resident_memory_bytes") / 1e6, Unit: "MB", Target: 80},
		{Name: "an idle server's goroutines", Value: metric(t, metrics, "go_goroutines"), Target: 40, Note: "with those of the request that asks"},
		{Name: "an idle server's disk writes a minute", Value: float64(written) / pageBytes / idleTime.Minutes(), Target: 1, Note: "pages of 4 KiB"},
	} {
		f.Print(os.Stdout)
	}
}

// pageBytes is what a write of a byte counts as.
const pageBytes = 4096

// writes is how many bytes a process had the disk write. What wakes the threads of Go's
// runtime are writes too, but to no disk.
func writes(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	return int64(metric(t, strings.ReplaceAll(string(text), ":", ""), "write_bytes"))
}

// metric is the value of a line that begins with a name.
func metric(t *testing.T, text, name string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("there is no %s in\n%s", name, text)
	return 0
}
