package vector

import (
	"math"

	"github.com/viterin/vek/vek32"
)

// All pairs of 100,000 vectors are 5 billion products of 384 dimensions: minutes, though
// nearly all pairs are far apart. The product of the first dimensions alone, with the
// lengths of what is behind them, bounds the whole product (Cauchy-Schwarz); a pair whose
// bound is below the threshold is done with at a sixth of the work, and no pair is lost.

// headDims is how many dimensions the bound looks at.
const headDims = 64

// NearPair is two vectors that are near: A is the smaller place in the list.
type NearPair struct {
	A, B   int
	Cosine float64
}

// Near finds the pairs of unit vectors of one length whose cosine, rounded to 1e-6, is at least a
// threshold, and of which at least one is new, sorted by A and then by B. It is exact. A
// vector is paired with at most so many smaller places, the first of them. A vector of
// zeros is near nothing, and neither is one with a number that isn't finite.
func Near(vectors [][]float32, isNew []bool, threshold float64, most int) []NearPair {
	if len(vectors) == 0 || threshold <= 0 {
		return nil
	}
	s := newNearScan(vectors)
	paired := make([]int, len(vectors))
	var pairs []NearPair
	for a := range vectors {
		for b := a + 1; b < len(vectors); b++ {
			if !isNew[a] && !isNew[b] || paired[b] >= most {
				continue
			}
			if cosine := s.cosine(a, b, threshold); cosine >= threshold {
				paired[b]++
				pairs = append(pairs, NearPair{A: a, B: b, Cosine: cosine})
			}
		}
	}
	return pairs
}

// nearScan is vectors laid out for a scan.
type nearScan struct {
	head    int
	heads   []float32
	tails   []float64 // the length of what is behind the head
	vectors [][]float32
}

func newNearScan(vectors [][]float32) *nearScan {
	s := &nearScan{head: min(headDims, len(vectors[0])), vectors: vectors, tails: make([]float64, len(vectors))}
	s.heads = make([]float32, 0, s.head*len(vectors))
	for i, v := range vectors {
		s.heads = append(s.heads, v[:s.head]...)
		s.tails[i] = math.Sqrt(float64(vek32.Dot(v[s.head:], v[s.head:])))
	}
	return s
}

// cosine is the cosine of two vectors, or -1 where it is surely below the threshold.
func (s *nearScan) cosine(a, b int, threshold float64) float64 {
	head := float64(vek32.Dot(s.heads[a*s.head:(a+1)*s.head], s.heads[b*s.head:(b+1)*s.head]))
	if !(head+s.tails[a]*s.tails[b]+boundSlack >= threshold) {
		return -1
	}
	return round(float64(vek32.Dot(s.vectors[a], s.vectors[b])))
}

// boundSlack is more than sums of float32 are off.
const boundSlack = 1e-4
