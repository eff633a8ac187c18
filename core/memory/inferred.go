package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/memory/turn"
)

// SourceInferred is the source of an outcome that the host concluded by itself.
const SourceInferred = lifecycle.SourceInferred

// inferred are the memories that a turn used according to its reply, with how strongly: nothing if the
// feedback names memories itself, or there is no reply.
func (m *Memories) inferred(ctx context.Context, r *core.FeedbackRequest) (map[string]float64, error) {
	if r.Reply == "" || len(r.Used) > 0 || len(r.Reply) > turn.MaxReplyBytes {
		return nil, nil //nolint:nilnil // nothing to infer is no error
	}
	return m.Infer(ctx, core.TurnRef{Session: r.Session, Turn: r.Turn}, r.Reply)
}

// Infer returns the memories that a turn used according to a reply, with how strongly.
func (m *Memories) Infer(ctx context.Context, of core.TurnRef, reply string) (map[string]float64, error) {
	var offered *turn.Offered
	var texts []string
	err := m.records.View(ctx, func(reader core.Reader) (err error) {
		if offered, err = m.turns.Offered(reader, of); err != nil || offered == nil {
			return err
		}
		texts = make([]string, len(offered.MemoryIDs))
		for i, id := range offered.MemoryIDs {
			found, err := record.Read(reader, id)
			switch {
			case err == nil:
				texts[i] = found.Title + "\n" + found.Content
			case !record.IsGone(err):
				return err
			}
		}
		return nil
	})
	if err != nil || offered == nil { // a turn that isn't there is refused later
		return nil, err
	}
	used := map[string]float64{}
	err = m.index.WithRarity(ctx, offered.Namespaces, func(rarity text.Rarity) {
		for i, strength := range text.Uses(reply, offered.Query, texts, rarity) {
			if strength > 0 {
				used[offered.MemoryIDs[i]] = core.Rounded(strength)
			}
		}
	})
	return used, err
}
