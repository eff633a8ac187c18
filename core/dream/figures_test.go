//go:build bench

package dream_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/text"
)

// TestFigures measures the candidates of a large namespace on one core, in processor time:
// the vectors are of 200 topics, and one in fifty nearly repeats another.
func TestFigures(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const memories, dims, fresh = 100_000, 384, 1_000
	rnd := rand.New(rand.NewPCG(16, 384))
	topics := make([][]float32, 200)
	for i := range topics {
		topics[i] = unit(rnd, dims)
	}
	records, planted := make([]dream.Record, memories), 0
	for i := range records {
		v := unit(rnd, dims)
		for d, x := range topics[rnd.IntN(len(topics))] {
			v[d] += x // a cosine of about .5 in a topic
		}
		if i > 0 && rnd.IntN(50) == 0 {
			planted++
			v = slices.Clone(records[rnd.IntN(i)].Vector)
			for d, x := range unit(rnd, dims) {
				v[d] += .2 * x
			}
		}
		records[i] = dream.Record{
			ID: fmt.Sprintf("%08d", i), Kind: "fact", At: time.Unix(int64(i), 0), Form: fmt.Sprint("form ", i), Model: "m", Vector: scaled(v), New: i >= memories-fresh,
		}
	}
	near := map[string]float64{"m": .92}
	measure := func(name string, target float64, do func() (note string)) {
		before := coretest.ProcessorTime()
		note := do()
		coretest.Figure{Name: name, Value: (coretest.ProcessorTime() - before).Seconds(), Unit: "s", Target: target, Note: note + ", processor time"}.Print(os.Stdout)
	}
	measure("dream: 1,000 new among 100,000 × 384", 10, func() string {
		return fmt.Sprintf("%d pairs", len(dream.Candidates(records, dream.CandidateOptions{Near: near})))
	})
	measure("dream: all 100,000 × 384", 60, func() string {
		return fmt.Sprintf("%d pairs, at least %d to find", len(dream.Candidates(records, dream.CandidateOptions{Near: near, Full: true})), planted)
	})
	pairs, err := dream.LabelledPairs(nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, memories)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s, and %s (seen %d times)", pairs[i%len(pairs)].A, pairs[(i/7)%len(pairs)].B, i)
	}
	measure("dream: 100,000 normal forms", 2, func() string {
		bytes := 0
		for _, s := range texts {
			bytes += len(text.Normal(s))
		}
		return fmt.Sprintf("%d bytes each", bytes/memories)
	})
	measure("dream: 10,000 comparisons of two texts", 0, func() string {
		merged := 0
		for i := range 10_000 {
			if dream.Compare(texts[i], texts[i+1]).Merge {
				merged++
			}
		}
		return fmt.Sprintf("%d merge", merged)
	})
}
