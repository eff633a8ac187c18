// Package top finds the best few of many.
//
// It is internal to Reflectory: its API may change in any release.
package top

import "slices"

// Hit is a document with its score.
type Hit struct {
	Doc   uint32
	Score float64
}

// List keeps the k hits with the highest scores. Of equal ones it keeps the first in
// order.
type List struct {
	k     int
	order func(a, b uint32) int
	hits  []Hit // the best first
}

// New makes an empty list for up to k hits.
func New(k int, order func(a, b uint32) int) *List {
	return &List{k: k, order: order, hits: make([]Hit, 0, max(0, k))}
}

// Takes reports whether a score may be high enough. It is quick, so that most hits that
// aren't are rejected without further work.
func (l *List) Takes(score float64) bool {
	return len(l.hits) < l.k || l.k > 0 && score >= l.hits[l.k-1].Score
}

// Add inserts a hit, if it is among the best.
func (l *List) Add(doc uint32, score float64) {
	h := Hit{doc, score}
	i, _ := slices.BinarySearchFunc(l.hits, h, l.compare)
	if i >= l.k {
		return
	}
	if len(l.hits) == l.k {
		l.hits = l.hits[:l.k-1]
	}
	l.hits = slices.Insert(l.hits, i, h)
}

// Hits returns the best, the highest score first.
func (l *List) Hits() []Hit { return l.hits }

func (l *List) compare(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return l.order(a.Doc, b.Doc)
}
