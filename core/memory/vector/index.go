// Package vector finds the nearest of many vectors by comparing all of them: the result
// is exact, and a change affects only the one vector.
//
// Vectors have unit length, so that their product is the cosine of the angle between
// them. They are stored one after another in blocks, which a scan reads at the speed of
// memory: about 1.5 KB for each vector of 384 dimensions.
//
// It is internal to Reflectory: its API may change in any release.
package vector

import (
	"math"

	"github.com/viterin/vek/vek32"

	"github.com/reflectory/reflectory/core/memory/top"
	"github.com/reflectory/reflectory/sdk"
)

// MaxDims is the most dimensions that a vector may have; models in use make up to
// 4,096.
const MaxDims = 1 << 14

// blockBytes is about how large a block is: large enough to scan at full speed,
// small enough not to waste much.
const blockBytes = 256 << 10

// Index holds vectors of one model, by the number of their document. It is not
// safe for concurrent changes; searches may run at the same time.
type Index struct {
	dims, perBlock int
	order          func(a, b uint32) int
	blocks         [][]float32
	// docs are the documents of the rows, and rows are the rows of the documents plus
	// one; 0 means none.
	docs, rows []uint32
}

// New makes an index of vectors with this number of dimensions. order decides between
// documents of equal similarity.
func New(dims int, order func(a, b uint32) int) (*Index, error) {
	if dims < 1 || dims > MaxDims {
		return nil, sdk.Errorf(sdk.Invalid, "vector_dimensions", "vectors have %d dimensions, not 1 to %d", dims, MaxDims).
			WithHint("choose an embedding model with fewer dimensions")
	}
	return &Index{dims: dims, perBlock: max(1, blockBytes/4/dims), order: order}, nil
}

// Len is the number of vectors.
func (x *Index) Len() int { return len(x.docs) }

// Dims is the number of dimensions.
func (x *Index) Dims() int { return x.dims }

// Put adds a document's vector, or replaces it in place. The vector is copied.
func (x *Index) Put(doc uint32, v []float32) error {
	if err := x.check(v); err != nil {
		return err
	}
	row, known := x.find(doc)
	if !known {
		if missing := int(doc) + 1 - len(x.rows); missing > 0 {
			x.rows = append(x.rows, make([]uint32, missing)...)
		}
		row = len(x.docs)
		x.docs = append(x.docs, doc)
		x.rows[doc] = uint32(row + 1)
		if row/x.perBlock == len(x.blocks) {
			x.blocks = append(x.blocks, make([]float32, x.perBlock*x.dims))
		}
	}
	copy(x.row(row), v)
	return nil
}

// Remove removes a document's vector, if there is one. The last vector moves to its row.
func (x *Index) Remove(doc uint32) {
	row, known := x.find(doc)
	if !known {
		return
	}
	last := len(x.docs) - 1
	if row != last {
		copy(x.row(row), x.row(last))
		x.docs[row] = x.docs[last]
		x.rows[x.docs[row]] = uint32(row + 1)
	}
	x.docs = x.docs[:last]
	if x.rows[doc] = 0; last == 0 {
		x.rows = nil
	}
	if used := (last + x.perBlock - 1) / x.perBlock; used < len(x.blocks) {
		x.blocks[used] = nil
		x.blocks = x.blocks[:used]
	}
}

// Top returns the k documents with the highest similarity to v, the best first. If keep
// isn't nil, only documents that it accepts are returned. Similarities are cosines in
// [-1,1], rounded to 1e-6: the last digits of a sum of float32 depend on the processor's
// instructions, but the order mustn't.
func (x *Index) Top(v []float32, k int, keep func(doc uint32) bool) ([]top.Hit, error) {
	if err := x.check(v); err != nil {
		return nil, err
	}
	best := top.New(k, x.order)
	for b, block := range x.blocks {
		docs := x.docs[b*x.perBlock : min(len(x.docs), (b+1)*x.perBlock)]
		for i, doc := range docs {
			similarity := float64(vek32.Dot(v, block[i*x.dims:(i+1)*x.dims]))
			if !best.Takes(similarity + rounding) {
				continue
			}
			similarity = round(similarity)
			if best.Takes(similarity) && (keep == nil || keep(doc)) {
				best.Add(doc, similarity)
			}
		}
	}
	return best.Hits(), nil
}

// Has reports whether a document has a vector here.
func (x *Index) Has(doc uint32) bool {
	_, known := x.find(doc)
	return known
}

// find returns the row of a document, and whether it has one.
func (x *Index) find(doc uint32) (row int, known bool) {
	if int(doc) >= len(x.rows) || x.rows[doc] == 0 {
		return 0, false
	}
	return int(x.rows[doc] - 1), true
}

// Similarity is the rounded cosine of a document's vector and v, and whether the document
// has one.
func (x *Index) Similarity(doc uint32, v []float32) (float64, bool) {
	row, known := x.find(doc)
	if !known || len(v) != x.dims {
		return 0, false
	}
	return round(float64(vek32.Dot(v, x.row(row)))), true
}

// Bytes estimates the memory that the index takes.
func (x *Index) Bytes() int64 {
	return int64(len(x.blocks))*int64(x.perBlock*x.dims)*4 + 4*int64(len(x.docs)+len(x.rows))
}

func (x *Index) row(n int) []float32 {
	at := n % x.perBlock * x.dims
	return x.blocks[n/x.perBlock][at : at+x.dims]
}

func (x *Index) check(v []float32) error {
	if len(v) != x.dims {
		return sdk.Errorf(sdk.Invalid, "vector_dimensions", "a vector of %d dimensions, but its model's vectors have %d", len(v), x.dims).
			WithHint("all vectors of a model have the same number of dimensions: was the model replaced under the same name? Re-embed under another name")
	}
	sum := float64(vek32.Dot(v, v))
	if math.IsNaN(sum) || math.Abs(sum-1) > 1e-2 {
		return sdk.Errorf(sdk.Invalid, "vector_length", "a vector of length %g: vectors have unit length", math.Sqrt(sum)).
			WithHint("an embedder scales its vectors to length 1")
	}
	return nil
}

// rounding is the step to which similarities are rounded.
const rounding = 1e-6

func round(similarity float64) float64 {
	return max(-1, min(1, math.Round(similarity/rounding)/(1/rounding)))
}
