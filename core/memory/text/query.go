package text

import (
	"math"
	"slices"

	"github.com/reflectory/reflectory/core/memory/top"
)

// The parameters of BM25 (spec 3.6).
const (
	// k1 is how soon more of the same word stops to count, b how much a long
	// document is held against it.
	k1, b = 1.2, 0.75
)

// Query is a text to search for, weighed by how rare its words are in some
// indices together. It is valid until one of them changes.
type Query struct {
	words []weighed
	// length is the mean of the documents.
	length float64
	// whole is the weight of all words, also of those that no document has.
	whole float64
}

type weighed struct {
	word   string
	weight float64
}

// NewQuery weighs a text's words by their rarity in all the indices that will be
// searched, so that the scores from them can be compared.
func NewQuery(text string, in ...*Index) *Query {
	q, count, length := &Query{}, 0, int64(0)
	for _, x := range in {
		count += x.count
		length += x.length
	}
	if count == 0 {
		return q
	}
	q.length = float64(length) / float64(count)
	for _, word := range slices.Compact(slices.Sorted(Words(text))) {
		have := 0
		for _, x := range in {
			if term, known := x.terms[word]; known {
				have += len(x.postings[term].at)
			}
		}
		w := math.Log(1 + (float64(count-have)+0.5)/(float64(have)+0.5))
		q.whole += w
		if have > 0 {
			q.words = append(q.words, weighed{word, w})
		}
	}
	return q
}

// Whole is the score of a document of middling length that has each of the query's
// words once: what a score is measured by to compare it from query to query. Words
// that no document has count as well.
func (q *Query) Whole() float64 { return q.whole }

// Top returns the k documents with the highest scores, the best first. Where keep
// isn't nil only those that it accepts are taken. Documents without any of the
// query's words aren't found.
func (x *Index) Top(q *Query, k int, keep func(doc uint32) bool) []top.Hit {
	best := top.New(k, x.order)
	scores := x.scores(q)
	for doc, score := range scores {
		if score > 0 && best.Takes(score) && (keep == nil || keep(uint32(doc))) {
			best.Add(uint32(doc), score)
		}
	}
	return best.Hits()
}

// scores are those of all documents. The words are added in the query's order,
// so that the same sums come out each time.
func (x *Index) scores(q *Query) []float64 {
	scores := make([]float64, len(x.lengths))
	for _, w := range q.words {
		if term, known := x.terms[w.word]; known {
			for _, p := range x.postings[term].at {
				scores[p.doc] += x.score(q, w.weight, p)
			}
		}
	}
	return scores
}

// score is what one word adds to a document's.
func (x *Index) score(q *Query, weight float64, p posting) float64 {
	times := float64(p.times)
	return weight * times * (k1 + 1) / (times + k1*(1-b+b*float64(x.lengths[p.doc])/q.length))
}

// Score is that of one document.
func (x *Index) Score(q *Query, doc uint32) (score float64) {
	for _, w := range q.words {
		if term, known := x.terms[w.word]; known {
			if i, found := find(x.postings[term].at, doc); found {
				score += x.score(q, w.weight, x.postings[term].at[i])
			}
		}
	}
	return score
}
