package memory

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

const (
	promotionPrefix = "promotion/"

	// summaryRunes is how much of the content is the pattern where no model says
	// it better; maxSummaryRunes bounds what a model says.
	summaryRunes    = 280
	maxSummaryRunes = 4000
)

// Summarizer says in a few words what is reusable in a memory, such as a model
// does.
type Summarizer interface {
	Summarize(ctx context.Context, m *core.Memory) (string, error)
}

// Promotion is the record of how a memory became knowledge.
type Promotion struct {
	MemoryID    string `json:"memory_id"`
	KnowledgeID string `json:"promoted_to_knowledge_id"`
	// Decision is the id of the gate's.
	Decision string `json:"decision"`
	Summary  string `json:"reusable_pattern_summary"`
}

func promotionKey(memoryID string) []byte { return []byte(promotionPrefix + memoryID) }

// putPromotion writes the record of a promotion, with a salt since it has content.
func putPromotion(t *tx, namespace string, p *Promotion) error {
	salt, err := t.newSalt()
	if err != nil {
		return err
	}
	return t.write(namespace, promotionKey(p.MemoryID), core.MustJSON(struct {
		*Promotion
		Salt string `json:"salt"`
	}{p, salt}))
}

// readPromotion returns nil for a memory that wasn't promoted.
func readPromotion(r core.Reader, memoryID string) (*Promotion, error) {
	value, found, err := r.Get(promotionKey(memoryID))
	if err != nil || !found {
		return nil, err
	}
	var p Promotion
	if err := json.Unmarshal(value, &p); err != nil {
		return nil, damaged(promotionPrefix+memoryID, err)
	}
	return &p, nil
}

// Promotion returns how a memory became knowledge. One that didn't is
// sdk.NotFound, reason "promotion_not_found".
func (m *Memories) Promotion(ctx context.Context, memoryID string) (p *Promotion, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		p, err = readPromotion(r, memoryID)
		return err
	})
	if err == nil && p == nil {
		err = sdk.Errorf(sdk.NotFound, "promotion_not_found", "memory %q wasn't promoted", cut(memoryID)).
			WithHint("see why it is in its state").WithAction("memory explain", "id", cut(memoryID))
	}
	return p, err
}

// summary is a pattern that a summarizer said, or why it didn't.
type summary struct{ text, failure string }

// summarize asks the summarizer about a memory that is going to be promoted,
// outside any transaction since it may take long. A memory's content never
// changes, so what it says holds in the transaction that follows. Without a
// summarizer, or where it fails, the summary is empty. The error is the gate's
// or the context's.
func (m *Memories) summarize(ctx context.Context, id string, r *RevalidateRequest) (summary, error) {
	if m.options.Summarizer == nil {
		return summary{}, nil
	}
	c, d, err := m.ask(ctx, id, r)
	if err != nil || d.NextAction != core.NextPromote {
		return summary{}, err
	}
	text, err := m.options.Summarizer.Summarize(ctx, c.Memory)
	if ctx.Err() != nil {
		return summary{}, ctx.Err()
	}
	if err != nil {
		return summary{failure: sdk.ReasonOf(err)}, nil
	}
	return summary{text: firstRunes(strings.TrimSpace(strings.ToValidUTF8(text, "�")), maxSummaryRunes)}, nil
}

// patternOf is the reusable pattern of a memory without a summarizer: its title
// and the beginning of its content.
func patternOf(m *core.Memory) string {
	return m.Title + "\n" + firstRunes(m.Content, summaryRunes)
}

// firstRunes is the beginning of a text.
func firstRunes(s string, most int) string {
	count := 0
	for i := range s {
		if count == most {
			return s[:i]
		}
		count++
	}
	return s
}

// promote makes knowledge of the memory: the entry, the record of it and the
// memory's state are one commit. A memory that was promoted before keeps its
// entry.
func (v *verdict) promote(t *tx) error {
	p, err := readPromotion(t, v.memory.ID)
	if err != nil {
		return err
	}
	if p == nil {
		if p, err = v.enter(t); err != nil {
			return err
		}
	}
	v.after.PromotedTo = p.KnowledgeID
	return transition(t, v.memory, v.after, v.transitioned(t))
}

// enter writes the entry that the memory becomes, and the record of it.
func (v *verdict) enter(t *tx) (*Promotion, error) {
	memory := v.memory
	k := &core.Knowledge{
		ID: v.knowledgeID, Namespace: memory.Namespace, Title: memory.Title, Content: memory.Content, Summary: v.summary.text,
		PromotedFrom: memory.ID, DecisionID: v.decision.ID, CreatedAt: t.Now().Round(0),
	}
	if k.Summary == "" {
		k.Summary = patternOf(memory)
	}
	p := &Promotion{MemoryID: memory.ID, KnowledgeID: k.ID, Decision: v.decision.ID, Summary: k.Summary}
	if err := createKnowledge(t, k); err != nil {
		return nil, err
	}
	if err := putPromotion(t, memory.Namespace, p); err != nil {
		return nil, err
	}
	return p, t.record(memory.Namespace, journal.MemoryPromoted{
		Gated: v.gated(), KnowledgeID: k.ID, Content: keyed(memory.Salt, k.Content), Summary: keyed(memory.Salt, k.Summary), SummaryFailure: v.summary.failure,
	}, memory.ID)
}
