package memory_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// link makes a link that must be taken.
func (w *world) link(t *testing.T, from, relation, to string) {
	t.Helper()
	if _, err := w.Link(t.Context(), &memory.LinkRequest{From: from, Relation: relation, To: to}); err != nil {
		t.Fatal(err)
	}
}

// both recalls from the index that was kept in step and from one that reads the
// store, which must agree.
func (w *world) both(t *testing.T, r core.RecallRequest) *core.RecallResult {
	t.Helper()
	kept, fresh := w.recall(t, r), newWorld(t, w.store, nil).recall(t, r)
	if diff := cmp.Diff(fresh, kept); diff != "" {
		t.Errorf("%+v: kept in step and read from the store differ:\n%s", r, diff)
	}
	return kept
}

func TestRecallLeavesOutWhatIsSuperseded(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		for id, content := range map[string]string{"old": "word and first", "new": "word and second", "newest": "word and third"} {
			w.observe(t, core.ObserveRequest{ID: id, Title: id, Content: content})
		}
		w.observe(t, core.ObserveRequest{ID: "elsewhere", Namespace: "other", Title: "elsewhere", Content: "word"})
		all := core.RecallRequest{Query: "word", Limit: 10}
		all.IncludeSuperseded = true
		recalls := func(when, want string) {
			t.Helper()
			got := []string{}
			for _, m := range w.both(t, core.RecallRequest{Query: "word", Limit: 10}).Memories {
				if !m.Archived {
					got = append(got, m.ID)
				}
			}
			if slices.Sort(got); strings.Join(got, " ") != want {
				t.Errorf("%s: recalled %v, want %s", when, got, want)
			}
		}
		recalls("without links", "new newest old")
		w.link(t, "new", core.RelationSupersedes, "old")
		recalls("one is superseded", "new newest")
		w.link(t, "newest", core.RelationSupersedes, "new")
		recalls("a chain", "newest")
		by := map[string][]string{}
		for _, m := range w.both(t, all).Memories {
			by[m.ID] = m.SupersededBy
		}
		if diff := cmp.Diff(map[string][]string{"old": {"new"}, "new": {"newest"}, "newest": nil}, by); diff != "" {
			t.Errorf("with all of them:\n%s", diff)
		}
		for _, id := range []string{"old", "newest"} {
			if err := w.MoveByDream(t.Context(), id, core.StateArchived, ""); err != nil {
				t.Fatal(err)
			}
		}
		recalls("the newest isn't recallable", "new")
		if _, err := w.Restore(t.Context(), "old"); err != nil {
			t.Fatal(err)
		}
		recalls("what comes back is still superseded", "new")
		if err := w.Remove(t.Context(), "new"); err != nil {
			t.Fatal(err)
		}
		recalls("what superseded it is purged", "")
		w.observe(t, core.ObserveRequest{ID: "late", Title: "late", Content: "word and fourth"})
		recalls("another one", "late")
		w.link(t, "elsewhere", core.RelationSupersedes, "late")
		recalls("from another namespace", "")
		if err := w.MoveByDream(t.Context(), "elsewhere", core.StateArchived, ""); err != nil {
			t.Fatal(err)
		}
		recalls("which isn't recallable any more", "late")
	})
}

// TestWhatComesBackIntoAnIndexIsStillSuperseded makes an index read the store while what
// is superseded was archived, so that it knows nothing of it.
func TestWhatComesBackIntoAnIndexIsStillSuperseded(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	for _, id := range []string{"old", "new"} {
		w.observe(t, core.ObserveRequest{ID: id, Title: id, Content: "word " + id})
	}
	w.link(t, "new", core.RelationSupersedes, "old")
	must(t, w.MoveByDream(t.Context(), "old", core.StateArchived, ""))
	fresh := newWorld(t, w.store, nil)
	for range 2 {
		if got := titles(fresh.recall(t, core.RecallRequest{Query: "word"})); got != "new" {
			t.Errorf("recalled %q", got)
		}
		if m, err := fresh.Get(t.Context(), "old"); err == nil && m.State == core.StateArchived {
			_, err = fresh.Restore(t.Context(), "old")
			must(t, err)
		}
	}
}

func TestSupersedesStaysAcyclic(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	for _, id := range []string{"a", "b", "c"} {
		w.observe(t, core.ObserveRequest{ID: id, Content: id})
	}
	w.link(t, "a", core.RelationSupersedes, "b")
	w.link(t, "b", core.RelationSupersedes, "c")
	_, err := w.Link(t.Context(), &memory.LinkRequest{From: "c", Relation: core.RelationSupersedes, To: "a"})
	wantReason(t, err, sdk.Conflict, "link_cycle")
	w.link(t, "c", core.RelationReflectsOn, "a") // each relation has its own order
}

func TestRecallSaysWhatContradictsAndHowOftenItFailed(t *testing.T) {
	w := living(t, openPebble(t), nil, nil)
	for _, id := range []string{"right", "wrong", "asleep"} {
		w.observe(t, core.ObserveRequest{ID: id, Title: id, Content: "word of " + id})
	}
	w.link(t, "right", core.RelationContradicts, "wrong")
	w.link(t, "asleep", core.RelationContradicts, "wrong")
	if err := w.MoveByDream(t.Context(), "asleep", core.StateArchived, ""); err != nil {
		t.Fatal(err)
	}
	for turn, outcome := range []core.Outcome{core.OutcomeFailure, core.OutcomeSuccess, core.OutcomePartial, core.OutcomeFailure} {
		w.recall(t, core.RecallRequest{Session: "s", Turn: int64(turn) + 1, Query: "word"})
		w.feedback(t, "s", int64(turn)+1, outcome, "wrong")
	}
	found := map[string]core.Recalled{}
	for _, m := range w.both(t, core.RecallRequest{Query: "word"}).Memories {
		found[m.ID] = m
	}
	if m := found["wrong"]; !slices.Equal(m.ContradictedBy, []string{"right"}) || m.FailureRate == nil || *m.FailureRate != .5 ||
		math.Abs(m.Why.FailureFactor-2./3) > 1e-12 {
		t.Errorf("%+v", m)
	}
	if m := found["right"]; m.ContradictedBy != nil || m.FailureRate != nil || m.Why.FailureFactor != 1 {
		t.Errorf("%+v", m)
	}
}

// TestIdenticalContentsComeOnce offers one of three that are the same: only it
// learns, and the most used one represents all.
func TestIdenticalContentsComeOnce(t *testing.T) {
	w := living(t, openPebble(t), nil, nil)
	for _, id := range []string{"a", "b", "c"} {
		w.observe(t, core.ObserveRequest{ID: id, Title: "title of " + id, Content: "an equal word", Attributes: core.Attributes{Tags: []string{id}}})
	}
	w.observe(t, core.ObserveRequest{ID: "x", Content: "another word"})
	w.observe(t, core.ObserveRequest{ID: "0", Namespace: "ns/below", Content: "an equal word"})
	once := func(r core.RecallRequest, want string, sameAs ...string) {
		t.Helper()
		r.Query = "equal"
		got := w.both(t, r).Memories
		if len(got) != 1 || got[0].ID != want || !slices.Equal(got[0].SameAs, sameAs) {
			t.Errorf("%+v: recalled %+v, want %s, same as %v", r, got, want, sameAs)
		}
	}
	once(core.RecallRequest{}, "a", "b", "c")
	once(core.RecallRequest{RecallFilter: core.RecallFilter{Subtree: true}}, "0", "a", "b", "c")
	once(core.RecallRequest{RecallFilter: core.RecallFilter{Tags: []string{"b"}}}, "b")
	tagged := core.RecallRequest{Session: "s", Turn: 1, Query: "equal", RecallFilter: core.RecallFilter{Tags: []string{"b"}}}
	w.recall(t, tagged)
	w.feedback(t, "s", 1, core.OutcomeSuccess, "b")
	once(core.RecallRequest{}, "b", "a", "c")
	w.recall(t, core.RecallRequest{Session: "s", Turn: 2, Query: "equal"})
	result := w.feedback(t, "s", 2, core.OutcomeFailure)
	if len(result.Items) != 1 || result.Items[0].ID != "b" {
		t.Errorf("the turn offered %+v", result.Items)
	}
	if m := w.get(t, "a"); m.AccessCount != 0 || m.Signals.RelevantTurns != 0 {
		t.Errorf("what wasn't shown has %d accesses, %d relevant turns", m.AccessCount, m.Signals.RelevantTurns)
	}
	w.link(t, "x", core.RelationSupersedes, "b")
	once(core.RecallRequest{}, "a", "c")
	if err := w.Remove(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	once(core.RecallRequest{}, "a")
}

// Copies take no candidate's place: there are more of them than a recall looks at.
func TestCopiesCrowdNothingOut(t *testing.T) {
	w := newWorld(t, openPebble(t), hashed)
	for range 50 {
		w.observe(t, core.ObserveRequest{Title: "copy", Content: "restart the service"})
	}
	other := w.observe(t, core.ObserveRequest{Title: "other", Content: "restart the computer"})
	got := w.recall(t, core.RecallRequest{Query: "restart"}).Memories
	if len(got) != 2 || got[0].ID != other.ID || len(got[1].SameAs) != 49 {
		t.Errorf("recalled %+v", got)
	}
}
