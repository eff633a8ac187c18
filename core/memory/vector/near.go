package vector

import (
	"cmp"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

// All pairs of 100,000 vectors are 5 billion products of 384 dimensions: minutes, though
// nearly all pairs are far apart. The product of some dimensions, plus the product of the
// lengths of the others, bounds the whole product (Cauchy-Schwarz): a pair whose bound is
// below the threshold is done with at a sixth of the work, and no pair is lost. The length
// of the others is one more dimension, so that a bound is a single product, and the bounds of
// one vector with a block of others are one multiplication of matrices: a third of the time
// of as many calls. The dimensions with the most weight in all vectors bound best.

const (
	// boundDims is how many dimensions a bound has, the length of the others included.
	boundDims = 64
	// nearBlock is how many vectors are bounded at once: 128 KB, which a core keeps close.
	nearBlock = 512
	// boundSlack is more than sums of float32 are off.
	boundSlack = 1e-4
)

// NearPair is two vectors that are near, by their positions in the list; A is the smaller
// one.
type NearPair struct {
	A, B   int
	Cosine float64
}

// Near finds the pairs of unit vectors of one length whose cosine, rounded to 1e-6, is at least a
// threshold above 0, and of which at least one is new, sorted by A and then by B. It is exact. A
// vector is paired with no more than most vectors at smaller positions, the first ones. A vector that
// isn't a unit vector, such as one of zeros, is near nothing.
func Near(vectors [][]float32, isNew []bool, threshold float64, most int) []NearPair {
	if len(vectors) == 0 || len(vectors[0]) == 0 || !(threshold > boundSlack) {
		return nil
	}
	s := &nearScan{vectors: vectors, isNew: isNew, threshold: threshold, most: most, paired: make([]int, len(vectors))}
	s.layOut()
	for first := 0; first < len(s.columns); first += nearBlock {
		s.block(s.columns[first:min(first+nearBlock, len(s.columns))])
	}
	slices.SortFunc(s.pairs, func(x, y NearPair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return s.pairs
}

// nearScan compares each vector with each new one.
type nearScan struct {
	vectors   [][]float32
	isNew     []bool
	threshold float64
	most      int
	// heads are what bounds are made of, boundDims for each vector: zeros for what is near
	// nothing.
	heads []float32
	// columns are the places of the new vectors.
	columns []int
	// paired is with how many smaller places a vector is paired.
	paired []int
	pairs  []NearPair
}

// layOut fills heads and columns.
func (s *nearScan) layOut() {
	chosen := heaviest(s.vectors, boundDims-1)
	s.heads = make([]float32, boundDims*len(s.vectors))
	for i, v := range s.vectors {
		length := float64(vek32.Dot(v, v))
		if !(math.Abs(length-1) <= 1e-2) {
			continue
		}
		head := s.heads[i*boundDims : (i+1)*boundDims]
		rest := length
		for at, d := range chosen {
			head[at] = v[d]
			rest -= float64(v[d]) * float64(v[d])
		}
		head[boundDims-1] = float32(math.Sqrt(max(0, rest)))
		if s.isNew[i] {
			s.columns = append(s.columns, i)
		}
	}
}

// heaviest are the dimensions in which vectors have the most weight, seen in some of them.
func heaviest(vectors [][]float32, n int) []int {
	const looked = 4096
	weights := make([]float64, len(vectors[0]))
	for i := 0; i < len(vectors); i += 1 + len(vectors)/looked {
		for d, x := range vectors[i] {
			weights[d] += float64(x) * float64(x)
		}
	}
	dims := make([]int, len(weights))
	for d := range dims {
		dims[d] = d
	}
	slices.SortStableFunc(dims, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	return dims[:min(n, len(dims))]
}

// block compares all vectors with some new ones, whose places are in order.
func (s *nearScan) block(columns []int) {
	width := len(columns)
	heads := make([]float32, boundDims*width)
	for j, place := range columns {
		for d := range boundDims {
			heads[d*width+j] = s.heads[place*boundDims+d]
		}
	}
	bounds := make([]float32, width)
	least := float32(s.threshold - boundSlack)
	for i := range s.vectors {
		if s.isNew[i] && i >= columns[width-1] {
			continue // it is a column of its own, in which the pairs with these are
		}
		vek32.MatMul_Into(bounds, s.heads[i*boundDims:(i+1)*boundDims], heads, boundDims)
		if vek32.Max(bounds) < least {
			continue
		}
		for j, place := range columns {
			if bounds[j] >= least && place != i && !(s.isNew[i] && i > place) {
				s.pair(min(i, place), max(i, place))
			}
		}
	}
}

// pair adds a pair if it is near.
func (s *nearScan) pair(a, b int) {
	if s.paired[b] >= s.most {
		return
	}
	if cosine := Cosine(s.vectors[a], s.vectors[b]); cosine >= s.threshold {
		s.paired[b]++
		s.pairs = append(s.pairs, NearPair{A: a, B: b, Cosine: cosine})
	}
}

// Cosine is the cosine of two unit vectors, rounded to 1e-6; 0 if their lengths differ.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	return round(float64(vek32.Dot(a, b)))
}
