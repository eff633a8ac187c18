// Package top finds the best few of many.
//
// It is internal to Reflectory: its API may change in any release.
package top

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

// Least is the lowest score of a full list; 0 if it isn't full.
func (l *List) Least() float64 {
	if len(l.hits) < max(1, l.k) {
		return 0
	}
	return l.hits[l.k-1].Score
}

// Add inserts a hit, if it is among the best.
func (l *List) Add(doc uint32, score float64) {
	i, end := 0, len(l.hits) // the hits before i come before it, and those from end on behind it
	for i < end {
		mid := (i + end) / 2
		if h := &l.hits[mid]; h.Score > score || h.Score == score && l.order(h.Doc, doc) < 0 {
			i = mid + 1
		} else {
			end = mid
		}
	}
	if i >= l.k {
		return
	}
	if len(l.hits) < l.k {
		l.hits = append(l.hits, Hit{})
	}
	copy(l.hits[i+1:], l.hits[i:])
	l.hits[i] = Hit{doc, score}
}

// Hits returns the best, the highest score first.
func (l *List) Hits() []Hit { return l.hits }
