package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// observeInState makes a memory that reached a state as memories do.
func (g *governed) observeInState(t *testing.T, id string, state core.MemoryState) {
	t.Helper()
	g.observeNamed(t, id)
	turns := func(n int64, outcome core.Outcome) {
		for turn := range n {
			g.live(t, id, turn, id, outcome)
		}
	}
	switch state {
	case core.StateActive:
		turns(1, core.OutcomeSuccess)
	case core.StateCooling:
		turns(5, "")
	case core.StateRevalidatePending:
		turns(3, core.OutcomeFailure)
	case core.StateArchived, core.StateConsolidated:
		must(t, g.MoveByDream(t.Context(), id, state, ""))
	case core.StatePromoted:
		g.promote(t, id)
	}
	if m := g.get(t, id); m.State != state {
		t.Fatalf("%s is %s, not %s", id, m.State, state)
	}
}

// TestErase_TakesAMemoryInWhateverState also proves that the decision is recorded with
// the request as evidence of both kinds, and that nothing else of the memory is left.
func TestErase_TakesAMemoryInWhateverState(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for _, state := range core.MemoryStates() {
		if state == core.StatePurged {
			continue
		}
		onEngines(t, func(t *testing.T, s core.Store) {
			// Only a promotion is decided on by itself: what waits for the gate does so still.
			g := newGoverned(t, s, func(o *memory.Options) { o.DeferGate = state == core.StateRevalidatePending })
			g.observeNamed(t, "other")
			g.observeInState(t, "secret", state)
			d, err := g.Gate.Erase(as(t, "ada"), "secret", memory.EraseRequest{Reason: " she asked for it "})
			if err != nil {
				t.Fatalf("%s: %v", state, err)
			}
			if d.Verdict != policypoint.VerdictObsolete || d.Confidence != 1 || d.NextAction != verdict.NextPurge || d.Omega.Erasure == "" ||
				len(d.ReactRefs) != 1 || !slices.Equal(d.ReactRefs, d.GraphRefs) || !strings.Contains(d.Reason, ": she asked for it") {
				t.Errorf("%s: the decision is %+v", state, d)
			}
			_, err = g.Get(t.Context(), "secret")
			wantReason(t, err, sdk.NotFound, "memory_purged")
			e, err := g.Explain(t.Context(), "secret")
			if err != nil || e.State != core.StatePurged || len(e.Decisions) == 0 || e.Decisions[len(e.Decisions)-1].ID != d.ID {
				t.Errorf("%s: it is explained as %+v, error %v", state, e, err)
			}
			_, err = g.Gate.Erase(t.Context(), "secret", memory.EraseRequest{Reason: "again"})
			wantReason(t, err, sdk.NotFound, "memory_purged")
			g.written(t)
			for _, text := range []string{"title of secret", "content of secret", "tag-secret", `"of":"secret"`} {
				g.lacks(t, text)
			}
			g.sound(t)
			if m := g.get(t, "other"); m.State != core.StateOpen {
				t.Errorf("%s: another memory is %s", state, m.State)
			}
		})
	}
}

// TestErase_OfWhatWasPromotedTakesItsKnowledge also checks what took an older entry's
// place: that one stays out of date.
func TestErase_OfWhatWasPromotedTakesItsKnowledge(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.observeNamed(t, "older")
	g.observeNamed(t, "secret")
	older, secret := g.promote(t, "older"), g.promote(t, "secret")
	must(t, g.Knowledge.Supersede(t.Context(), older.ID, secret.ID))
	found := func() (ids []string) {
		list, err := g.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Query: "content of secret", Namespace: "a/b"})
		must(t, err)
		for i, k := range list {
			if ids = append(ids, k.Knowledge.ID); k.Rank != i {
				t.Errorf("result %d has rank %d", i, k.Rank)
			}
		}
		return ids
	}
	if ids := found(); !slices.Equal(ids, []string{secret.ID}) {
		t.Fatalf("before it is erased %v is found", ids)
	}
	_, err := g.Gate.Erase(t.Context(), "secret", memory.EraseRequest{Reason: "asked"})
	must(t, err)

	_, err = g.Knowledge.Get(t.Context(), secret.ID)
	wantReason(t, err, sdk.NotFound, "knowledge_purged")
	_, err = g.Knowledge.Promotion(t.Context(), "secret")
	wantReason(t, err, sdk.NotFound, "promotion_not_found")
	list, _, err := g.Knowledge.List(t.Context(), memory.KnowledgeFilter{Namespace: "a/b", Superseded: true})
	if err != nil || len(list) != 1 || list[0].ID != older.ID || list[0].SupersededBy != secret.ID {
		t.Errorf("knowledge is %+v, error %v", list, err)
	}
	if ids := found(); len(ids) != 0 {
		t.Errorf("%v is found still", ids)
	}
	wantReason(t, g.Knowledge.Supersede(t.Context(), secret.ID, older.ID), sdk.NotFound, "knowledge_purged")
	last := g.entries[len(g.entries)-1]
	if e, is := journal.As[journal.MemoryPurged](&last); !is || e.KnowledgeID != secret.ID || e.Before != core.StatePromoted {
		t.Errorf("the last event is %s %s", last.Type, last.Data)
	}
	g.written(t)
	g.lacks(t, "of secret")

	again, err := imported(t, g.export(t))
	must(t, err)
	again.sound(t)
	there := neighbour(t)
	_, err = there.merge(t, g.export(t), "a/b")
	must(t, err)
	there.sound(t)
	_, err = there.Knowledge.Get(t.Context(), secret.ID)
	wantReason(t, err, sdk.NotFound, "knowledge_purged")
}

// TestErase_LeavesRoomForOtherKnowledge: what is erased takes no place among what is found.
func TestErase_LeavesRoomForOtherKnowledge(t *testing.T) {
	w := living(t, openPebble(t), promotesOrErases, hashed)
	first, nearest := w.promoted(t, core.ObserveRequest{Content: "pool the connections"})
	_, other := w.promoted(t, core.ObserveRequest{Content: "pool the threads"})
	for _, want := range []string{nearest.ID, other.ID} {
		list, err := w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Query: "pool connections", Namespace: "ns", Limit: 1})
		if err != nil || len(list) != 1 || list[0].Knowledge.ID != want || list[0].Rank != 0 {
			t.Errorf("found %+v, error %v, want %s", list, err, want)
		}
		if want == nearest.ID {
			_, err = w.Gate.Erase(t.Context(), first.ID, memory.EraseRequest{Reason: "r"})
			must(t, err)
		}
	}
}

// TestCheckFindsWhatAnErasureOfKnowledgeLeft puts the entry back, and takes its tombstone
// away.
func TestCheckFindsWhatAnErasureOfKnowledgeLeft(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.observeNamed(t, "older")
	g.observeNamed(t, "secret")
	older, secret := g.promote(t, "older"), g.promote(t, "secret")
	must(t, g.Knowledge.Supersede(t.Context(), older.ID, secret.ID))
	entry := dump(t, g.store)["knowledge/"+secret.ID]
	_, err := g.Gate.Erase(t.Context(), "secret", memory.EraseRequest{Reason: "asked"})
	must(t, err)
	tombstone := dump(t, g.store)["knowledge-purged/"+secret.ID]
	for _, c := range []struct {
		key, value, says string
	}{
		{"knowledge/" + secret.ID, entry, "it was purged but still exists"},
		{"knowledge-purged/" + secret.ID, "", "the record is gone"},
		{"knowledge-purged/" + secret.ID, strings.Replace(tombstone, "a/b", "a/c", 1), "isn't what its newest event says"},
		{"knowledge-purged/x", tombstone, "no event says"},
	} {
		whole := dump(t, g.store)
		write := func(tx core.Tx, key, value string) error {
			if value == "" {
				return tx.Delete([]byte(key))
			}
			return tx.Put([]byte(key), []byte(value))
		}
		change(t, g.store, func(tx core.Tx) error { return write(tx, c.key, c.value) })
		list := g.problems(t)
		if !slices.ContainsFunc(list, func(p core.Problem) bool { return p.Key == c.key && strings.Contains(p.Message, c.says) }) {
			t.Errorf("%s: %+v", c.key, list)
		}
		change(t, g.store, func(tx core.Tx) error { return write(tx, c.key, whole[c.key]) })
	}
	g.sound(t)
}

func TestErase_Refuses(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.observeNamed(t, "m")
	for name, request := range map[string]memory.EraseRequest{
		"blank":    {Reason: " \n"},
		"too long": {Reason: strings.Repeat("x", 1025)},
	} {
		_, err := g.Gate.Erase(t.Context(), "m", request)
		if sdk.ReasonOf(err) != "reason_invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := g.Gate.Erase(t.Context(), "nothing", memory.EraseRequest{Reason: "r"})
	wantReason(t, err, sdk.NotFound, "memory_not_found")
	_, err = newWorld(t, g.store, nil).Gate.Erase(t.Context(), "m", memory.EraseRequest{Reason: "r"})
	wantReason(t, err, sdk.Unavailable, "gate_missing")

	change(t, g.store, func(tx core.Tx) error { return tx.Put([]byte("governance/a"), []byte("{")) })
	before := dump(t, g.store)
	_, err = g.Gate.Erase(t.Context(), "m", memory.EraseRequest{Reason: "r"})
	wantReason(t, err, sdk.Denied, "governance_unreadable")
	if after := dump(t, g.store); after["memory/m"] != before["memory/m"] || g.events("agent.memory.lifecycle.halted") != 1 {
		t.Errorf("it is %s now, with %d events", after["memory/m"], g.events("agent.memory.lifecycle.halted"))
	}
}
