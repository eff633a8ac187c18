//go:build bench

package job_test

import (
	"os"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// TestFigures measures the queue with 10,000 jobs of 1,000 users: what it takes to find the
// next, after many starts, to start it with a commit that waits for the disk, and to ask for a
// job that runs.
func TestFigures(t *testing.T) {
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir()})
	must(t, err)
	defer s.Close()
	ctx := t.Context()
	r := crowd(t, s, 1000, 10)
	claim := func() *job.Claimed {
		c, err := r.Claim(ctx, "h", job.Types())
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		return c
	}
	for range 1000 {
		must(t, r.Release(ctx, claim().Held))
	}
	var held []job.Lease
	running := claim()
	figures := coretest.Interleave(21, 20, func() {
		must(t, s.View(ctx, func(reader core.Reader) error {
			_, err := r.NextReady(reader, job.Types())
			return err
		}))
	}, func() { held = append(held, claim().Held) }, func() {
		if _, err := r.Peek(ctx, running.ID); err != nil {
			t.Fatal(err)
		}
	})
	for i, f := range []coretest.Figure{
		{Name: "next job found, of 10,000 of 1,000 users", Target: 100},
		{Name: "job claimed, with its commit", Target: 1000},
		{Name: "poll of a running job", Target: 25},
	} {
		f.Value, f.Unit = figures[i].Micros(0.5), "µs"
		f.Print(os.Stdout)
	}
	for _, l := range held {
		must(t, r.Release(ctx, l))
	}
}
