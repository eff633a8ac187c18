package vector_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/memory/top"
	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/sdk"
)

func byNumber(a, b uint32) int { return cmp.Compare(a, b) }

// random makes a vector of unit length.
func random(rnd *rand.Rand, dims int) []float32 {
	v := make([]float32, dims)
	sum := 0.0
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func index(t testing.TB, dims int) *vector.Index {
	t.Helper()
	x, err := vector.New(dims, byNumber)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// slow is what the nearest are by definition.
func slow(now map[uint32][]float32, q []float32, k int, keep func(uint32) bool) []top.Hit {
	var all []top.Hit
	for doc, v := range now {
		sum := 0.0
		for i := range v {
			sum += float64(q[i]) * float64(v[i])
		}
		if keep == nil || keep(doc) {
			all = append(all, top.Hit{Doc: doc, Score: sum})
		}
	}
	slices.SortFunc(all, func(a, b top.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return all[:min(k, len(all))]
}

// TestTopIsExact changes an index at random over several blocks, and compares
// what it finds with the definition.
func TestTopIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, dims := range []int{1, 3, 8, 384, 1000} {
		x, now := index(t, dims), map[uint32][]float32{}
		for range 3000 {
			doc := uint32(rnd.IntN(1000))
			if rnd.IntN(4) == 0 {
				x.Remove(doc)
				delete(now, doc)
				continue
			}
			now[doc] = random(rnd, dims)
			if err := x.Put(doc, now[doc]); err != nil {
				t.Fatal(err)
			}
		}
		if x.Len() != len(now) {
			t.Fatalf("%d vectors, want %d", x.Len(), len(now))
		}
		for _, keep := range []func(uint32) bool{nil, func(d uint32) bool { return d%7 == 0 }} {
			q := random(rnd, dims)
			got, err := x.Top(q, 10, keep)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range slow(now, q, 10, keep) {
				if math.Abs(got[i].Score-w.Score) > 2e-6 || dims > 1 && got[i].Doc != w.Doc {
					t.Errorf("%d dims, place %d: got %v, want %v", dims, i, got[i], w)
				}
			}
		}
		for doc := range uint32(1000) {
			x.Remove(doc)
		}
		if got, _ := x.Top(random(rnd, dims), 10, nil); len(got) != 0 || x.Bytes() != 0 {
			t.Errorf("an empty index has %v in %d bytes", got, x.Bytes())
		}
	}
}

func TestEqualSimilaritiesComeInOrder(t *testing.T) {
	x := index(t, 2)
	for _, doc := range []uint32{5, 2, 9, 4} {
		x.Put(doc, []float32{1, 0})
	}
	// Off by less than what processors differ by.
	x.Put(1, []float32{1 - 1e-7, 1e-4})
	got, _ := x.Top([]float32{1, 0}, 3, nil)
	if len(got) != 3 || got[0].Doc != 1 || got[1].Doc != 2 || got[2].Doc != 4 || got[0].Score != 1 {
		t.Errorf("got %v", got)
	}
}

func TestVectorsAreChecked(t *testing.T) {
	nan := float32(math.NaN())
	cases := []struct {
		name   string
		v      []float32
		reason string
	}{
		{"too few", []float32{1}, "vector_dimensions"},
		{"too many", []float32{1, 0, 0}, "vector_dimensions"},
		{"none", nil, "vector_dimensions"},
		{"zero", []float32{0, 0}, "vector_length"},
		{"too long", []float32{3, 4}, "vector_length"},
		{"not a number", []float32{nan, 0}, "vector_length"},
		{"infinite", []float32{float32(math.Inf(1)), 0}, "vector_length"},
		{"right", []float32{0.6, 0.8}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := index(t, 2)
			if err := x.Put(1, c.v); sdk.ReasonOf(err) != c.reason {
				t.Errorf("Put: %v", err)
			}
			if _, err := x.Top(c.v, 1, nil); sdk.ReasonOf(err) != c.reason {
				t.Errorf("Top: %v", err)
			}
			if want := map[bool]int{true: 1}[c.reason == ""]; x.Len() != want {
				t.Errorf("%d vectors, want %d", x.Len(), want)
			}
		})
	}
	for _, dims := range []int{0, -1, vector.MaxDims + 1} {
		if _, err := vector.New(dims, byNumber); sdk.ReasonOf(err) != "vector_dimensions" {
			t.Errorf("New(%d): %v", dims, err)
		}
	}
}

func TestSimilarity(t *testing.T) {
	x := index(t, 2)
	x.Put(1, []float32{0, 1})
	if s, ok := x.Similarity(1, []float32{0.6, 0.8}); !ok || s != 0.8 {
		t.Errorf("got %v %v", s, ok)
	}
	if _, ok := x.Similarity(2, []float32{1, 0}); ok {
		t.Error("a document without a vector has a similarity")
	}
}
