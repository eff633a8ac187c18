package memory_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
)

// useAs has a memory used with these outcomes, or passed over by a use of another.
func (w *world) useAs(t *testing.T, session string, id, other, outcomes string) {
	t.Helper()
	for i, c := range outcomes {
		turn := int64(i + 1)
		w.offer(t, session, turn, id, other)
		switch c {
		case 's':
			w.feedback(t, session, turn, core.OutcomeSuccess, id)
		case 'f':
			w.feedback(t, session, turn, core.OutcomeFailure, id)
		default:
			w.feedback(t, session, turn, core.OutcomeSuccess, other)
		}
	}
}

func TestKnowledge_FallsWhenItsLastUsesFail(t *testing.T) {
	for _, c := range []struct {
		uses   string
		fallen bool
	}{
		{"s", false}, {"sf", false}, {"sff", false}, {"sffs", false}, {"sfff", true}, {"sffsfff", true},
		{"sffsff", false}, {"sfsfsf", false},
	} {
		t.Run(c.uses, func(t *testing.T) {
			w := living(t, empty(t), decides(verdict.NextPromote, .9), deferred)
			other := w.observe(t, core.ObserveRequest{Content: "another"}).ID
			m, k := w.promoted(t, core.ObserveRequest{Content: "pool the connections"})
			w.useAs(t, "later", m.ID, other, c.uses)
			if w.get(t, m.ID).State == core.StateRevalidatePending {
				_, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
				must(t, err)
			}
			m = w.get(t, m.ID)
			known, err := w.Knowledge.Get(t.Context(), k.ID)
			must(t, err)
			if fell := known.DemotedBy != ""; fell != c.fallen || fell != (m.State == core.StateCooling) || fell != (m.PromotedTo == "") || fell != (len(w.known(t, "pool")) == 0) {
				t.Errorf("the memory is %s, the entry %+v", m.State, known)
			}
			w.wantSound(t)
		})
	}
}

// TestKnowledge_FallsInOneCommit which records why, and comes back if the memory helps again.
func TestKnowledge_FallsInOneCommit(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPromote, .9), deferred)
		other := w.observe(t, core.ObserveRequest{Content: "another"}).ID
		m, k := w.promoted(t, core.ObserveRequest{Content: "pool the connections"})
		w.useAs(t, "later", m.ID, other, "sfff")
		if m = w.get(t, m.ID); m.State != core.StateRevalidatePending || m.StateBefore != core.StatePromoted || m.PromotedTo != k.ID {
			t.Fatalf("it is %+v", m)
		}
		w.wantSound(t)
		before := len(w.entries)
		d, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		must(t, err)
		if d.Verdict != verdict.NextDemote || d.NextAction != verdict.NextDemote || d.Reason != "its last 3 uses failed" || len(d.ReactRefs) != 3 {
			t.Errorf("the decision is %+v", d)
		}
		w.wantEvents(t, before, "revalidate.started", "revalidate.decision", "agent.knowledge.demoted", "lifecycle.transition")
		w.wantTransition(t, before+3, "revalidate_pending", "cooling", `"cause":"gate"`, `"decision.verdict":"demote"`)
		known, err := w.Knowledge.Get(t.Context(), k.ID)
		must(t, err)
		if known.DemotedBy != d.ID || known.DecisionID != k.DecisionID || known.Content != k.Content {
			t.Errorf("the entry is %+v", known)
		}
		list, _, err := w.Knowledge.List(t.Context(), memory.KnowledgeFilter{Namespace: "ns"})
		if err != nil || len(list) != 0 || len(w.knowledge(t)) != 1 {
			t.Errorf("listed: %+v, %v", list, err)
		}
		if r := w.recall(t, core.RecallRequest{Query: "pool"}); len(r.Memories) != 1 || r.Memories[0].KnowledgeID != "" {
			t.Errorf("the memory is recalled as %+v", r.Memories)
		}
		w.wantSound(t)

		w.useAs(t, "again", m.ID, other, "ssssssssssss")
		w.useAs(t, "and-again", m.ID, other, "ssssssssssssssssssss")
		if m = w.get(t, m.ID); m.State != core.StateRevalidatePending {
			t.Fatalf("it is %s with %+v", m.State, m.Signals)
		}
		d, err = w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		must(t, err)
		known, err = w.Knowledge.Get(t.Context(), k.ID)
		must(t, err)
		if m = w.get(t, m.ID); m.State != core.StatePromoted || m.PromotedTo != k.ID || known.DemotedBy != "" || known.DecisionID != d.ID || len(w.known(t, "pool")) != 1 {
			t.Errorf("the memory is %+v, the entry %+v", m, known)
		}
		w.wantSound(t)
		must(t, w.Remove(t.Context(), m.ID))
		if left := w.knowledge(t); len(left) != 0 {
			t.Errorf("its purge leaves %+v", left)
		}
	})
}

// TestKnowledge_StaysIfAUseWentWellMeanwhile: the gate looks at the window when it decides.
func TestKnowledge_StaysIfAUseWentWellMeanwhile(t *testing.T) {
	w := living(t, empty(t), decides(verdict.NextPromote, .9), deferred)
	other := w.observe(t, core.ObserveRequest{Content: "another"}).ID
	m, k := w.promoted(t, core.ObserveRequest{Content: "pool the connections"})
	w.useAs(t, "later", m.ID, other, "sfffs")
	d, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
	must(t, err)
	if m = w.get(t, m.ID); d.NextAction != verdict.NextRetain || m.State != core.StatePromoted || m.PromotedTo != k.ID {
		t.Errorf("%+v, %+v", d, m)
	}
	w.wantSound(t)
}
