package discover

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// Ranked is a candidate that shares something with an intent.
type Ranked struct {
	Kind        Kind   `json:"kind"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Score is the share of the intent's words that it has, rare ones counting more, from 0 to 1. FailureRate
	// is how often its last runs fail at least, with a confidence of 95 %, and FinalScore is
	// Score × (1 − FailureRate).
	Score       float64 `json:"score"`
	FailureRate float64 `json:"failure_rate"`
	FinalScore  float64 `json:"final_score"`
	// Reason explains the final score.
	Reason string `json:"ranking_reason"`
	// Usage is how to use it.
	Usage Usage `json:"usage_template"`
}

// Rank returns the candidates that share a word with an intent, the best first, at most limit. Equal
// ones are in the order of their kinds and names.
func Rank(intent string, candidates []Candidate, limit int) []Ranked {
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	words, places := text.New(text.LanguageOf(""), func(a, b uint32) int { return cmp.Compare(a, b) }), make([]uint32, len(candidates))
	for i := range candidates {
		places[i] = uint32(i) //nolint:gosec // an index
		words.Put(places[i], "", candidates[i].text())
	}
	words.Settle()
	ranked := []Ranked{}
	for i, met := range text.NewQuery(intent, words).Meeting().Of(0, places) {
		if met.Share > 0 {
			ranked = append(ranked, candidates[i].ranked(core.Rounded(met.Share)))
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.FinalScore, a.FinalScore) })
	return ranked[:min(len(ranked), limit)]
}

func (c *Candidate) ranked(score float64) Ranked {
	r := Ranked{Kind: c.Kind, Name: c.Name, Description: c.Description, Score: score, FailureRate: c.failureRate(), Usage: c.Usage}
	r.FinalScore = core.Rounded(score * (1 - r.FailureRate))
	runs := "it has no runs yet"
	if c.Runs > 0 {
		runs = fmt.Sprintf("%d of its last %d runs passed, so it fails in %.0f %% at least", c.Successes, c.Runs, 100*r.FailureRate)
	}
	r.Reason = fmt.Sprintf("it has %.0f %% of what the intent says; %s", 100*r.Score, runs)
	return r
}
