package text

import (
	"slices"

	"github.com/reflectory/reflectory/core/memory/top"
)

// Scores are what documents score for a query, by their number.
type Scores struct {
	// Of has a score for each number, 0 for those that have none.
	Of []float64
	// Docs are the documents with a score, in no order.
	Docs []uint32
	// Titled says of each number whether the title has a word of the query that isn't in most titles.
	Titled []bool
	index  *Index
}

// Add adds to a document's score.
func (s *Scores) Add(doc uint32, score float64) {
	if score == 0 {
		return
	}
	if s.Of[doc] == 0 {
		s.Docs = append(s.Docs, doc)
	}
	s.Of[doc] += score
}

// noScores are scores of no document, in memory that was used before if there is some.
func (x *Index) noScores() *Scores {
	s, _ := x.spare.Get().(*Scores)
	if s == nil {
		s = &Scores{index: x}
	}
	if missing := len(x.lengths) - len(s.Of); missing > 0 {
		s.Of = append(s.Of, make([]float64, missing)...)
		s.Titled = append(s.Titled, make([]bool, missing)...)
	}
	return s
}

// AddAll adds the scores of other documents of the index, and frees them.
func (s *Scores) AddAll(more *Scores) {
	for _, doc := range more.Docs {
		s.Add(doc, more.Of[doc])
	}
	more.Free()
}

// Free says that the scores aren't needed any more.
func (s *Scores) Free() {
	for _, doc := range s.Docs {
		s.Of[doc], s.Titled[doc] = 0, false
	}
	s.Docs = s.Docs[:0]
	s.index.spare.Put(s)
}

// mostTitles is the share of titles from which a word of theirs says nothing.
const mostTitles = 0.75

// Scores are the BM25 scores of an index's documents. The words are added in the query's order,
// so that the same sums come out each time.
//
// [Scores.Free] makes their memory available again.
func (x *Index) Scores(q *Query) *Scores {
	s := x.noScores()
	at := slices.Index(q.in, x)
	for _, w := range q.words {
		tells := float64(w.titled) <= mostTitles*float64(q.count)
		for _, o := range w.in[at] {
			s.Add(o.doc, x.score(q, w.weight, o.times, o.doc))
			if o.titled && tells {
				s.Titled[o.doc] = true
			}
		}
	}
	return s
}

// lengthPenalty is b for documents of the mean length.
func (q *Query) lengthPenalty() float64 {
	return shortB + (longB-shortB)*min(1, max(0, (q.length-shortWords)/(longWords-shortWords)))
}

// score is what a word adds to a document's.
func (x *Index) score(q *Query, weight float64, times float32, doc uint32) float64 {
	n := float64(times)
	return weight * n * (k1 + 1) / (n + q.base + q.perWord*float64(x.lengths[doc]))
}

// Top returns the k documents with the highest scores, the best first. If keep
// isn't nil only those that it accepts are taken. Documents without any of the
// query's words aren't found.
func (x *Index) Top(q *Query, k int, keep func(doc uint32) bool) []top.Hit {
	s := x.Scores(q)
	defer s.Free()
	return x.Best(s, k, keep)
}

// Best returns the k documents with the highest of some scores, as [Index.Top] does.
func (x *Index) Best(s *Scores, k int, keep func(doc uint32) bool) []top.Hit {
	best := top.New(k, x.order)
	for _, doc := range s.Docs {
		if score := s.Of[doc]; score > 0 && best.Takes(score) && (keep == nil || keep(doc)) {
			best.Add(doc, score)
		}
	}
	return best.Hits()
}
