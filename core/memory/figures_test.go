//go:build bench

package memory_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/pebble"
)

const (
	// docBatch is the size of the namespace that recall is measured in (BENCH: 100,000).
	lot = 100_000
	// others is how many more memories the store has next to it under REFLECTORY_STRESS=1,
	// which makes a million, in so many namespaces.
	others, otherNamespaces = 900_000, 9
	// sampled is which part of the memories is read one by one, and reported is
	// how many lie between two notes of how far the import is.
	sampled, reported = 50, 100_000
)

// noise makes vectors that are as good as any to be scanned, and faster to make
// than real ones. Queries get real ones.
type noise struct{ embed.Hashed }

func (n noise) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 1 {
		return n.Hashed.Embed(ctx, texts)
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		rnd := rand.New(rand.NewPCG(uint64(len(text)), uint64(text[0])<<8|uint64(text[len(text)-1])))
		v, sum := make([]float32, embed.Dims), 0.0
		for j := range v {
			v[j] = rnd.Float32() - 0.5
			sum += float64(v[j]) * float64(v[j])
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(sum))
		}
		vectors[i] = v
	}
	return vectors, nil
}

// TestFigures measures recall in a large namespace of a store on disk; with
// REFLECTORY_STRESS=1 in one of a million memories. Its parts may be run alone, as by
// -run '^TestFigures$/^(open|get|recall)$'.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	ids := write(t, dir)
	t.Run("open", func(t *testing.T) { openFigure(t, dir) })
	t.Run("get", func(t *testing.T) { getFigure(t, dir, ids) })
	t.Run("recall", func(t *testing.T) { recallFigures(t, dir) })
	t.Run("warm", func(t *testing.T) {
		w, done := openFigures(t, dir)
		defer done()
		warmFigure(t, w)
	})
	t.Run("upkeep", func(t *testing.T) { storeFigures(t, dir) })
	t.Run("commit", func(t *testing.T) {
		commitFigures(t, "without a vector", nil)
		commitFigures(t, "with a vector", embed.Hashed{})
	})
}

// openFigure opens the store several times. The first has the log of the last
// writes to work in.
func openFigure(t *testing.T, dir string) {
	var took, used coretest.Samples
	for range 15 {
		start, before := time.Now(), coretest.ProcessorTime()
		_, done := openFigures(t, dir)
		took, used = append(took, time.Since(start)), append(used, coretest.ProcessorTime()-before)
		done()
	}
	coretest.Figure{
		Name: "open of the memories", Value: ms(took.At(0.5)), Unit: "ms", Target: 50,
		Note: fmt.Sprintf("p10 %.1f ms, %.1f ms of processor time, before the indices are warm; the first, behind the import, %.1f ms",
			ms(took.At(0.1)), ms(used.At(0.5)), ms(took[0])),
	}.Print(os.Stdout)
}

// recallFigures measures cold recalls and warm ones.
func recallFigures(t *testing.T, dir string) {
	var took, used coretest.Samples
	for range 4 {
		_, first, computed, done := coldRecall(t, dir)
		took, used = append(took, first), append(used, computed)
		done()
	}
	coretest.Figure{Name: "what is kept of the index of a memory", Value: float64(keptBytes(t, dir)) / lot / 1024, Unit: "KB", Target: 1}.Print(os.Stdout)
	before := heap()
	w, first, computed, done := coldRecall(t, dir)
	defer done()
	took, used = append(took, first), append(used, computed)
	coretest.Figure{
		Name: "first recall in a cold namespace of 100,000", Value: ms(took.At(0.5)), Unit: "ms", Target: 150,
		Note: fmt.Sprintf("p10 %.0f ms, %.0f ms of processor time, from what is kept", ms(took.At(0.1)), ms(used.At(0.5))),
	}.Print(os.Stdout)
	p, _ := w.Warmth()
	grown := heap() - before
	coretest.Figure{
		Name: "memory of a recallable memory", Value: float64(grown) / float64(p.Documents) / 1024, Unit: "KB",
		Note: fmt.Sprintf("%d MB for %d, estimated as %d MB, %s resident", grown>>20, p.Documents, p.Bytes>>20, resident()),
	}.Print(os.Stdout)
	warmRecalls(t, w)
}

// keptBytes is how much is kept of indices, before the store compresses it.
func keptBytes(t *testing.T, dir string) (sum int) {
	t.Helper()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: dir, Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	view(t, s, func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("memory-index"), func(key, value []byte) (bool, error) {
			sum += len(key) + len(value)
			return true, nil
		})
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return sum
}

// coldRecall opens the store and recalls once, and returns how long the recall took,
// and how long it computed.
func coldRecall(t *testing.T, dir string) (w *memory.Memories, took, used time.Duration, done func()) {
	t.Helper()
	w, done = openFigures(t, dir)
	r := &core.RecallRequest{Query: "w7 w70 w700 w7000"}
	r.Namespace = "lot"
	start, before := time.Now(), coretest.ProcessorTime()
	if _, err := w.Recall(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return w, time.Since(start), coretest.ProcessorTime() - before, done
}

// warmFigure loads all, as a host does in the background.
func warmFigure(t *testing.T, w *memory.Memories) {
	start := time.Now()
	w.Warm()
	p, _ := w.Warmth()
	for p.Warm < p.Namespaces || p.Namespaces == 0 {
		if time.Since(start) > 10*time.Minute {
			t.Fatalf("not warm after 10 minutes: %+v", p)
		}
		time.Sleep(10 * time.Millisecond)
		p, _ = w.Warmth()
	}
	took := time.Since(start)
	coretest.Figure{
		Name: "warm-up in the background", Value: took.Seconds(), Unit: "s",
		Note: fmt.Sprintf("%d memories, %d MB of heap, %s resident", p.Documents, heap()>>20, resident()),
	}.Print(os.Stdout)
}

// resident is what the system says of the process's memory.
func resident() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// warmRecalls measures warm recalls on one core.
func warmRecalls(t *testing.T, w *memory.Memories) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := 0
	var used [3]coretest.Samples
	ask := func(kind int, change func(*core.RecallRequest)) func() {
		return func() {
			n++
			before := coretest.ProcessorTime()
			defer func() { used[kind] = append(used[kind], coretest.ProcessorTime()-before) }()
			r := &core.RecallRequest{Query: fmt.Sprintf("w%d and w%d of the w%d w1", n%9, n%97, n%991)}
			r.Namespace = "lot"
			change(r)
			if _, err := w.Recall(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
	}
	s := coretest.Interleave(41, 1,
		ask(0, func(*core.RecallRequest) {}),
		ask(1, func(r *core.RecallRequest) { r.Session, r.Turn = "s", int64(n) }),
		ask(2, func(r *core.RecallRequest) { r.Tags = []string{"tag7"} }))
	for i, figure := range []coretest.Figure{
		{Name: "recall in a namespace of 100,000, one core", Target: 25},
		{Name: "the same as a recorded turn"},
		{Name: "the same with a filter that 1 of 100 passes"},
	} {
		figure.Value, figure.Unit = s[i].Micros(0.5)/1e3, "ms"
		figure.Note = fmt.Sprintf("p10 %.1f ms, p90 %.1f ms; %.1f ms of processor time", s[i].Micros(0.1)/1e3, s[i].Micros(0.9)/1e3, used[i].Micros(0.5)/1e3)
		figure.Print(os.Stdout)
	}
}

// write makes the store, and returns some of its ids.
func write(t *testing.T, dir string) (ids []string) {
	t.Helper()
	w, done := openFigures(t, dir)
	defer done()
	f := filler{Rand: rand.New(rand.NewPCG(1, 2))}
	f.words = rand.NewZipf(f.Rand, 1.1, 4, 50_000)
	start, used := time.Now(), coretest.ProcessorTime()
	fill := func(namespace string, count int) {
		for range count / memory.MaxBatch {
			stored, _, err := w.ObserveAll(t.Context(), f.batch(namespace))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(stored); i += sampled {
				ids = append(ids, stored[i].ID)
			}
			if f.total%reported == 0 {
				t.Logf("%d memories after %s", f.total, time.Since(start).Round(time.Second))
			}
		}
	}
	fill("lot", lot)
	if os.Getenv("REFLECTORY_STRESS") != "" {
		for i := range otherNamespaces {
			fill(fmt.Sprint("others/", i), others/otherNamespaces)
		}
	}
	took := time.Since(start)
	r := &core.RecallRequest{Query: "w7"}
	r.Namespace = "lot"
	if _, err := w.Recall(t.Context(), r); err != nil { // so that its index is kept
		t.Fatal(err)
	}
	coretest.Figure{
		Name: "import with vectors, in batches of 1,000", Value: float64(f.total) / took.Seconds(), Unit: "memories/s",
		Note: fmt.Sprintf("%d in %s, %s of processor time", f.total, took.Round(time.Second), (coretest.ProcessorTime() - used).Round(time.Second)),
	}.Print(os.Stdout)
	settle(t)
	return ids
}

// settle waits until the store has put in order what was written: until the process
// computes for less than a twentieth of a second. On one core it would slow down what
// is measured next.
func settle(t *testing.T) {
	t.Helper()
	start := time.Now()
	for busy := true; busy; {
		if time.Since(start) > 10*time.Minute {
			t.Fatal("the store isn't in order after 10 minutes")
		}
		before := coretest.ProcessorTime()
		time.Sleep(time.Second)
		busy = coretest.ProcessorTime()-before > 50*time.Millisecond
	}
	t.Logf("in order %s after the import", time.Since(start).Round(time.Second))
}

// filler makes memories of words that are as frequent as in a language.
type filler struct {
	*rand.Rand
	words *rand.Zipf
	total int
}

func (f *filler) batch(namespace string) []*core.ObserveRequest {
	requests := make([]*core.ObserveRequest, memory.MaxBatch)
	for i := range requests {
		var b strings.Builder
		for range 20 + f.IntN(40) {
			fmt.Fprintf(&b, "w%d ", f.words.Uint64())
		}
		requests[i] = &core.ObserveRequest{
			Namespace: namespace, Title: fmt.Sprintf("lesson %d", f.total), Content: b.String(), Attributes: core.Attributes{Tags: []string{fmt.Sprint("tag", f.total%100)}},
		}
		f.total++
	}
	return requests
}

func openFigures(t *testing.T, dir string) (w *memory.Memories, done func()) {
	t.Helper()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: dir, Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	w, err = memory.New(memory.Options{Store: s, Embedder: noise{}})
	if err != nil {
		t.Fatal(err)
	}
	return w, func() {
		w.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
