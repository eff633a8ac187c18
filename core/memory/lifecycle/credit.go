package lifecycle

import (
	"math"

	"github.com/reflectory/reflectory/core"
)

// RecallRank is the rank of a memory in the results of a recall.
type RecallRank struct {
	// Rank counts from 0; Of is how many the recall returned.
	Rank, Of int
	Score    float64
}

// Weight is the factor, at most 1, by which a turn's credit counts for a memory at this rank.
func (p RecallRank) Weight() float64 {
	return min(1, max(.15, .20+float64(.55*p.rankWeight())+float64(.25*(p.Score+1))/2))
}

// rankWeight is 1 for the first and 0 for the last.
func (p RecallRank) rankWeight() float64 {
	if p.Of <= 1 {
		return 1
	}
	return 1 - float64(p.Rank)/float64(p.Of-1)
}

// Bias returns a session's bias after a turn, in [-1,1]. It is below 0 if recall has
// helped little lately.
func Bias(before float64, o core.Outcome) float64 {
	return min(1, max(-1, float64(biasKept*before)+biasOf(o)))
}

// AmendBias returns the bias of a session as it would be if the outcome of a turn had
// been another. Each of the turns since then, whose number is given, has left .85 of the
// turn's effect.
func AmendBias(bias float64, since int64, before, after core.Outcome) float64 {
	return min(1, max(-1, bias+float64(math.Pow(biasKept, float64(since))*(biasOf(after)-biasOf(before)))))
}

// biasKept is the share of the bias that is left after another turn.
const biasKept = .85

// biasOf is what an outcome adds to the bias.
func biasOf(o core.Outcome) float64 {
	switch o {
	case core.OutcomeSuccess:
		return .15
	case core.OutcomeFailure:
		return -.15
	}
	return 0
}
