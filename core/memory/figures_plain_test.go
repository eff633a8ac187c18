//go:build bench

package memory_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/mem"
)

// plain is BM25 over words as they are: what recall without a model is measured by.
type plain struct {
	postings map[string][]posting
	lengths  []float64
	sum      float64
	scores   []float64
}

type posting struct {
	doc   uint32
	times float32
}

func (p *plain) add(text string) {
	times := map[string]float32{}
	words := strings.Fields(strings.ToLower(text))
	for _, w := range words {
		times[w]++
	}
	for w, n := range times {
		p.postings[w] = append(p.postings[w], posting{uint32(len(p.lengths)), n})
	}
	p.lengths = append(p.lengths, float64(len(words)))
	p.scores = append(p.scores, 0)
	p.sum += float64(len(words))
}

// best returns the k documents with the highest scores.
func (p *plain) best(query string, k int) (best []uint32) {
	const k1, b = 0.9, 0.4
	mean := p.sum / float64(len(p.lengths))
	var found []uint32
	for _, w := range strings.Fields(strings.ToLower(query)) {
		list := p.postings[w]
		weight := math.Log(1 + (float64(len(p.lengths)-len(list))+.5)/(float64(len(list))+.5))
		for _, o := range list {
			if p.scores[o.doc] == 0 {
				found = append(found, o.doc)
			}
			times := float64(o.times)
			p.scores[o.doc] += weight * times * (k1 + 1) / (times + k1*(1-b+b*p.lengths[o.doc]/mean))
		}
	}
	for _, doc := range found {
		at := len(best)
		for at > 0 && p.scores[doc] > p.scores[best[at-1]] {
			at--
		}
		if at < k {
			best = slices.Insert(best, at, doc)
			best = best[:min(k, len(best))]
		}
	}
	for _, doc := range found {
		p.scores[doc] = 0
	}
	return best
}

// spoken makes words of letters of words with numbers, whose parts would be words too.
func spoken(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		n, _ := strconv.Atoi(w[1:])
		syllables := ""
		for n++; n > 0; n /= 60 {
			syllables += string("bdfgklmnprst"[n%60/5]) + string("aeiou"[n%5])
		}
		words[i] = syllables
	}
	return "the " + strings.Join(words, " ") + " of the"
}

// TestFiguresPlain compares recall without a model with a plain BM25 of the same texts, on one core,
// with queries of six words of a document, and in a store that takes no time.
func TestFiguresPlain(t *testing.T) {
	for _, size := range []int{10_000, coretest.Heavy(100_000, 1_000_000)} {
		w, err := memory.New(memory.Options{Store: mem.Open(), Embedder: embed.Hashed{}})
		if err != nil {
			t.Fatal(err)
		}
		p := &plain{postings: map[string][]posting{}}
		f := filler{Rand: rand.New(rand.NewPCG(1, 2))}
		f.words = rand.NewZipf(f.Rand, 1.1, 4, 50_000)
		var queries []string
		for range size / memory.MaxBatch {
			batch := f.batch("lot")
			for _, r := range batch {
				r.Title, r.Content = "", spoken(r.Content)
				p.add(r.Content)
			}
			words := strings.Fields(batch[0].Content)[1:]
			queries = append(queries, strings.Join(words[:6], " "))
			if _, _, err := w.ObserveAll(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		recall := func(query string) {
			r := &core.RecallRequest{Query: query}
			r.Namespace = "lot"
			if _, err := w.Recall(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
		recall("warm")
		runtime.GC()
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			const calls = 20
			var used [2]coretest.Samples
			n := 0
			ask := func(kind int, find func(query string)) func() {
				return func() {
					before := coretest.ProcessorTime()
					for i := range calls {
						find(queries[(n+i)%len(queries)])
					}
					used[kind] = append(used[kind], (coretest.ProcessorTime()-before)/calls)
					n += kind * calls
				}
			}
			coretest.Interleave(21, 1, ask(0, recall), ask(1, func(query string) { p.best(query, 40) }))
			coretest.Figure{
				Name: fmt.Sprintf("recall without a model over plain BM25, %d memories", size), Value: used[0].Micros(.5) / used[1].Micros(.5), Unit: "×", Target: 3,
				Note: fmt.Sprintf("%.2f ms of processor time, p10 %.2f; plain %.3f, %.3f", used[0].Micros(.5)/1e3, used[0].Micros(.1)/1e3, used[1].Micros(.5)/1e3, used[1].Micros(.1)/1e3),
			}.Print(os.Stdout)
		}()
		w.Close()
	}
}
