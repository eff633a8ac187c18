package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/sdk"
)

// Summarizer describes in a few words what is reusable in a memory. A model can do that.
type Summarizer interface {
	Summarize(ctx context.Context, m *core.Memory) (string, error)
}

// summary is a summarizer's text, or the reason why there is none.
type summary struct{ text, failure string }

// summarize asks the summarizer about a memory that is going to be promoted, outside any
// transaction because it may take long. The content of a memory that waits for the gate never
// changes, so the summary is still right in the transaction that follows. Without a summarizer, or if it
// fails, the summary is empty. The error is the gate's or the context's.
func (g *Gate) summarize(ctx context.Context, id string, r *RevalidateRequest) (summary, error) {
	if g.options.Summarizer == nil {
		return summary{}, nil
	}
	c, d, err := g.dryRun(ctx, id, r)
	if err != nil || d.NextAction != verdict.NextPromote {
		return summary{}, err
	}
	text, err := g.options.Summarizer.Summarize(ctx, c.Memory)
	if ctx.Err() != nil {
		return summary{}, ctx.Err()
	}
	if err != nil {
		return summary{failure: sdk.ReasonOf(err)}, nil
	}
	return summary{text: knowledge.SummaryOf(text)}, nil
}

// promote makes knowledge from the memory: the entry, its record and the memory's state
// are one commit. A memory that was promoted before keeps its entry, with its present text if it was demoted.
func (v *conclusion) promote(t *record.Tx) error {
	p, err := knowledge.ReadPromotion(t, v.memory.ID)
	if err != nil {
		return err
	}
	var before *core.Knowledge
	if p != nil {
		if before, err = knowledge.Read(t, p.KnowledgeID); err != nil {
			return err
		}
	}
	if before == nil || before.DemotedBy != "" {
		if p, err = v.enter(t, before); err != nil {
			return err
		}
	}
	v.after.PromotedTo = p.KnowledgeID
	return record.Transition(t, v.memory, v.after, v.transitioned(t))
}

// enter writes the entry that the memory becomes, in place of one that was demoted, and the record of the
// promotion.
func (v *conclusion) enter(t *record.Tx, demoted *core.Knowledge) (*Promotion, error) {
	memory := v.memory
	k := &core.Knowledge{
		ID: v.knowledgeID, Namespace: memory.Namespace, Title: memory.Title, Content: memory.Content, Summary: v.summary.text,
		PromotedFrom: memory.ID, DecisionID: v.decision.ID, CreatedAt: t.Now().Round(0),
	}
	if k.Summary == "" {
		k.Summary = knowledge.Pattern(memory)
	}
	write := knowledge.Create
	if demoted != nil {
		k.ID, k.CreatedAt, k.SupersededBy, write = demoted.ID, demoted.CreatedAt, demoted.SupersededBy, knowledge.Put
	}
	if err := write(t, k); err != nil {
		return nil, err
	}
	p := &Promotion{MemoryID: memory.ID, KnowledgeID: k.ID, Decision: v.decision.ID, Summary: k.Summary}
	if err := knowledge.PutPromotion(t, memory.Namespace, p); err != nil {
		return nil, err
	}
	return p, t.Record(memory.Namespace, journal.MemoryPromoted{
		Gated: v.gated(), KnowledgeID: k.ID, Content: record.Keyed(memory.Salt, k.Content), Summary: record.Keyed(memory.Salt, k.Summary), SummaryFailure: v.summary.failure,
	}, memory.ID)
}
