//go:build bench && linux

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/metrics"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

const (
	figureRounds = 21 // turns of each, interleaved
	figureLoops  = 20 // loops a turn
	iterations   = 3
)

// TestFigures measures a loop of three iterations, with and without durability,
// in process and on plugins, as a multiple of what its commits cost on the bare disk.
func TestFigures(t *testing.T) {
	w := newWorld(t)
	tally := filepath.Join(w.dir, "tally")
	runs := openFigureStore(t, w.dir)
	functions := loop.Options{Generator: constant, Corrector: constant, Evaluator: passesAtThird}
	plugins := pluginLoop(t, tally)
	governed := functions
	governed.Policy = policy.New(policy.AllPoints(), policy.Options{Log: func(context.Context, *policy.Record) {}})

	counted := functions
	counted.Observer = metrics.New().Observe().Work

	s := coretest.Interleave(figureRounds, figureLoops,
		syncs(t, filepath.Join(w.dir, "raw"), 2*iterations),
		runLoop(t, functions, nil), runLoop(t, functions, runs),
		runLoop(t, plugins, nil), runLoop(t, plugins, runs), runLoop(t, governed, nil), runLoop(t, counted, nil))
	fsyncs := s[0]
	for _, f := range []struct {
		name   string
		loop   coretest.Samples
		floor  float64
		target float64
	}{
		{"3-iteration loop in process, not durable", s[1], 0, 0},
		{"durable 3-iteration loop in process, over fsyncs", s[2], fsyncs.Micros(0.5), 100},
		{"3-iteration loop on plugins, not durable", s[3], 0, 0},
		{"durable 3-iteration loop on plugins, over fsyncs", s[4], fsyncs.Micros(0.5), 600},
	} {
		coretest.Figure{
			Name: f.name, Value: f.loop.Micros(0.5) - f.floor, Unit: "µs", Target: f.target,
			Note: fmt.Sprintf("%.0f µs (p10 %.0f); %d fdatasyncs take %.0f µs (p10 %.0f)",
				f.loop.Micros(0.5), f.loop.Micros(0.1), 2*iterations, fsyncs.Micros(0.5), fsyncs.Micros(0.1)),
		}.Print(os.Stdout)
	}
	coretest.Figure{
		Name: "the default loop policy, an iteration", Value: (s[5].Micros(0.5) - s[1].Micros(0.5)) / iterations, Unit: "µs", Target: 10,
		Note: fmt.Sprintf("a loop of %d takes %.0f µs with it and %.0f µs without", iterations, s[5].Micros(0.5), s[1].Micros(0.5)),
	}.Print(os.Stdout)
	coretest.Figure{
		Name: "metrics, an iteration", Value: (s[6].Micros(0.5) - s[1].Micros(0.5)) / iterations, Unit: "µs", Target: 1,
		Note: fmt.Sprintf("a loop of %d takes %.0f µs with them and %.0f µs without", iterations, s[6].Micros(0.5), s[1].Micros(0.5)),
	}.Print(os.Stdout)
	allocations(t, functions)
}

// allocations counts the engine's own: the allocations of a loop of 20 iterations
// minus the allocations of a loop of 10, whose steps allocate next to nothing.
func allocations(t *testing.T, o loop.Options) {
	o.Evaluator = sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		return &sdk.EvaluateResponse{}, nil
	})
	count := func(n int) float64 {
		o.MaxIterations = n
		return testing.AllocsPerRun(50, func() { _, _ = loop.Run(context.Background(), &o) })
	}
	coretest.Figure{Name: "the engine's allocations an iteration", Value: (count(20) - count(10)) / 10, Target: 50}.Print(os.Stdout)
}

type constantOutput struct{}

var constant constantOutput

func (constantOutput) Generate(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	return &sdk.GenerateResponse{Output: json.RawMessage(`{"name":"Ada"}`)}, nil
}

func (constantOutput) Correct(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	return &sdk.CorrectResponse{Output: json.RawMessage(`{"name":"Ada"}`)}, nil
}

var passesAtThird = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: req.Iteration == iterations}}, nil
})

// pluginLoop is the same loop on a subprocess plugin, for each step.
func pluginLoop(t *testing.T, tally string) loop.Options {
	t.Helper()
	installed := []plugin.Installed{{Name: "test/tally", Path: filepath.Join(programs, "tally")}}
	supervisor := plugin.NewSupervisor(plugin.Options{Installed: installed, Driver: process.New(process.Options{})})
	t.Cleanup(func() { _ = supervisor.Close() })
	target := core.Target{Plugin: "test/tally", Config: jsontext.MustEncode(map[string]any{"passes": iterations})}.WithDigest()
	return loop.Options{
		Generator: core.PluginGenerator(supervisor, target), Evaluator: core.PluginEvaluator(supervisor, target),
		Corrector: core.PluginCorrector(supervisor, target),
	}
}

// runLoop runs a loop; with runs it is durable, in a run that was created before.
func runLoop(t *testing.T, o loop.Options, runs *corerun.Repository) func() {
	ids := &core.SystemIDs{}
	var created []*core.Run
	for range (figureRounds + 1) * figureLoops {
		if runs == nil {
			break
		}
		run := &core.Run{ID: ids.NewID(), Workflow: "figures"}
		if err := runs.Create(context.Background(), run); err != nil {
			t.Fatal(err)
		}
		created = append(created, run)
	}
	return func() {
		o := o
		if runs != nil {
			run := created[0]
			created = created[1:]
			o.Recorder, o.RunID, o.Visit, o.Node = runs.Recorder(run).Attempts(1, "work"), run.ID, 1, "work"
		}
		if r, err := loop.Run(context.Background(), &o); err != nil || r.Iteration != iterations {
			t.Error(r, err)
		}
	}
}

func openFigureStore(t *testing.T, dir string) *corerun.Repository {
	t.Helper()
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return corerun.NewRepository(db, core.SystemClock{})
}

// syncs writes and syncs as often as a loop commits, with as many bytes as a commit has.
func syncs(t *testing.T, path string, n int) func() {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	record := make([]byte, 1200)
	return func() {
		for range n {
			if _, err := f.Write(record); err != nil {
				t.Error(err)
			}
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				t.Error(err)
			}
		}
	}
}
