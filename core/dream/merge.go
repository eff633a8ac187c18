package dream

import (
	"context"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/text"
)

// merges merges memories that say the same, the newest first: the newest keeps every older
// memory that matches it. A memory that matches only a victim, and not the keeper, stays.
func (p *planner) merges(ctx context.Context) error {
	for _, group := range p.byAgent() {
		records := make([]Record, len(group))
		for i, d := range group {
			records[i] = Record{
				ID: d.ID, Kind: string(d.Kind), At: Anchor(&d.Memory), Form: text.Normal(d.Content),
				Model: d.EmbeddingModel, Vector: d.vector, New: d.fresh,
			}
		}
		for _, pair := range Candidates(records, CandidateOptions{Full: p.Since.IsZero(), Near: p.Near}) {
			if err := p.consider(ctx, group[pair.Newer], group[pair.Older], &pair); err != nil {
				return err
			}
		}
	}
	return nil
}

// byAgent are the memories that may be merged, by their agent, in the order of its newest.
func (p *planner) byAgent() (groups [][]*draft) {
	at := map[string]int{}
	for _, d := range p.drafts {
		if !d.free() {
			continue
		}
		i, known := at[d.AgentID]
		if !known {
			i = len(groups)
			at[d.AgentID], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

// consider merges a pair, or notes why it isn't merged.
func (p *planner) consider(ctx context.Context, keeper, victim *draft, pair *Pair) error {
	if !keeper.free() || !victim.free() || keeper.distinct(victim) {
		return ctx.Err()
	}
	_, calibrated := p.Near[keeper.EmbeddingModel]
	c, err := Decide(ctx, pair.By, calibrated, keeper.Content, victim.Content, p.Judge)
	if err != nil {
		return err
	}
	class := c.Class
	if c.Merge {
		class = ""
		if len(Kept(&keeper.Memory, &victim.Memory, p.Title).Tags) > maxTags {
			class = TooManyTags
		}
	}
	if class != "" {
		p.plan.Refusals = append(p.plan.Refusals, Refusal{keeper.ID, victim.ID, class})
		return nil
	}
	evidence := map[string]string{"by": pair.By}
	if pair.By == ByVectors {
		evidence["cosine"] = strconv.FormatFloat(pair.Cosine, 'f', 4, 64)
	}
	if c.Class != "" {
		evidence["judged"] = c.Class
	}
	p.merge(keeper, victim, "same_meaning", evidence)
	return nil
}

// TooManyTags is the class of a refusal because two memories together have more tags than
// one may have.
const TooManyTags = "tags"

// merge adds the step that merges a memory into another.
func (p *planner) merge(keeper, victim *draft, reason string, evidence map[string]string) {
	s := p.step(StepMerge, reason, evidence, keeper, victim)
	after := Kept(&keeper.Memory, &victim.Memory, p.Title)
	s.changeText(keeper, "tags", string(jsontext.MustEncode(keeper.Tags)), string(jsontext.MustEncode(after.Tags)))
	s.change(keeper, "importance", decimal(keeper.Importance), decimal(after.Importance))
	s.change(keeper, "confidence", decimal(keeper.Confidence), decimal(after.Confidence))
	s.change(victim, "merged_into", "", keeper.ID)
	s.move(victim, core.StateConsolidated)
	keeper.Memory = *after
	keeper.fresh = true
	keeper.named = keeper.named || victim.named
	victim.MergedInto = keeper.ID
	link(keeper, core.RelationConsolidatedFrom, victim)
}

// Kept is a memory after another was merged into it: it has the tags of both, in order, then
// the titles that they were given, if these differ, the higher importance and confidence, and all
// accesses. The signals of the other's uses aren't included. Derive is [Input].Title.
func Kept(keeper, victim *core.Memory, derive func(content string) string) *core.Memory {
	after := *keeper
	after.Tags = union(union(keeper.Tags, victim.Tags), titleTags(keeper, victim, derive))
	after.Importance = max(keeper.Importance, victim.Importance)
	after.Confidence = max(keeper.Confidence, victim.Confidence)
	after.AccessCount += victim.AccessCount
	return &after
}

// union are the tags of both, in order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, tag := range b {
		if !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}
