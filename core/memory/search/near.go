package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/text"
)

// What the words of a document can't show: when it was, and what was said before and after it. A
// document lends a share of its score to its neighbours of the same source, since an answer may not
// repeat the words of its question.

// The factors and shares of the ranking by words, fitted on half of LoCoMo; see the quality test.
const (
	// titleFactor is for a document whose title has a word of the query.
	titleFactor = 1.5
	// periodFactor is for what happened in a period that the query names, or in the week after it, when
	// people speak of it.
	periodFactor, periodDays = 2, 7
	// datedFactor is for a document that says when something was, if the query asks when.
	datedFactor = 1.3
	// lendsBefore is the share of its score that a document lends to the one before it, lendsAfter to the
	// one after it, answerShare instead if it is a question, and lendsFar to those two away.
	lendsBefore, lendsAfter, answerShare, lendsFar = 0.15, 0.15, 0.4, 0.1
)

// joinSource notes that a document is of its source.
func (c *contents) joinSource(n uint32) {
	hash := c.docs[n].source
	if hash == 0 {
		return
	}
	list := c.sources[hash]
	i, _ := slices.BinarySearchFunc(list, n, c.byTime)
	c.sources[hash] = slices.Insert(list, i, n)
	c.link(hash, i)
}

// leaveSource removes a document from its source.
func (c *contents) leaveSource(n uint32) {
	hash := c.docs[n].source
	if hash == 0 {
		return
	}
	list := c.sources[hash]
	i, found := slices.BinarySearchFunc(list, n, c.byTime)
	if !found {
		return
	}
	c.near[n] = alone
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(c.sources, hash)
		return
	}
	c.sources[hash] = list
	c.link(hash, i)
}

// link sets the neighbours of a document of a source, and of those next to it.
func (c *contents) link(source uint64, place int) {
	list := c.sources[source]
	at := func(i int) uint32 {
		if i < 0 || i >= len(list) {
			return none
		}
		return list[i]
	}
	for i := max(0, place-1); i <= min(place+1, len(list)-1); i++ {
		c.near[list[i]] = neighbours{at(i - 1), at(i + 1)}
	}
}

// byTime is the order of documents in a source.
func (c *contents) byTime(a, b uint32) int {
	x, y := &c.docs[a], &c.docs[b]
	return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.id, y.id))
}

// dayOf is the day of a moment in its zone, counted from 1970.
func dayOf(t time.Time) int32 {
	year, month, day := t.Date()
	return int32(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay) //nolint:gosec // years have 4 digits
}

const secondsOfDay = 24 * 60 * 60

// adjust changes scores by words by what the words can't show. titled says which titles have a word of the
// query.
func (c *contents) adjust(s *text.Scores, titled []bool, q *text.Query, periods []dream.Period) {
	for _, n := range s.Docs {
		if titled[n] {
			s.Of[n] *= titleFactor
		}
		if q.AsksWhen() && c.words.SaysWhen(n) {
			s.Of[n] *= datedFactor
		}
		if slices.ContainsFunc(periods, func(p dream.Period) bool { return p.Has(c.docs[n].day, periodDays) }) {
			s.Of[n] *= periodFactor
		}
	}
	c.lend(s)
}

// lend adds to the scores of documents what their neighbours lend them.
func (c *contents) lend(s *text.Scores) {
	if len(c.sources) == 0 {
		return
	}
	own := make([]float64, len(s.Docs))
	for i, n := range s.Docs {
		own[i] = snapped(s.Of[n])
		s.Of[n] = own[i]
	}
	for i, n := range s.Docs[:len(own):len(own)] {
		near := c.near[n]
		if near == alone {
			continue
		}
		after := lendsAfter
		if c.words.Asks(n) {
			after = answerShare
		}
		if near.before != none {
			s.Add(near.before, snapped(lendsBefore*own[i]))
			if far := c.near[near.before].before; far != none {
				s.Add(far, snapped(lendsFar*own[i]))
			}
		}
		if near.after != none {
			s.Add(near.after, snapped(after*own[i]))
			if far := c.near[near.after].after; far != none {
				s.Add(far, snapped(lendsFar*own[i]))
			}
		}
	}
}

// snapped rounds a score to a multiple of 2^-32, whose sums are exact: a document has the same score whatever the
// order in which its neighbours lend it theirs.
func snapped(score float64) float64 {
	const large = 3 << 19 // with it, a float64 has no smaller digits
	return float64(score+large) - large
}

// question is the id of the question before a document of the same source; "" if there is none.
func (s *scan) question(c *candidate) string {
	in := s.contents[c.space]
	if n := in.near[c.number].before; n != none && in.words.Asks(n) && (s.query.Filter.IncludeSuperseded || !s.superseded(in, in.docs[n].id)) {
		return in.docs[n].id
	}
	return ""
}
