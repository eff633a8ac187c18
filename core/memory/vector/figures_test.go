//go:build bench

package vector_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// TestFigures measures exact scans on one core, and that they find what is there
// to find.
func TestFigures(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rnd := rand.New(rand.NewPCG(7, 8))
	const dims = 384
	for _, size := range []struct {
		vectors int
		target  float64 // ms
	}{{10_000, 1.5}, {100_000, 20}} {
		x, now := index(t, dims), map[uint32][]float32{}
		for doc := range uint32(size.vectors) {
			now[doc] = random(rnd, dims)
			if err := x.Put(doc, now[doc]); err != nil {
				t.Fatal(err)
			}
		}
		q := random(rnd, dims)
		var used coretest.Samples
		s := coretest.Interleave(31, 1, func() {
			before := coretest.ProcessorTime()
			if _, err := x.Top(q, 20, nil); err != nil {
				t.Error(err)
			}
			used = append(used, coretest.ProcessorTime()-before)
		})
		found := 0
		got, _ := x.Top(q, 20, nil)
		for i, w := range slow(now, q, 20, nil) {
			if got[i].Doc == w.Doc {
				found++
			}
		}
		name := fmt.Sprintf("exact scan of %d × %d, one core", size.vectors, dims)
		coretest.Figure{
			Name: name, Value: s[0].Micros(0.5) / 1e3, Unit: "ms", Target: size.target,
			Note: fmt.Sprintf("p10 %.2f ms, %.2f ms of processor time, %d MB", s[0].Micros(0.1)/1e3, used.Micros(0.5)/1e3, x.Bytes()>>20),
		}.Print(os.Stdout)
		coretest.Figure{Name: name + ": recall", Value: float64(found) / 20, Target: 1, AtLeast: true}.Print(os.Stdout)
	}
}
