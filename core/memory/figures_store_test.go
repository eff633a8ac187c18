//go:build bench

package memory_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// commitFigures measures memories that are stored one by one and durably, by one
// writer and by 64 in namespaces of their own, against a bare fdatasync of as many
// bytes.
func commitFigures(t *testing.T, name string, e core.Embedder) {
	const rounds, calls, writers = 7, 100, 64
	w, dir := durable(t, e)
	bytes, alone := figureRaw(t, w, dir)
	observe := func(writer int) error { return observeIn(t, w, fmt.Sprint("writer/", writer)) }
	var one, base, rate, used coretest.Samples
	for round := range rounds + 1 {
		a, b := figureRun(t, 1, calls, observe), figureRun(t, 1, calls, alone)
		start, before := time.Now(), coretest.ProcessorTime()
		figureRun(t, writers, calls, observe)
		if round > 0 { // the first warms up
			one, base = append(one, a...), append(base, b...)
			rate = append(rate, time.Since(start)/(writers*calls))
			used = append(used, (coretest.ProcessorTime()-before)/(writers*calls))
		}
	}
	f := coretest.Ratio("durable observe, "+name+", over fdatasync", one, base, 1.6)
	f.Note += fmt.Sprintf(", of %d bytes", bytes)
	f.Print(os.Stdout)
	coretest.Figure{
		Name: "observes at 64 writers over 1, " + name, Value: one.Micros(0.5) / rate.Micros(0.5), Unit: "×", Target: coretest.SharedSyncs(base), AtLeast: true,
		Note: fmt.Sprintf("%.0f over %.0f observes/s, each %.0f µs of processor time", 1e6/rate.Micros(0.5), 1e6/one.Micros(0.5), used.Micros(0.5)),
	}.Print(os.Stdout)
}

// durable are memories as a host has them.
func durable(t *testing.T, e core.Embedder) (w *memory.Memories, dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if w, err = memory.New(memory.Options{Store: s, Embedder: e}); err != nil {
		t.Fatal(err)
	}
	return w, dir
}

func observeIn(t *testing.T, w *memory.Memories, namespace string) error {
	_, err := w.Observe(t.Context(), &core.ObserveRequest{Namespace: namespace, Title: "a lesson", Content: strings.Repeat("what was learned ", 12)})
	return err
}

// figureRaw returns how many bytes the log gets for a memory, and a bare commit of
// as many.
func figureRaw(t *testing.T, w *memory.Memories, dir string) (bytes int, commit func(int) error) {
	t.Helper()
	const sample = 20
	before := logBytes(t, dir)
	for range sample {
		if err := observeIn(t, w, "writer/0"); err != nil {
			t.Fatal(err)
		}
	}
	data := make([]byte, (logBytes(t, dir)-before)/sample)
	f, err := os.Create(filepath.Join(t.TempDir(), "raw"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return len(data), func(int) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return syscall.Fdatasync(int(f.Fd()))
	}
}

func logBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// figureRun makes writers call fn with their number, each so often, and returns how
// long the calls took.
func figureRun(t *testing.T, writers, calls int, fn func(writer int) error) coretest.Samples {
	took := make(coretest.Samples, writers*calls)
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for i := range calls {
				start := time.Now()
				if err := fn(writer); err != nil {
					t.Error(err)
					return
				}
				took[writer*calls+i] = time.Since(start)
			}
		})
	}
	all.Wait()
	return took
}

// getFigure reads memories of the whole store, at random. It opens the store again for
// each round: rounds differ by half.
func getFigure(t *testing.T, dir string, ids []string) {
	var took, used coretest.Samples
	for round := range 9 {
		w, done := openFigures(t, dir)
		before := coretest.ProcessorTime()
		got := randomGets(t, w, ids, uint64(round))
		used = append(used, (coretest.ProcessorTime()-before)/time.Duration(len(got)))
		took = append(took, got[len(got)/10:]...) // the first fill the cache
		done()
	}
	coretest.Figure{
		Name: "get of a memory", Value: took.Micros(0.5), Unit: "µs", Target: 25,
		Note: fmt.Sprintf("p10 %.1f, p90 %.1f µs, at random, of 9 opens; %.1f µs of processor time", took.Micros(0.1), took.Micros(0.9), used.Micros(0.5)),
	}.Print(os.Stdout)
}

// randomGets returns how long each of many reads took.
func randomGets(t *testing.T, w *memory.Memories, ids []string, seed uint64) (took coretest.Samples) {
	rnd := rand.New(rand.NewPCG(3, seed))
	for range 20_000 {
		id := ids[rnd.IntN(len(ids))]
		start := time.Now()
		if _, err := w.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	return took
}

// storeFigures check, export and import the store.
func storeFigures(t *testing.T, dir string) {
	s, parts := openParts(t, dir)
	stop := stopwatch("store check")
	if n, err := store.Check(t.Context(), s, parts, func(p core.Problem) { t.Error(p) }); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	stop("")
	f, err := os.Create(filepath.Join(t.TempDir(), "export"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop = stopwatch("store export")
	moved, err := store.Export(t.Context(), s, f, store.Derived(parts), nil)
	if err != nil {
		t.Fatal(err)
	}
	stop(fmt.Sprintf("%d records, %d MB", moved.Records, moved.Bytes>>20))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	fresh, parts := openParts(t, t.TempDir())
	stop = stopwatch("store import")
	if _, err := store.Import(t.Context(), fresh, f, parts, nil); err != nil {
		t.Fatal(err)
	}
	stop("with a check of all of it")
}

// stopwatch returns what prints how long something took since.
func stopwatch(name string) func(note string) {
	start, used := time.Now(), coretest.ProcessorTime()
	return func(note string) {
		took, computed := time.Since(start), coretest.ProcessorTime()-used
		coretest.Figure{
			Name: name, Value: took.Seconds(), Unit: "s",
			Note: strings.TrimPrefix(fmt.Sprintf("%s, %.1f s of processor time", note, computed.Seconds()), ", "),
		}.Print(os.Stdout)
	}
}

func openParts(t *testing.T, dir string) (core.Store, []core.Checker) {
	t.Helper()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: dir, Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w, err := memory.New(memory.Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	return s, []core.Checker{journal.Checker{}, w}
}
