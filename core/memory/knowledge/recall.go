package knowledge

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/search"
)

// Query asks for the knowledge that matches best.
type Query struct {
	Query     string `json:"query"`
	Namespace string `json:"namespace,omitempty"`
	// Subtree includes the namespaces below.
	Subtree bool `json:"subtree,omitempty"`
	// MinScore leaves out entries with a lower score.
	MinScore float64 `json:"min_score,omitempty"`
	// Limit is how many are returned at most: 0 means 5, and the limit is
	// [bounds.MaxRecall].
	Limit int `json:"limit,omitempty"`
	// ForPrompt is whether the result goes into a prompt: then only what is relevant enough for one is found.
	ForPrompt bool `json:"-"`
}

// Recalled is an entry with the reasons for its rank. Its score is made of similarity and
// words.
type Recalled struct {
	Knowledge *core.Knowledge `json:"knowledge"`
	// Rank counts from 0.
	Rank  int          `json:"rank"`
	Score float64      `json:"score"`
	Why   core.Reasons `json:"why"`
}

// Check reports everything that is wrong with a query.
func (r *Query) Check() error {
	var p bounds.Problems
	p.Query(r.Query, r.Limit, r.MinScore)
	p.Check(core.CheckNamespace(r.Namespace))
	return p.Err()
}

// Search converts the query for the index. The caller sets its vector and the number of
// candidates.
func (r *Query) Search() search.Query {
	q := search.Query{Text: r.Query, ForPrompt: r.ForPrompt}
	q.Filter.Namespace, q.Filter.Subtree, q.Filter.MinScore = r.Namespace, r.Subtree, r.MinScore
	return q
}

// Recall returns the entries that the index of knowledge finds, the best first.
func Recall(ctx context.Context, s *record.Records, index *search.Index, q *search.Query) ([]Recalled, error) {
	found, err := index.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	list := make([]Recalled, 0, len(found))
	err = s.View(ctx, func(reader core.Reader) error {
		for _, f := range found {
			if q.ForPrompt && !f.Relevant {
				continue
			}
			k, err := Read(reader, f.ID)
			if record.IsGone(err) {
				continue // it is gone since the search
			}
			if err != nil {
				return err
			}
			list = append(list, Recalled{Knowledge: k, Rank: len(list), Score: f.Score, Why: f.Why})
		}
		return nil
	})
	return list, err
}
