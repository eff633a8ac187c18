//go:build bench && linux

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
)

// idleTime is how long the server is watched.
const idleTime = 2 * time.Minute

// builtServer is the program itself, and a server that it runs on a folder.
type builtServer struct {
	serving
	program, data string
	process       *os.Process
}

// startBuilt builds the program, fills its folder, and starts a server on that.
func startBuilt(t *testing.T, fill func(data string)) *builtServer {
	t.Helper()
	dir := t.TempDir()
	s := &builtServer{serving: serving{t: t}, program: filepath.Join(dir, "reflectory"), data: filepath.Join(dir, "data")}
	buildStatic(t, s.program, "../../../host")
	fill(s.data)
	server := exec.Command(s.program, "serve", "--json", "--listen", "127.0.0.1:0", "--data-dir", s.data)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = server.Process
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	if err := json.NewDecoder(out).Decode(&s.served); err != nil {
		t.Fatal(err)
	}
	return s
}

// buildStatic builds a program as in a release.
func buildStatic(t *testing.T, program string, args ...string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-tags", "pebblegozstd", "-ldflags", "-s -w", "-o", program}, args...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// buildFloor builds a program that prints a line, with all libraries of ours: what they set up before
// main begins is the floor of a start.
func buildFloor(t *testing.T, dir string) (program string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "pebblegozstd", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "../../../host")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	packages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var main strings.Builder
	main.WriteString("package main\n\nimport (\n")
	for path := range strings.FieldsSeq(string(packages)) {
		if !strings.HasPrefix(path, "github.com/reflectory/") && !slices.Contains(strings.Split(path, "/"), "internal") {
			fmt.Fprintf(&main, "\t_ %q\n", path)
		}
	}
	main.WriteString(")\n\nfunc main() { println(\"0.1.0\") }\n")
	file, err := filepath.Abs("floor/main.go") // it isn't there: only the build sees it
	if err != nil {
		t.Fatal(err)
	}
	source, overlay := filepath.Join(dir, "floor.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: source}})
	for path, content := range map[string][]byte{source: []byte(main.String()), overlay: replace} {
		err = errors.Join(err, os.WriteFile(path, content, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "floor")
	buildStatic(t, program, "-overlay", overlay, "./floor")
	return program
}

// command runs a command of the program while the server runs.
func (s *builtServer) command(args ...string) {
	if out, err := exec.Command(s.program, append(args, "--json", "--data-dir", s.data)...).CombinedOutput(); err != nil {
		s.t.Errorf("%s: %v\n%s", args, err, out)
	}
}

// TestFiguresServed measures commands that use a server, with the start of their program:
// one that reads a record, and a recall in 100,000 memories, whose index the server has in
// memory.
func TestFiguresServed(t *testing.T) {
	const memories, writers, namespace = 100_000, 64, "figures"
	s := startBuilt(t, func(data string) {
		h, err := host.Open(t.Context(), host.Config{Settings: figureSettings(t, data)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Close() }()
		ctx := core.WithCaller(t.Context(), core.Operator("figures"))
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := w; i < memories; i += writers {
					content := fmt.Sprintf("Task %d of topic %d ends with step %d.", i, i%997, i%31)
					if _, err := h.Memories.Observe(ctx, &core.ObserveRequest{Namespace: namespace, ID: fmt.Sprintf("m-%d", i), Content: content}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	recall := func() { s.command("memory", "recall", "steps of topic 17", "--namespace", namespace) }
	recall() // the first loads the namespace
	floor := buildFloor(t, t.TempDir())
	samples := coretest.Interleave(21, 1, func() { s.command("memory", "get", "m-17") }, recall, func() { s.command("--version") }, func() {
		if err := exec.Command(floor).Run(); err != nil {
			t.Error(err)
		}
	})
	for i, f := range []coretest.Figure{
		{Name: "a command with a server running, its start included", Target: 30},
		{Name: "… a recall in 100,000 memories", Target: 60},
		{Name: "the program's start (--version)", Target: 10},
	} {
		f.Value, f.Unit, f.Note = samples[i].Micros(0.5)/1000, "ms", fmt.Sprintf("p10 %.0f ms", samples[i].Micros(0.1)/1000)
		f.Print(os.Stdout)
	}
	coretest.Ratio("… over a program with the same libraries that does nothing", samples[2], samples[3], 1.3).Print(os.Stdout)
	program, err := os.Stat(s.program)
	if err != nil {
		t.Fatal(err)
	}
	coretest.Figure{Name: "the program's size, static and stripped", Value: float64(program.Size()) / 1e6, Unit: "MB", Target: 45}.Print(os.Stdout)
}

func figureSettings(t *testing.T, data string) *config.Config {
	t.Helper()
	settings, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": data}})
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

// TestFiguresIdle measures a server that nobody asks for anything: the program itself, on an
// empty store. Its first seconds, in which it opens the store and writes the operator's
// token, don't count.
func TestFiguresIdle(t *testing.T) {
	s := startBuilt(t, func(string) {})
	time.Sleep(10 * time.Second)
	before := writes(t, s.process.Pid)
	time.Sleep(idleTime)
	written := writes(t, s.process.Pid) - before
	_, metrics := s.get("/metrics")
	for _, f := range []coretest.Figure{
		{Name: "an idle server's memory", Value: metric(t, metrics, "process_resident_memory_bytes") / 1e6, Unit: "MB", Target: 80},
		{Name: "an idle server's goroutines", Value: metric(t, metrics, "go_goroutines"), Target: 40, Note: "the asking request's own included"},
		{Name: "an idle server's disk writes a minute", Value: float64(written) / pageBytes / idleTime.Minutes(), Target: 1, Note: "pages of 4 KiB"},
	} {
		f.Print(os.Stdout)
	}
}

// pageBytes is what a write of a byte counts as.
const pageBytes = 4096

// writes is how many bytes a process made the disk write. Go's runtime also wakes its
// threads by writes, but not to a disk.
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
