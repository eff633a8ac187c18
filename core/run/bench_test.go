package run_test

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// BenchmarkRecord records a loop's attempt and its verdict, without waiting for
// the disk: what a record costs in our own work and the engine's.
func BenchmarkRecord(b *testing.B) {
	s, err := pebble.Open(b.Context(), pebble.Options{Dir: b.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	runs := run.NewRepository(s, core.SystemClock{})
	b.ReportAllocs()
	var loop core.AttemptRecorder
	for i := 0; b.Loop(); i++ {
		n := i % 100
		if n == 0 {
			run := &core.Run{ID: fmt.Sprint("run-", i), Workflow: "w"}
			if err := runs.Create(b.Context(), run); err != nil {
				b.Fatal(err)
			}
			loop = runs.Recorder(run).Attempts(1, "work")
		}
		if err := loop.RecordOutput(b.Context(), output(n+1)); err != nil {
			b.Fatal(err)
		}
		if err := loop.RecordVerdict(b.Context(), judged(n+1)); err != nil {
			b.Fatal(err)
		}
	}
}
