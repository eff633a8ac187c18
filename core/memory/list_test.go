package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// listed is a world of memories in several namespaces, kinds, states and tags,
// each a second newer than the one before it.
func listed(t *testing.T, s core.Store) *world {
	t.Helper()
	w := newWorld(t, s, nil)
	for i, spec := range []string{"a x alice", "a/b x bob", "a y alice", "b x alice", "a x,y bob", "a-c x alice", "a/b/c y bob"} {
		f := strings.Fields(spec)
		kind := core.KindObservation
		if i%2 == 1 {
			kind = core.KindProcedural
		}
		w.observe(t, core.ObserveRequest{ID: fmt.Sprint(i), Namespace: f[0], Attributes: core.Attributes{Tags: strings.Split(f[1], ","), AgentID: f[2]}, Kind: kind, Content: "c"})
		w.clock.Advance(time.Second)
	}
	if err := w.Move(t.Context(), "2", core.StateArchived, journal.MemoryTransitioned{Cause: "dream"}); err != nil {
		t.Fatal(err)
	}
	return w
}

// ids lists what a filter selects, page by page.
func (w *world) ids(t *testing.T, f memory.ListFilter) string {
	t.Helper()
	var ids []string
	for range 100 {
		page, err := w.List(t.Context(), f)
		if err != nil {
			t.Fatalf("List(%+v): %v", f, err)
		}
		for _, m := range page.Memories {
			ids = append(ids, m.ID)
		}
		if f.After = page.Next; f.After == "" {
			return strings.Join(ids, " ")
		}
	}
	t.Fatalf("List(%+v) doesn't end", f)
	return ""
}

func TestListSelects(t *testing.T) {
	cases := []struct {
		name string
		f    memory.ListFilter
		want string
	}{
		{"a namespace, the newest first", memory.ListFilter{Namespace: "a"}, "4 2 0"},
		{"a subtree", memory.ListFilter{Namespace: "a", Subtree: true}, "4 2 0 1 6"},
		{"everything", memory.ListFilter{Subtree: true}, "4 2 0 5 1 6 3"},
		{"a namespace that isn't there", memory.ListFilter{Namespace: "none", Subtree: true}, ""},
		{"a kind", memory.ListFilter{Subtree: true, Kinds: []core.MemoryKind{core.KindProcedural}}, "5 1 3"},
		{"kinds", memory.ListFilter{Namespace: "a", Kinds: []core.MemoryKind{core.KindProcedural, core.KindObservation}}, "4 2 0"},
		{"a state", memory.ListFilter{Namespace: "a", States: []core.MemoryState{core.StateArchived}}, "2"},
		{"states", memory.ListFilter{Namespace: "a", States: []core.MemoryState{core.StateArchived, core.StateOpen}}, "4 2 0"},
		{"a tag", memory.ListFilter{Subtree: true, Tags: []string{"y"}}, "4 2 6"},
		{"tags", memory.ListFilter{Subtree: true, Tags: []string{"y", "x"}}, "4"},
		{"an agent", memory.ListFilter{Namespace: "a", Subtree: true, AgentID: "bob"}, "4 1 6"},
		{"all at once", memory.ListFilter{Namespace: "a", AgentID: "alice", Tags: []string{"x"}, States: []core.MemoryState{core.StateOpen}, Kinds: []core.MemoryKind{core.KindObservation}}, "0"},
	}
	onEngines(t, func(t *testing.T, s core.Store) {
		w := listed(t, s)
		for _, c := range cases {
			for _, limit := range []int{0, 1, 2, 5} {
				c.f.Limit = limit
				if got := w.ids(t, c.f); got != c.want {
					t.Errorf("%s, %d a page: %q, want %q", c.name, limit, got, c.want)
				}
			}
		}
	})
}

func TestListRefusesWhatItCantDo(t *testing.T) {
	w := listed(t, openPebble(t))
	page, err := w.List(t.Context(), memory.ListFilter{Namespace: "b", Subtree: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]memory.ListFilter{
		"namespace_invalid": {},
		"limit_invalid":     {Namespace: "a", Limit: 1001},
		"states_invalid":    {Namespace: "a", States: []core.MemoryState{"gone"}},
		"after_invalid":     {Namespace: "a", After: "???"},
		"tags_invalid":      {Namespace: "a", Tags: []string{""}},
	}
	for reason, f := range cases {
		_, err := w.List(t.Context(), f)
		wantReason(t, err, sdk.Invalid, reason)
	}
	_, err = w.List(t.Context(), memory.ListFilter{Namespace: "a", After: page.Next})
	if page.Next != "" {
		wantReason(t, err, sdk.Invalid, "after_invalid")
	}
}

func TestExplainSaysWhyAMemoryIsWhereItIs(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := listed(t, s)
		r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{"2"}})
		e, err := w.Explain(t.Context(), "2")
		if err != nil {
			t.Fatal(err)
		}
		if e.State != core.StateArchived || e.Namespace != "a" || len(e.History) != 2 || len(e.LinksTo) != 1 || e.LinksTo[0].From != r.ID {
			t.Errorf("explanation %+v", e)
		}
		if want := "archived since 2000-01-01T00:00:07Z: dream moved it from open at a ttl_score of 0"; e.Why[0] != want {
			t.Errorf("it says %q, want %q", e.Why[0], want)
		}
		e, err = w.Explain(t.Context(), r.ID)
		if err != nil || len(e.LinksFrom) != 1 || !strings.Contains(strings.Join(e.Why, "\n"), "a reflection of depth 1 (limit 3, set by default)") {
			t.Errorf("the reflection: %+v, error %v", e, err)
		}
		if err := w.Remove(t.Context(), "2"); err != nil {
			t.Fatal(err)
		}
		e, err = w.Explain(t.Context(), "2")
		if err != nil || e.Memory != nil || e.State != core.StatePurged || len(e.History) != 6 || len(e.Decisions) != 1 ||
			!strings.Contains(e.Why[0], "by decision "+e.Decisions[0].ID) {
			t.Errorf("the purged one: %d entries, %d decisions, %q, error %v", len(e.History), len(e.Decisions), e.Why, err)
		}
		_, err = w.Explain(t.Context(), "none")
		wantReason(t, err, sdk.NotFound, "memory_not_found")
	})
}

func TestRemovalLeavesNoContent(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, func(o *memory.Options) { o.Embedder = embedder{} })
		above := 0
		id := w.observe(t, core.ObserveRequest{Title: "secret one", Content: "secret two", Attributes: core.Attributes{Tags: []string{"secret-three"}, Metadata: []byte(`{"secret":4}`)}}).ID
		other := w.observe(t, core.ObserveRequest{Content: "harmless"}).ID
		r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{id, other}, Title: "kept"})
		for _, relation := range []string{"related_to", "contradicts"} {
			if _, err := w.Link(t.Context(), &memory.LinkRequest{From: other, Relation: relation, To: id, Metadata: []byte(`{"secret":5}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Link(t.Context(), &memory.LinkRequest{From: id, Relation: "related_to", To: other}); err != nil {
			t.Fatal(err)
		}
		w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, RequireApprovalAbove: &above}
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{other, id}, Title: "secret six", Content: "secret"})
		if err := w.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for key, value := range dump(t, s) {
			if strings.Contains(key+value, "secret") {
				t.Errorf("%q holds content: %s", key, value)
			}
		}
		m, err := w.Get(t.Context(), r.ID)
		if err != nil || m.ReflectionDepth != 1 {
			t.Errorf("the reflection on it: %+v, error %v", m, err)
		}
		from, _, err := w.Links(t.Context(), r.ID)
		if err != nil || len(from) != 2 || from[0].To != "purged:"+id || from[1].To != other {
			t.Errorf("its links: %+v, error %v", from, err)
		}
		if _, to, err := w.Links(t.Context(), other); err != nil || len(to) != 1 {
			t.Errorf("links to the other: %+v, error %v", to, err)
		}
		_, err = w.Get(t.Context(), id)
		wantReason(t, err, sdk.NotFound, "memory_purged")
		_, err = w.Observe(t.Context(), &core.ObserveRequest{ID: id, Namespace: "ns", Content: "c"})
		wantReason(t, err, sdk.Conflict, "id_taken")
		err = w.refused(t, core.ReflectRequest{SourceIDs: []string{id}}, sdk.Conflict, "source_purged")
		if got := sdk.AsError(err).Details["state"]; got != core.StatePurged {
			t.Errorf("the refusal says %v", got)
		}
	})
}

func TestConsolidatedSourcesAreRefused(t *testing.T) {
	w := listed(t, openPebble(t))
	if err := w.Move(t.Context(), "0", core.StateConsolidated, journal.MemoryTransitioned{Cause: "dream"}); err != nil {
		t.Fatal(err)
	}
	err := w.refused(t, core.ReflectRequest{SourceIDs: []string{"4", "0"}}, sdk.Conflict, "source_consolidated")
	if d := sdk.AsError(err).Details; d["state"] != core.StateConsolidated || d["source_id"] != "0" || !strings.Contains(sdk.AsError(err).Hint, "keeper") {
		t.Errorf("the refusal says %v", d)
	}
	w.reflect(t, core.ReflectRequest{SourceIDs: []string{"4", "2"}}) // archived is dormant, not gone
}

func TestATitleIsFreeWhenItsMemoryIsNoLongerLive(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	for _, state := range []core.MemoryState{core.StateArchived, core.StateConsolidated, core.StatePromoted} {
		id := w.observe(t, core.ObserveRequest{Title: string(state), Content: "c"}).ID
		source := w.observe(t, core.ObserveRequest{Content: "c"}).ID
		w.refused(t, core.ReflectRequest{SourceIDs: []string{source}, Title: string(state)}, sdk.Conflict, "title_taken")
		if err := w.Move(t.Context(), id, state, journal.MemoryTransitioned{}); err != nil {
			t.Fatal(err)
		}
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{source}, Title: string(state)})
	}
	if diff := cmp.Diff(3, w.events("agent.memory.lifecycle.transition")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
