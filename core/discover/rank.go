package discover

import (
	"cmp"
	"context"
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
	// Score is how well it fits the intent, from 0 to 1. SuccessRate is (s+1)/(n+2) of its
	// last n runs, and FinalScore is Score × (.5 + .5·SuccessRate).
	Score       float64 `json:"score"`
	SuccessRate float64 `json:"success_rate"`
	FinalScore  float64 `json:"final_score"`
	// Reason explains the final score.
	Reason string `json:"ranking_reason"`
	// Usage is how to use it.
	Usage Usage `json:"usage_template"`
}

// defaultWeight is the weight of the cosine if the embedder doesn't have one.
const defaultWeight = .5

// Rank returns the candidates that share something with an intent, the best first, at most
// limit. Equal ones are in the order of their kinds and names. Without an embedder, or if it
// fails, words alone decide.
func Rank(ctx context.Context, intent string, candidates []Candidate, embedder core.Embedder, limit int) ([]Ranked, error) {
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	words := text.New(text.LanguageOf(""), func(a, b uint32) int { return cmp.Compare(a, b) })
	for i := range candidates {
		words.Put(uint32(i), "", candidates[i].text())
	}
	words.Settle()
	cosines, weight := cosinesOf(ctx, intent, candidates, embedder)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	query := text.NewQuery(intent, words)
	scores := words.Scores(query)
	ranked := []Ranked{}
	for i := range candidates {
		c := &candidates[i]
		share, cosine := 0.0, 0.0
		if query.Whole() > 0 {
			share = min(1, scores.Of[i]/query.Whole())
		}
		score := share
		if cosines != nil {
			cosine = min(1, max(0, cosines[i]))
			score = weight*cosine + (1-weight)*share
		}
		if share == 0 && score < least {
			continue
		}
		ranked = append(ranked, c.ranked(core.Rounded(score), share, cosine))
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.FinalScore, a.FinalScore) })
	return ranked[:min(len(ranked), limit)], nil
}

// least is the score below which a candidate without a word of the intent shares nothing
// with it: what vectors of unrelated texts have.
const least = .2

// cosinesOf compares the intent with the candidates by vectors; nil if that can't be done.
func cosinesOf(ctx context.Context, intent string, candidates []Candidate, embedder core.Embedder) (cosines []float64, weight float64) {
	if embedder == nil || len(candidates) == 0 {
		return nil, 0
	}
	texts := []string{intent}
	for i := range candidates {
		texts = append(texts, candidates[i].text())
	}
	vectors, err := embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return nil, 0
	}
	cosines = make([]float64, len(candidates))
	for i := range cosines {
		for j, x := range vectors[0] {
			cosines[i] += float64(x) * float64(vectors[i+1][j])
		}
	}
	if weighted, ok := embedder.(core.EmbedderWithWeight); ok {
		return cosines, weighted.Weight()
	}
	return cosines, defaultWeight
}

func (c *Candidate) ranked(score, share, cosine float64) Ranked {
	rate := c.successRate()
	r := Ranked{
		Kind: c.Kind, Name: c.Name, Description: c.Description, Score: score, SuccessRate: rate,
		FinalScore: core.Rounded(score * (.5 + .5*rate)), Usage: c.Usage,
	}
	runs := "no runs yet"
	if c.Runs > 0 {
		runs = fmt.Sprintf("%d of its last %d runs passed", c.Successes, c.Runs)
	}
	r.Reason = fmt.Sprintf("it fits with %.2f (words %.2f, meaning %.2f); %s, so %.2f counts", r.Score, share, cosine, runs, r.FinalScore)
	return r
}
