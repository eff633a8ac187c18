package search

import (
	"cmp"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/top"
)

// The constants of the ranking.
const (
	// rankConstant is k of the reciprocal rank fusion.
	rankConstant = 60
	// DefaultVectorWeight is the weight of the cosine; the words have the rest.
	DefaultVectorWeight = 0.5
	// qWeight is λ, the weight of q; the similarity has the rest.
	qWeight = 0.3
	// DefaultDepthBoost is the factor of reflections: none, since a factor of 1.2 crowds out the
	// memories that they are about. With another one, each level of depth, up to maxDepth, makes it
	// larger by the share depthStep.
	DefaultDepthBoost = 1
	depthStep         = 0.05
	maxDepth          = 3
	// nearShare is the share of the best similarity at which a candidate counts as near. At 0.7, useful
	// memories stay hidden that are worded farther from the query than those that only come with
	// them; at 0.6, memories on other subjects get in.
	nearShare = 0.65
	// keepsFailing and passedOver are the factors up to which a near candidate doesn't keep others
	// from being near: it failed 2 times of 2, or was passed over 8 times.
	keepsFailing, passedOver = 0.5, 0.6
	// relatedShare is the share of the best similarity below which nothing is near, whatever becomes of
	// what is: it is on another subject.
	relatedShare = 0.3
	// What proved itself on a subject is near, however it is worded, and its score is that much higher, so that
	// what nobody tried doesn't take its place for being worded nearer: if it helped the subject that asks in
	// 3 uses lately and failed in few, and if it is that much more similar than any other that proved itself.
	// Where several are alike, such as facts about many of one sort, their wording tells them apart. Fitted
	// on make lives, under the worlds of core/memory's tests.
	provenUses, provenFactor, provenMargin, onlyProven = 3, 0.75, 1.5, 1.2
)

// Nearest is how many candidates a recall examines (k1), however the session's turns went: with fewer
// after successes, what helped would no longer be among them.
const Nearest = 40

// The numbers of memories that a recall returns (k2).
const (
	fewResults, results, manyResults = 3, 5, 8
	badly, well                      = -0.25, 0.35
)

// Limit is how many memories a recall returns: more if a session's turns went badly lately, fewer
// if they went well.
func Limit(bias float64) int {
	switch {
	case bias <= badly:
		return manyResults
	case bias >= well:
		return fewResults
	}
	return results
}

// hit is a document in one of several spaces.
type hit struct {
	*candidate
	score float64
}

// hits are the hits of one space.
func (s *scan) hits(space int, found []top.Hit) []hit {
	list := make([]hit, len(found))
	for i, h := range found {
		c := &candidate{space: space, number: h.Doc, doc: &s.contents[space].docs[h.Doc], name: s.spaces[space].namespace}
		list[i] = hit{c, h.Score}
	}
	return list
}

// best returns the k best hits of several spaces.
func best(all []hit, k int) []hit {
	slices.SortFunc(all, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), byID(a.candidate, b.candidate)) })
	return all[:min(k, len(all))]
}

// fuse joins the results by vector and by words by reciprocal rank, and returns the first
// 1½·k: documents that rank high in one list, or well in both.
func fuse(near, worded []hit, k int) []*candidate {
	known := map[place]*candidate{}
	var list []*candidate
	join := func(h hit) *candidate {
		at := place{h.space, h.number}
		if known[at] == nil {
			known[at] = h.candidate
			list = append(list, h.candidate)
		}
		return known[at]
	}
	for i, h := range near {
		join(h).nearRank = i + 1
	}
	for i, h := range worded {
		join(h).wordRank = i + 1
	}
	slices.SortFunc(list, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.reciprocal(), a.reciprocal()), byID(a, b)) })
	return list[:min(len(list), (3*k+1)/2)]
}

// reciprocal is the sum of the reciprocal ranks.
func (c *candidate) reciprocal() (sum float64) {
	for _, rank := range []int{c.nearRank, c.wordRank} {
		if rank > 0 {
			sum += 1 / float64(rankConstant+rank)
		}
	}
	return sum
}

// rank is phase two. It reorders the candidates.
func (x *Index) rank(candidates []*candidate, q *Query, positions []Position) []Found {
	slices.SortFunc(candidates, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.fused, a.fused), byID(a, b)) })
	found := make([]Found, 0, len(candidates))
	lately, alone, only := x.lately(candidates, q)
	best, enough := 0.0, false // of the present group
	for i, c := range candidates {
		if i == 0 {
			best = c.fused
		}
		why := core.Reasons{
			Similarity: c.cosine, LexicalRank: c.wordRank, Fused: c.fused, Q: c.doc.q,
			DepthBoost: x.boost(c.doc.depth), FailureFactor: 1, UseFactor: 1,
		}
		f := Found{Namespace: c.name, ID: c.doc.id, Why: why, Score: why.Fused, candidate: c}
		if !x.options.Plain {
			f.Why.FailureFactor, f.Why.UseFactor = lately[i].FailureFactor(), lately[i].UseFactor()
			if c.doc.window != "" {
				f.Why.Q = lately[i].Q
			}
			f.Score = (float64((1-qWeight)*c.fused) + float64(qWeight*f.Why.Q)) * why.DepthBoost * f.Why.FailureFactor * f.Why.UseFactor
			if c == only {
				f.Score *= onlyProven
			}
			f.Score = core.Rounded(f.Score)
		}
		if c.fused < core.Rounded(nearShare*best) && c.fused >= core.Rounded(relatedShare*candidates[0].fused) && !enough {
			best = c.fused // all that is nearer fails, or is passed over
		}
		if f.Why.Near = c == only || c.fused >= core.Rounded(nearShare*best); f.Why.Near {
			enough = enough || alone[i].FailureFactor() > keepsFailing && alone[i].UseFactor() > passedOver
		}
		if f.Score >= q.Filter.MinScore {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(nearFirst(a.Why.Near, b.Why.Near), cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Namespace, b.Namespace))
	})
	if !x.options.Plain && len(found) > 0 {
		best := candidates[0].fused
		found = slices.DeleteFunc(found, func(f Found) bool {
			cut := positions[f.candidate.space].Cut
			return f.Score < cut*untried(best) && f.Why.Fused < cut*best
		})
	}
	end := min(len(found), q.Limit)
	for end < min(len(found), q.Most) && found[end].Why.Near && found[end].candidate.doc.uses > 0 {
		end++
	}
	if q.Spare && end < len(found) {
		found[end].Spare = true
		end++
	}
	return found[:end]
}

// nearFirst orders near candidates before the others.
func nearFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// boost is the factor for a depth: 1 if the document isn't a reflection.
func (x *Index) boost(depth int) float64 {
	if depth < 1 || x.options.Plain || x.options.DepthBoost == 1 {
		return 1
	}
	return x.options.DepthBoost * (1 + depthStep*float64(min(depth, maxDepth)))
}

// untried is the score of a memory of this similarity that nobody has used yet.
func untried(similarity float64) float64 {
	return float64((1-qWeight)*similarity) + float64(qWeight*lifecycle.Initial().Q)
}

// lately is how candidates did lately, also for the subject alone, and the only one on the subject that proved
// itself to it; nil if there is none, or several are about as near: then the wording decides.
func (x *Index) lately(candidates []*candidate, q *Query) (list, alone []lifecycle.Standing, only *candidate) {
	list, alone = make([]lifecycle.Standing, len(candidates)), make([]lifecycle.Standing, len(candidates))
	if x.options.Plain {
		return list, alone, nil
	}
	second, unused := 0.0, lifecycle.StandingOf("", q.Subject)
	for i, c := range candidates {
		if c.doc.window == "" {
			list[i], alone[i] = unused, unused
			continue
		}
		if list[i] = lifecycle.StandingOf(c.doc.window, q.Subject); q.Own {
			list[i] = lifecycle.OwnStandingOf(c.doc.window, q.Subject)
		}
		alone[i] = lifecycle.AloneStandingOf(c.doc.window, q.Subject)
		switch {
		case alone[i].Uses-alone[i].Failures < provenUses || alone[i].FailureFactor() <= provenFactor:
		case only == nil:
			only = c
		default:
			second = max(second, c.fused)
		}
	}
	if only != nil && (only.fused < relatedShare*candidates[0].fused || only.fused < provenMargin*second) {
		only = nil
	}
	return list, alone, only
}
