//go:build bench

package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

const (
	rounds = 21  // turns of each, interleaved
	calls  = 300 // calls a turn
)

// TestFigures measures a plugin's step and its cold start against what bounds
// them, in one run.
func TestFigures(t *testing.T) {
	stepFigures(t)
	rateFigures(t)
	startFigures(t)
}

// stepper makes one call of 1 KB in and 200 bytes out to a plugin that takes some
// at a time.
func stepper(t *testing.T, plain bool, parallel int) func() {
	t.Helper()
	p := self(t, "serve")
	p.Limits.Parallel = parallel
	i := start(t, process.Options{PlainText: plain}, p)
	config := do("pad")
	req := []*sdk.EvaluateRequest{{Output: json.RawMessage(`"` + strings.Repeat("x", requestBytes) + `"`)}}
	return func() {
		if _, err := i.Evaluate(context.Background(), config, req); err != nil {
			t.Error(err)
		}
	}
}

func stepFigures(t *testing.T) {
	raw, unary := checked(t, rawCall(t)), checked(t, unaryCall(t))
	s := coretest.Interleave(rounds, calls, raw, unary, stepper(t, true, 1), stepper(t, false, 1))
	coretest.Ratio("plugin step over a raw socket", s[2], s[0], 3).Print(os.Stdout)
	coretest.Ratio("plugin step over go-plugin unary", s[2], s[1], 0.6).Print(os.Stdout)
	coretest.Ratio("plugin step with TLS over a raw socket", s[3], s[0], 0).Print(os.Stdout)
}

// checked makes a call that fails the test where it fails.
func checked(t *testing.T, call func(context.Context) error) func() {
	return func() {
		if err := call(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// rateFigures counts the calls of eight callers at once.
func rateFigures(t *testing.T) {
	const callers, each = 8, 4000
	for plain, target := range map[bool]float64{true: 35_000, false: 30_000} {
		step := stepper(t, plain, callers)
		s := coretest.Interleave(5, 1, func() {
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for range each {
						step()
					}
				})
			}
			all.Wait()
		})
		coretest.Figure{
			Name: fmt.Sprintf("plugin calls at 8 callers, TLS %t", !plain), Unit: "calls/s", Target: target, AtLeast: true,
			Value: callers * each / s[0].At(0.5).Seconds(),
		}.Print(os.Stdout)
	}
}

// startFigures compares a plugin's start up to its first answer with starting
// the same program and waiting until it has read its arguments and ended.
func startFigures(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cold := func(o process.Options, processes int) func() {
		d, p, config := process.New(o), self(t, "serve"), do("pad")
		p.Limits.Processes = processes
		return func() {
			i, err := d.Start(context.Background(), p)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := i.Evaluate(context.Background(), config, []*sdk.EvaluateRequest{{Output: json.RawMessage(`1`)}}); err != nil {
				t.Error(err)
			}
			i.Kill(context.Canceled)
		}
	}
	run := func() {
		if err := exec.Command(path, "plugin", "none").Run(); err != nil {
			t.Error(err)
		}
	}
	bare, plain := process.Options{Sandbox: sandbox.Off}, process.Options{Sandbox: sandbox.Off, PlainText: true}
	s := coretest.Interleave(rounds, 1, run, cold(plain, 1), cold(bare, 1), cold(process.Options{}, 1), cold(process.Options{}, 2))
	coretest.Ratio("cold start without sandbox over fork/exec of the same program", s[2], s[0], 1.3).Print(os.Stdout)
	coretest.Ratio("cold start with sandbox over fork/exec of the same program", s[3], s[0], 2.5).Print(os.Stdout)
	coretest.Ratio("cold start with sandbox and processes: 2", s[4], s[0], 0).Print(os.Stdout)
	coretest.Figure{
		Name: "cold start, what mutual TLS adds", Unit: "ms", Target: 10,
		Value: (s[2].At(0.5) - s[1].At(0.5)).Seconds() * 1e3,
		Note:  fmt.Sprintf("%s with, %s without", s[2].At(0.5).Round(time.Microsecond), s[1].At(0.5).Round(time.Microsecond)),
	}.Print(os.Stdout)
}
