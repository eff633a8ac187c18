package dream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/vector"
)

func day(n int) time.Time { return time.Date(2026, time.May, n, 0, 0, 0, 0, time.UTC) }

func TestCandidates_EqualForms(t *testing.T) {
	records := []dream.Record{
		{ID: "a", Kind: "fact", At: day(1), Form: "x"},
		{ID: "b", Kind: "fact", At: day(3), Form: "x"},
		{ID: "c", Kind: "fact", At: day(3), Form: "x", New: true},
		{ID: "d", Kind: "event", At: day(4), Form: "x", New: true},
		{ID: "e", Kind: "fact", At: day(5), Form: "y", New: true},
		{ID: "f", Kind: "fact", At: day(6), New: true},
		{ID: "g", Kind: "fact", At: day(7), New: true},
	}
	form := func(newer, older int) dream.Pair { return dream.Pair{Newer: newer, Older: older, By: dream.ByForm} }
	if got, want := dream.Candidates(records, dream.CandidateOptions{}), []dream.Pair{form(2, 1), form(2, 0)}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := dream.Candidates(records, dream.CandidateOptions{Full: true}), []dream.Pair{form(2, 1), form(2, 0), form(1, 0)}; !slices.Equal(got, want) {
		t.Errorf("full: %+v, want %+v", got, want)
	}
}

func TestCandidates_ManyCopiesAreComparedWithTheNewest(t *testing.T) {
	var records []dream.Record
	for i := range 1000 {
		records = append(records, dream.Record{ID: fmt.Sprint(i), At: day(i % 28), Form: "x"})
	}
	pairs := dream.Candidates(records, dream.CandidateOptions{Full: true})
	newest := pairs[0].Newer
	met := map[int]bool{}
	for _, p := range pairs {
		if p.Newer == newest {
			met[p.Older] = true
		}
	}
	if len(pairs) > dream.MaxPairs*len(records) || len(met) != len(records)-1 {
		t.Errorf("%d pairs, the newest with %d", len(pairs), len(met))
	}
}

// TestCandidates_NearVectorsAreExact compares with the definition, at thresholds that some
// pairs reach exactly.
func TestCandidates_NearVectorsAreExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		dims := []int{3, 40, 64, 200, 384}[rnd.IntN(5)]
		var records []dream.Record
		for i := range 60 {
			v := unit(rnd, dims)
			if i > 0 && rnd.IntN(2) == 0 {
				v = slices.Clone(records[rnd.IntN(i)].Vector)
				if v[0] += float32(rnd.NormFloat64() * .2); v[0] == 0 {
					v[0] = 1
				}
				v = scaled(v)
			}
			if rnd.IntN(15) == 0 {
				clear(v)
			}
			records = append(records, dream.Record{
				ID: fmt.Sprint(i), At: day(rnd.IntN(28)), Kind: []string{"a", "b"}[rnd.IntN(2)], Model: []string{"m", "n", "other"}[rnd.IntN(3)],
				Vector: v, New: rnd.IntN(4) == 0, Form: fmt.Sprint("form ", rnd.IntN(200)),
			})
		}
		near := map[string]float64{"m": .9, "n": .97}
		for i := range records[:10] { // the threshold is inclusive
			if c := vector.Cosine(records[i].Vector, records[i+1].Vector); c > .5 {
				near["m"] = c
			}
		}
		for _, full := range []bool{false, true} {
			var want []dream.Pair
			for i, a := range records {
				for j, b := range records {
					least, wanted := near[a.Model]
					newer := a.At.After(b.At) || a.At.Equal(b.At) && a.ID > b.ID
					if !newer || a.Kind != b.Kind || !full && !a.New && !b.New {
						continue
					}
					if a.Form == b.Form {
						want = append(want, dream.Pair{Newer: i, Older: j, By: dream.ByForm})
					} else if c := vector.Cosine(a.Vector, b.Vector); wanted && a.Model == b.Model && c >= least {
						want = append(want, dream.Pair{Newer: i, Older: j, By: dream.ByVectors, Cosine: c})
					}
				}
			}
			got := dream.Candidates(records, dream.CandidateOptions{Full: full, Near: near})
			if len(got) != len(want) {
				t.Fatalf("%d dimensions, full %v: %d pairs, want %d", dims, full, len(got), len(want))
			}
			for _, p := range want {
				if !slices.Contains(got, p) {
					t.Fatalf("%+v is missing", p)
				}
			}
		}
	}
}

func unit(rnd *rand.Rand, dims int) []float32 {
	v := make([]float32, dims)
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
	}
	return scaled(v)
}
