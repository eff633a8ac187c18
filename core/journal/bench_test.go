package journal_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// BenchmarkRecord measures the root among many streams, of which few change: with
// marks, and by the scan of all heads that it does without.
func BenchmarkRecord(b *testing.B) {
	const changed = 10
	streams := 10_000
	if os.Getenv("REFLECTORY_STRESS") == "1" {
		streams = 100_000
	}
	disk, err := pebble.Open(b.Context(), pebble.Options{Dir: b.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		b.Fatal(err)
	}
	defer disk.Close()
	w := &journal.Writer{Store: disk, Clock: &coretest.Clock{}}
	change := func(from, to int) {
		for i := from; i < to; i++ {
			if err := w.Update(b.Context(), func(tx *journal.Tx) error { return tx.Append(fmt.Sprintf("run/%d", i), journal.RunResumed{}) }); err != nil {
				b.Fatal(err)
			}
		}
	}
	record := func() {
		if _, err := journal.Record(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	change(0, streams)
	start := time.Now()
	record()
	b.Logf("the first of %d streams: %v", streams, time.Since(start).Round(time.Millisecond))
	b.Run("nothing changed", func(b *testing.B) {
		for b.Loop() {
			record()
		}
	})
	b.Run("a few changed", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			change(0, changed)
			b.StartTimer()
			record()
		}
	})
	b.Run("scan of all heads", func(b *testing.B) {
		for b.Loop() {
			n := 0
			err := disk.View(b.Context(), func(r core.Reader) error {
				return journal.Streams(r, func(journal.StreamHead) (bool, error) { n++; return true, nil })
			})
			if err != nil || n != streams+1 {
				b.Fatal(n, err)
			}
		}
	})
}
