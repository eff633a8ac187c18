//go:build bench && cgo

package wasm

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm/testdata/native"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

const (
	rounds = 21 // turns of each, interleaved
	// modules is where the modules written in C are.
	modules = "../../../testdata/modules"
)

// TestFigures measures what the boundary costs, and what a guest's own speed is.
func TestFigures(t *testing.T) {
	d := benchDriver(t, t.TempDir())
	c := benchInstance(t, d, plugin.Installed{Path: modules + "/guest.wasm", Stateful: true})
	callFigures(t, d, c)
	workFigures(t, c)
	stopFigures(t, c)
	goFigures(t)
}

func benchDriver(t *testing.T, dir string) *Driver {
	t.Helper()
	d, err := New(Options{CacheDir: dir, VerdictCacheBytes: -1, RecycleCalls: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func benchInstance(t *testing.T, d *Driver, p plugin.Installed) *instance {
	t.Helper()
	p.Name = "guest"
	p.Limits.StartTimeout = 10 * time.Minute
	i, err := d.Start(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i.(*instance)
}

func benchConfig(what string) plugin.Config {
	b := json.RawMessage(`{"do":"` + what + `"}`)
	return plugin.Config{JSON: b, Digest: core.Digest(b)}
}

// evaluator makes one whole call.
func evaluator(t *testing.T, i *instance, what string, size int) func() {
	c := benchConfig(what)
	reqs := []*sdk.EvaluateRequest{{Output: json.RawMessage(`"` + strings.Repeat("words and ", size/10) + `"`)}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	t.Cleanup(cancel)
	return func() {
		if _, err := i.Evaluate(ctx, c, reqs); err != nil {
			t.Error(err)
		}
	}
}

// boundary passes a message to a guest and takes its reply, without any JSON.
func boundary(t *testing.T, i *instance, what string, size int) func() {
	t.Helper()
	evaluator(t, i, what, 10)()
	g := i.guest
	r := &request{op: abi.OpEvaluate, config: benchConfig(what), items: []json.RawMessage{[]byte(`{"output":"` + strings.Repeat("words and ", size/10) + `"}`)}}
	return func() {
		g.meter.begin(i.plugin.Limits.Fuel)
		if _, err := i.protocol.call(g, r); err != nil {
			t.Error(err)
		}
	}
}

func callFigures(t *testing.T, d *Driver, c *instance) {
	restored := benchInstance(t, d, plugin.Installed{Path: modules + "/guest.wasm"})
	fresh := func() {
		g, err := restored.newGuest(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		g.close()
	}
	s := coretest.Interleave(rounds, 500, boundary(t, c, "ok", 20), evaluator(t, c, "ok", 20), evaluator(t, restored, "ok", 20), fresh)
	micros("WASM boundary, small input", s[0], 2)
	micros("WASM evaluation, stateful", s[1], 0)
	micros("WASM evaluation, state put back", s[2], 0)
	micros("WASM fresh instance", s[3], 50)
}

func micros(name string, s coretest.Samples, target float64) {
	coretest.Figure{Name: name, Value: s.Micros(0.5), Unit: "µs", Target: target}.Print(os.Stdout)
}

// workFigures compares a 1 KB evaluation as a whole call with the same work in
// native code.
func workFigures(t *testing.T, c *instance) {
	r := &request{op: abi.OpEvaluate, config: benchConfig("check"), items: []json.RawMessage{[]byte(`{"output":"` + strings.Repeat("words and ", 102) + `"}`)}}
	text := appendRequest(nil, r, false, false)
	s := coretest.Interleave(rounds, 500, boundary(t, c, "check", 1020), func() { native.Check(text) })
	coretest.Ratio("1 KB C evaluator over native", s[0], s[1], 2).Print(os.Stdout)
	work := boundary(t, c, "work", 20)
	s = coretest.Interleave(rounds, 20, work)
	micros("WASM 300,000 turns of a loop, metered", s[0], 0)
}

// stopFigures measures how late a deadline ends an endless loop.
func stopFigures(t *testing.T, c *instance) {
	c.plugin.Limits.Fuel = 1 << 60
	var late coretest.Samples
	for range rounds {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		deadline, _ := ctx.Deadline()
		_, err := c.Evaluate(ctx, benchConfig("loop"), []*sdk.EvaluateRequest{{Output: json.RawMessage(`1`)}})
		late = append(late, time.Since(deadline))
		cancel()
		if sdk.CodeOf(err) != sdk.Timeout {
			t.Error(err)
		}
	}
	coretest.Figure{Name: "WASM deadline overshoot, p50", Value: late.Micros(0.5) / 1e3, Unit: "ms", Target: 5}.Print(os.Stdout)
}

// goFigures measures a Go guest, and compiled code from the cache.
func goFigures(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", path, ".")
	cmd.Dir, cmd.Env = "testdata/guest", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := benchDriver(t, dir)
	begin := time.Now()
	warm := benchInstance(t, d, plugin.Installed{Path: path})
	coretest.Figure{Name: "Go guest, first compilation", Value: time.Since(begin).Seconds() * 1e3, Unit: "ms"}.Print(os.Stdout)
	stateful := benchInstance(t, d, plugin.Installed{Path: path, Stateful: true})
	isolated := benchInstance(t, d, plugin.Installed{Path: path, Isolated: true})
	s := coretest.Interleave(rounds, 10, evaluator(t, stateful, "", 1000), evaluator(t, warm, "", 1000), evaluator(t, isolated, "", 1000))
	micros("Go guest evaluation, 1 KB, stateful", s[0], 0)
	micros("Go guest evaluation, 1 KB, state put back", s[1], 0)
	micros("Go guest evaluation, 1 KB, new instance", s[2], 0)
	compileFigure(t, dir, "small", modules+"/guest.wasm", 0.5)
	compileFigure(t, dir, "Go guest", path, 150)
}

// compileFigure measures how a driver gets at what another has compiled, once
// its runtime is set up.
func compileFigure(t *testing.T, dir, name, path string, target float64) {
	t.Helper()
	var took coretest.Samples
	for range rounds + 1 { // the first one compiles
		d := benchDriver(t, dir)
		if _, err := d.Compile(context.Background(), plugin.Installed{Name: "guest", Path: modules + "/table.wasm"}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := d.Compile(context.Background(), plugin.Installed{Name: "guest", Path: path}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	coretest.Figure{Name: "cached compilation, " + name, Value: took.Micros(0.5) / 1e3, Unit: "ms", Target: target}.Print(os.Stdout)
}
