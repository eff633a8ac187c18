package memory_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// TestMemories_AreFollowed: what is searched, changed and erased is reported with its outcome.
func TestMemories_AreFollowed(t *testing.T) {
	var told []string
	g := newGoverned(t, empty(t), func(o *memory.Options) {
		o.Observer = func(ctx context.Context, w work.Work) (context.Context, func(work.Outcome)) {
			return ctx, func(out work.Outcome) {
				line := string(w.Kind) + " " + w.Name + " " + w.Namespace
				if out.Err != nil {
					line += " " + sdk.ReasonOf(out.Err)
				}
				told = append(told, line)
			}
		}
	})
	ctx := t.Context()
	for _, id := range []string{"one", "two"} {
		_, err := g.Observe(ctx, &core.ObserveRequest{ID: id, Namespace: "team", Content: "a fact on " + id})
		must(t, err)
	}
	_, _, err := g.ObserveAll(ctx, []*core.ObserveRequest{{ID: "one", Namespace: "team", Content: "again"}})
	wantReason(t, err, sdk.Conflict, "id_taken")
	found, err := g.Recall(ctx, &core.RecallRequest{Query: "fact", Session: "s", RecallFilter: core.RecallFilter{Namespace: "team"}})
	must(t, err)
	_, err = g.Knowledge.Recall(ctx, &memory.KnowledgeQuery{Query: "fact", Namespace: "team"})
	must(t, err)
	_, err = g.Feedback(ctx, &core.FeedbackRequest{Session: "s", Turn: found.Turn, Outcome: core.OutcomeSuccess})
	must(t, err)
	_, err = g.Link(ctx, &memory.LinkRequest{From: "one", Relation: "supports", To: "two"})
	must(t, err)
	_, err = g.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{"one", "two"}, Namespace: "team", Title: "both", Content: "are facts"})
	must(t, err)
	_, err = g.Restore(ctx, "one")
	wantReason(t, err, sdk.Conflict, "state_conflict")
	_, err = g.Gate.Erase(ctx, "one", memory.EraseRequest{Reason: "it is wrong"})
	must(t, err)
	want := []string{
		"update_memory observe team", "update_memory observe team", "update_memory observe  id_taken",
		"search_memory recall team", "search_memory recall_knowledge team", "update_memory feedback ", "update_memory link ",
		"update_memory reflect team", "update_memory restore  state_conflict", "delete_memory erase ",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want\n%q", told, want)
	}
}

// TestMemories_AreCountedByState, in all namespaces together.
func TestMemories_AreCountedByState(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		g := newGoverned(t, s, func(o *memory.Options) { o.DeferGate = true })
		for id, state := range map[string]core.MemoryState{"a": core.StateActive, "b": core.StateActive, "c": core.StateCooling} {
			g.observeInState(t, id, state)
		}
		_, err := g.Observe(t.Context(), &core.ObserveRequest{Namespace: "elsewhere", Content: "a fact"})
		must(t, err)
		counts, err := g.States(t.Context())
		must(t, err)
		if want := map[core.MemoryState]int64{core.StateActive: 2, core.StateCooling: 1, core.StateOpen: 1}; !maps.Equal(counts, want) {
			t.Errorf("%v, want %v", counts, want)
		}
	})
}
