package memory

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/policypoint"
)

// A memory is promoted for what its whole life shows. When the world changes, that stays good for long,
// so its window alone decides whether it stays knowledge.

// demotion is the gate's decision on a memory that became knowledge and whose last uses failed, or that is shown
// not to help; effect is nil if that isn't known.
func demotion(m *core.Memory, effect *core.Effect) *verdict.GateDecision {
	s := &m.Signals
	failed, passed, fallen := lifecycle.Fallen(s.Window)
	lately := lifecycle.StandingOf(s.Window, "")
	d := &verdict.GateDecision{
		Verdict: policypoint.VerdictRetain, NextAction: verdict.NextRetain, Confidence: 1, ReactRefs: []string{}, GraphRefs: []string{},
		Omega: verdict.OmegaRecord{Notes: []string{}}, Evidence: core.Digest([]byte(s.Window)), Reason: "its last uses didn't fail",
		Numbers: verdict.GateNumbers{
			Q: s.Q, UtilityScore: s.Utility, Utility: lately.Q, Uses: s.Uses(), Successes: s.Successes, Failures: s.Failures,
			Named: s.Named(), RelevantTurns: s.RelevantTurns, Sessions: s.Sessions, Effect: effect,
		},
	}
	useless := effect != nil && effect.Verdict == core.EffectNone
	if !fallen && !useless {
		return d
	}
	d.Verdict, d.NextAction = verdict.NextDemote, verdict.NextDemote
	if !fallen {
		d.Reason = "turns without it went as well: " + effect.String()
		return d
	}
	d.Reason = fmt.Sprintf("its last %s failed", number(failed, "use", "uses"))
	if passed > 0 {
		d.Reason += fmt.Sprintf(", and %s since passed it over", number(passed, "turn", "turns"))
	}
	for _, turn := range s.RecentUses[max(0, len(s.RecentUses)-failed):] {
		d.ReactRefs = append(d.ReactRefs, fmt.Sprintf("turn:%s/%d", turn.Session, turn.Turn))
	}
	return d
}

// demote marks the entry that the memory became, which knowledge recall doesn't find any more. The memory
// can be promoted again.
func (v *conclusion) demote(t *record.Tx) error {
	k, err := knowledge.Read(t, v.memory.PromotedTo)
	if err != nil {
		return err
	}
	if err := record.ForgetTrial(t, v.memory); err != nil { // what comes next may differ
		return err
	}
	k.DemotedBy = v.decision.ID
	if err := knowledge.Put(t, k); err != nil {
		return err
	}
	event := journal.KnowledgeDemoted{Gated: v.gated(), KnowledgeID: k.ID, PromotedBy: k.DecisionID}
	if err := t.Record(k.Namespace, event, v.memory.ID); err != nil {
		return err
	}
	return record.Transition(t, v.memory, v.after, v.transitioned(t))
}
