//go:build bench

package policy_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// TestFigures measures decisions of the defaults. The same decision by other
// engines is in testdata/peers.
func TestFigures(t *testing.T) {
	points := policy.AllPoints()
	p := policy.New(points, policy.Options{})
	ctx := context.Background()
	in, gate := cooling(), &policypoint.GateInput{Successes: 5, RelevantTurns: 9, Q: 0.9}
	samples := coretest.Interleave(101, 1000,
		func() { p.Retention(ctx, nil, in) },
		func() { p.Gate(ctx, nil, gate) },
	)
	for i, f := range []coretest.Figure{
		{Name: "retention decision", Unit: "µs", Target: 1.5},
		{Name: "gate decision", Unit: "µs"},
	} {
		f.Value, f.Note = samples[i].Micros(0.1), "10th percentile of 101 turns of 1,000"
		f.Print(os.Stdout)
	}
	ten := coretest.Interleave(31, 1, func() {
		for range 10_000 {
			p.Retention(ctx, nil, in)
		}
	})[0]
	coretest.Figure{Name: "10,000 retention decisions", Value: ten.Micros(0.1) / 1e3, Unit: "ms", Target: 20, Note: fmt.Sprintf("10th percentile of 31; median %.1f", ten.Micros(0.5)/1e3)}.Print(os.Stdout)

	began := time.Now()
	record := gateRecord(began, map[string]any{"verdict": "retain"})
	if _, err := points.Defaults().Replay(ctx, recordsOf(record, 100_000), policy.ReplayOptions{Since: time.Time{}}); err != nil {
		t.Fatal(err)
	}
	coretest.Figure{Name: "replay of 100,000 gate decisions", Value: time.Since(began).Seconds(), Unit: "s", Target: 10}.Print(os.Stdout)
}
