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

// lot is the size of the namespace that recall is measured in (BENCH: 100,000), in
// parts that are stored at once; others is how many more memories the store has
// beside it under REFLECTORY_STRESS=1, which makes a million.
const (
	lot    = 100_000
	others = 900_000
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

// TestFigures measures recall in a large namespace of a store on disk.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	before := heap()
	start := time.Now()
	w, done := openFigures(t, dir)
	defer done()
	opened := time.Since(start)
	first := &core.RecallRequest{Query: "w7 w70 w700 w7000"}
	first.Namespace = "lot"
	start = time.Now()
	if _, err := w.Recall(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	loaded := time.Since(start)
	coretest.Figure{Name: "open of the memories", Value: ms(opened), Unit: "ms", Target: 50, Note: "before the indices are warm"}.Print(os.Stdout)
	p, _ := w.Warmth()
	coretest.Figure{
		Name: "first recall in a cold namespace of 100,000", Value: loaded.Seconds(), Unit: "s",
		Note: fmt.Sprintf("%.1f µs a memory", float64(loaded.Microseconds())/float64(p.Documents)),
	}.Print(os.Stdout)
	grown := heap() - before
	coretest.Figure{
		Name: "memory of a recallable memory", Value: float64(grown) / float64(p.Documents) / 1024, Unit: "KB",
		Note: fmt.Sprintf("%d MB for %d, estimated as %d MB; a vector is 1.5 KB", grown>>20, p.Documents, p.Bytes>>20),
	}.Print(os.Stdout)
	recallFigures(t, w)
}

// recallFigures measures warm recalls on one core.
func recallFigures(t *testing.T, w *memory.Memories) {
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

// write makes the store.
func write(t *testing.T, dir string) {
	t.Helper()
	w, done := openFigures(t, dir)
	defer done()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(rnd, 1.1, 4, 50_000)
	start, total := time.Now(), 0
	fill := func(namespace string, count int) {
		for done := 0; done < count; done += memory.MaxBatch {
			requests := make([]*core.ObserveRequest, memory.MaxBatch)
			for i := range requests {
				var b strings.Builder
				for range 20 + rnd.IntN(40) {
					fmt.Fprintf(&b, "w%d ", words.Uint64())
				}
				requests[i] = &core.ObserveRequest{
					Namespace: namespace, Title: fmt.Sprintf("lesson %d", total), Content: b.String(), Tags: []string{fmt.Sprint("tag", total%100)},
				}
				total++
			}
			if _, err := w.ObserveAll(t.Context(), requests); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("lot", lot)
	if os.Getenv("REFLECTORY_STRESS") != "" {
		for i := range 9 {
			fill(fmt.Sprint("others/", i), others/9)
		}
	}
	took := time.Since(start)
	coretest.Figure{
		Name: "import with vectors, in batches of 1,000", Value: float64(total) / took.Seconds(), Unit: "memories/s",
		Note: fmt.Sprintf("%d in %s", total, took.Round(time.Second)),
	}.Print(os.Stdout)
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
