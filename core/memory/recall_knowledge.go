package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/sdk"
)

// KnowledgeQuery asks for the knowledge that fits best.
type KnowledgeQuery struct {
	Query     string `json:"query"`
	Namespace string `json:"namespace,omitempty"`
	// Subtree takes the namespaces below as well.
	Subtree bool `json:"subtree,omitempty"`
	// MinScore leaves out what scores less.
	MinScore float64 `json:"min_score,omitempty"`
	// Limit is how many are returned: 0 is 5, and at most [MaxRecall].
	Limit int `json:"limit,omitempty"`
}

// RecalledKnowledge is an entry with the reasons for its place. Its score is what
// likeness and words come to.
type RecalledKnowledge struct {
	Knowledge *core.Knowledge `json:"knowledge"`
	// Rank counts from 0.
	Rank  int          `json:"rank"`
	Score float64      `json:"score"`
	Why   core.Reasons `json:"why"`
}

// RecallKnowledge returns the entries that fit a query best, the best first. Those
// that another took the place of aren't found. Nothing is recorded: knowledge
// doesn't live by its use.
func (m *Memories) RecallKnowledge(ctx context.Context, r *KnowledgeQuery) ([]RecalledKnowledge, error) {
	var p problems
	p.query(r.Query, r.Limit, r.MinScore)
	p.check(core.CheckNamespace(r.Namespace))
	if err := p.err(); err != nil {
		return nil, err
	}
	list, err := m.recallKnowledge(ctx, r)
	if err != nil {
		return nil, sdk.Wrap("recall knowledge in "+r.Namespace, err)
	}
	return list, nil
}

func (m *Memories) recallKnowledge(ctx context.Context, r *KnowledgeQuery) ([]RecalledKnowledge, error) {
	q := search.Query{Text: r.Query}
	q.Filter.Namespace, q.Filter.Subtree, q.Filter.MinScore = r.Namespace, r.Subtree, r.MinScore
	widths(&q, 0, r.Limit)
	if _, err := m.embedQuery(ctx, &q); err != nil {
		return nil, err
	}
	found, err := m.knowledge.Search(ctx, &q)
	if err != nil {
		return nil, err
	}
	list := make([]RecalledKnowledge, 0, len(found))
	err = m.options.Store.View(ctx, func(reader core.Reader) error {
		for _, f := range found {
			k, err := readKnowledge(reader, f.ID)
			if isGone(err) {
				continue // since the search
			}
			if err != nil {
				return err
			}
			list = append(list, RecalledKnowledge{Knowledge: k, Rank: len(list), Score: f.Score, Why: f.Why})
		}
		return nil
	})
	return list, err
}
