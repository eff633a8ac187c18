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
	tally  tally
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

// Wanted is which documents' scores are wanted: the best of all, and the best of those that Keep accepts.
type Wanted struct {
	Best, Kept int
	Keep       func(doc uint32) bool
	// Factor is how many times as high a score may become after that.
	Factor float64
}

// least is the lowest score of the wanted ones, as far as scores are known; 0 if it is less than a score anyway.
func (w *Wanted) least(s *Scores, enough float64) float64 {
	least := leastOf(s, w.Best, nil)
	if least < enough {
		return 0
	}
	return min(least, leastOf(s, w.Kept, w.Keep))
}

// leastOf is the k-th highest score of those that keep accepts; 0 if they are fewer.
func leastOf(s *Scores, k int, keep func(doc uint32) bool) float64 {
	best := top.New(k, noOrder)
	for _, doc := range s.Docs {
		if score := s.Of[doc]; score > best.Least() && (keep == nil || keep(doc)) {
			best.Add(doc, score)
		}
	}
	return best.Least()
}

const (
	// ownCost is how many occurrences of words are looked at in the time in which a document's own words are.
	ownCost = 16
	// leastCost is how many in the time in which a document is looked at for [Wanted.least].
	leastCost = 2
)

// Scores are the BM25 scores of an index's documents. The words are added in the order of their weights,
// so that the same sums come out each time. Unless wanted is nil, documents that aren't wanted may have a lower
// score than they should, or none: once the words that are left can't make one of them wanted, only those
// that may be are looked at, by their own words.
//
// [Scores.Free] makes their memory available again.
func (x *Index) Scores(q *Query, wanted *Wanted) *Scores {
	s := x.noScores()
	at, left, done, occurrences := slices.Index(q.in, x), 0.0, 0.0, 0
	for i := range q.words {
		left += q.words[i].most()
		occurrences += q.words[i].have
	}
	for i := range q.words {
		w := &q.words[i]
		if wanted != nil && wanted.Factor*left < done && occurrences > leastCost*len(s.Docs) {
			least := wanted.least(s, wanted.Factor*left)
			if wanted.Factor*left < least && s.finish(q, at, i, least/wanted.Factor-left, occurrences) {
				return s
			}
		}
		for j, segment := range x.segments {
			for _, o := range s.tally.count(segment, &w.in[at][j]) {
				s.Add(o.doc, x.score(q, w.weight, o.times, o.doc))
				if o.titled && w.tells {
					s.Titled[o.doc] = true
				}
			}
		}
		left, done, occurrences = left-w.most(), done+w.most(), occurrences-w.have
	}
	return s
}

// most is more than a word adds to any document's score.
func (w *weighed) most() float64 { return w.weight * (k1 + 1) }

// finish adds the query's words from one on to the documents with at least a score, and drops the others. It does
// nothing if it takes longer than to look at all occurrences.
func (s *Scores) finish(q *Query, at, from int, least float64, occurrences int) bool {
	x, docs := s.index, 0
	for _, doc := range s.Docs {
		if s.Of[doc] >= least {
			docs++
		}
	}
	if ownCost*docs > occurrences {
		return false
	}
	words := q.words[from:]
	in, times, titled := map[*segment]marks{}, make([]float32, len(words)), make([]bool, len(words))
	for j, segment := range x.segments {
		var m marks
		for i := range words {
			m.add(i, &words[i].in[at][j])
		}
		m.sort()
		in[segment] = m
	}
	s.Docs = slices.DeleteFunc(s.Docs, func(doc uint32) bool {
		if s.Of[doc] < least {
			s.Of[doc], s.Titled[doc] = 0, false
			return true
		}
		p := x.places[doc]
		in[p.segment].count(p.segment, p.at, times, titled)
		for i := range words {
			if times[i] > 0 {
				s.Of[doc] += x.score(q, words[i].weight, times[i], doc)
				s.Titled[doc] = s.Titled[doc] || titled[i] && words[i].tells
			}
			times[i], titled[i] = 0, false
		}
		return false
	})
	return true
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
	s := x.Scores(q, nil)
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

// noOrder is for scores that are looked for, and not their documents.
func noOrder(_, _ uint32) int { return 0 }
