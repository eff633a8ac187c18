package search

import (
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// The signs by which P is judged.
const (
	// always is 1.
	always = iota
	// met and surprise are [text.Met]'s, and behind is by how much another candidate has a larger share.
	met
	surprise
	behind
	// closeness is the share of the best similarity, and rank the logarithm of the rank from 1.
	closeness
	rank
	// unknownName, lacksName and hasNames are 1 if that is so of the query's names.
	unknownName
	lacksName
	hasNames
	// unusedLately is how little of its offers lately was used.
	unusedLately
	signs
)

// judgedFrom is how many memories there are at least where P alone decides what is relevant: among fewer,
// most words of a question are unknown however well one of them answers it, so one word in common is enough.
const judgedFrom = 200

// judgement are the signs of one result.
type judgement [signs]float64

// p is the probability that they show.
func (j *judgement) p(weights *[signs]float64) float64 {
	z := 0.0
	for i, sign := range j {
		z += float64(weights[i] * sign)
	}
	return 1 / (1 + math.Exp(-z))
}

// judge sets how probably what was found is relevant.
func (s *scan) judge(found []Found, candidates []*candidate, positions []Position) {
	documents := 0
	for _, c := range s.contents {
		documents += len(c.numbers)
	}
	how, most := s.met(candidates), 0.0
	for _, m := range how {
		most = max(most, m.Share)
	}
	weights := weights()
	for i := range found {
		f := &found[i]
		j := judgementOf(f, how[f.candidate], most, candidates[0].fused, i)
		j[unusedLately] = 1 - f.Why.UseFactor
		f.P = core.Rounded(j.p(&weights))
		least := positions[f.candidate.space].MinP
		switch {
		case s.query.MinP != nil:
			least = *s.query.MinP
		case s.query.ForPrompt:
			least = positions[f.candidate.space].PromptMinP
		}
		few := s.query.MinP == nil && documents < judgedFrom && how[f.candidate].Share > 0
		f.Relevant = f.P >= least || few || f.candidate.cosine != nil && !s.query.VectorsLast
		f.judgement = j
	}
}

// met is how candidates meet the query.
func (s *scan) met(candidates []*candidate) map[*candidate]text.Met {
	how, meeting := make(map[*candidate]text.Met, len(candidates)), s.words.Meeting()
	for space := range s.contents {
		var in []*candidate
		var docs []uint32
		for _, c := range candidates {
			if c.space == space {
				in, docs = append(in, c), append(docs, c.number)
			}
		}
		for i, m := range meeting.Of(space, docs) {
			how[in[i]] = m
		}
	}
	return how
}

// judgementOf are the signs of a result of the given rank, from 0, but for how it did lately.
func judgementOf(f *Found, m text.Met, most, best float64, number int) (j judgement) {
	j = judgement{always: 1, met: m.Share, surprise: m.Surprise, behind: most - m.Share, rank: math.Log(float64(number + 1))}
	if best > 0 {
		j[closeness] = f.Why.Fused / best
	}
	switch m.Names {
	case text.UnknownName:
		j[unknownName] = 1
	case text.LacksName:
		j[lacksName] = 1
	case text.HasNames:
		j[hasNames] = 1
	}
	return j
}
