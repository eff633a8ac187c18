package memory_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
)

// withArchive has a memory in the archive, and some in use.
func withArchive(t *testing.T, s core.Store) *world {
	t.Helper()
	w := living(t, s, nil, hashed)
	w.observe(t, core.ObserveRequest{ID: "cat", Content: "The neighbours feed our cat in July", Attributes: core.Attributes{AgentID: "ada", Tags: []string{"home"}}})
	w.observe(t, core.ObserveRequest{ID: "boat", Content: "The boat to Porto leaves at noon"})
	w.observe(t, core.ObserveRequest{ID: "key", Content: "The key of the boat house is under the stone"})
	must(t, w.MoveByDream(t.Context(), "cat", core.StateArchived, ""))
	return w
}

// TestRecall_SearchesTheArchiveWhereNothingElseAnswers and says of what it finds there that it is archived.
func TestRecall_SearchesTheArchiveWhereNothingElseAnswers(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := withArchive(t, s)
		for _, c := range []struct {
			name, query string
			filter      core.RecallFilter
			archived    bool
		}{
			{name: "no other has a word", query: "Who feeds the cat?", archived: true},
			{name: "others have a common word", query: "Which neighbours of the boat feed the cat?", archived: true},
			{name: "another answers", query: "When does the boat to Porto leave?"},
			{name: "nobody answers", query: "What did the dentist say?"},
			{name: "of its agent", query: "Who feeds the cat?", filter: core.RecallFilter{AgentID: "ada"}, archived: true},
			{name: "of another agent", query: "Who feeds the cat?", filter: core.RecallFilter{AgentID: "bob"}},
			{name: "with its tag", query: "Who feeds the cat?", filter: core.RecallFilter{Tags: []string{"home"}}, archived: true},
			{name: "with another tag", query: "Who feeds the cat?", filter: core.RecallFilter{Tags: []string{"work"}}},
			{name: "of another kind", query: "Who feeds the cat?", filter: core.RecallFilter{Kinds: []core.MemoryKind{core.KindProcedural}}},
			{name: "in a state", query: "Who feeds the cat?", filter: core.RecallFilter{States: []core.MemoryState{core.StateOpen}}},
			{name: "with too high a score", query: "Who feeds the cat?", filter: core.RecallFilter{MinScore: .99}},
		} {
			r := w.recall(t, core.RecallRequest{Query: c.query, RecallFilter: c.filter})
			found := false
			for i, m := range r.Memories {
				if m.Archived != (m.ID == "cat") || m.Rank != i {
					t.Errorf("%s: %+v", c.name, m)
				}
				if m.Archived && i > 0 {
					t.Errorf("%s: what answers comes after what doesn't", c.name)
				}
				found = found || m.Archived
			}
			if found != c.archived {
				t.Errorf("%s: found %t, %s", c.name, found, titles(r))
			}
		}
		if r := w.recall(t, core.RecallRequest{Query: "Which neighbours of the boat feed the cat?", Limit: 1}); titles(r) != w.get(t, "cat").Title {
			t.Errorf("the one: %s", titles(r))
		}
		among, err := w.RecallAmong(t.Context(), &core.RecallRequest{Query: "Who feeds the cat?", RecallFilter: core.RecallFilter{Namespace: "ns"}}, []string{"cat"})
		if err != nil || len(among.Memories) > 0 {
			t.Errorf("among given ones: %+v, %v", among, err)
		}
	})
}

// TestFeedback_RestoresWhatWasUsed from the archive, named or as the reply shows it.
func TestFeedback_RestoresWhatWasUsed(t *testing.T) {
	for _, c := range []struct {
		name string
		r    core.FeedbackRequest
		want core.MemoryState
	}{
		{"named", core.FeedbackRequest{Used: []string{"cat"}, Outcome: core.OutcomeSuccess}, core.StateActive},
		{"named by its handle", core.FeedbackRequest{Used: []string{"m1"}, Outcome: core.OutcomeSuccess}, core.StateActive},
		{"named, and failed", core.FeedbackRequest{Used: []string{"cat"}, Outcome: core.OutcomeFailure}, core.StateActive},
		{"shown by the reply", core.FeedbackRequest{Reply: "Your neighbours do, in July.", Outcome: core.OutcomeSuccess}, core.StateActive},
		{"not shown by the reply", core.FeedbackRequest{Reply: "I don't know.", Outcome: core.OutcomeSuccess}, core.StateArchived},
		{"assumed", core.FeedbackRequest{Assumed: []string{"cat"}, Outcome: core.OutcomeSuccess}, core.StateArchived},
		{"another", core.FeedbackRequest{Used: []string{"key"}, Outcome: core.OutcomeSuccess}, core.StateArchived},
		{"not used", core.FeedbackRequest{Outcome: core.OutcomeFailure}, core.StateArchived},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := withArchive(t, empty(t))
			before := w.events("agent.memory.lifecycle.transition")
			w.recall(t, core.RecallRequest{Query: "Who feeds the cat?", Session: "s", Turn: 1})
			c.r.Session, c.r.Turn = "s", 1
			r, err := w.Feedback(t.Context(), &c.r)
			must(t, err)
			moved := w.events("agent.memory.lifecycle.transition") - before
			if got := w.get(t, "cat").State; got != c.want || (moved == 1) != (got == core.StateActive) && c.name != "another" || r.Items[0].After != got {
				t.Errorf("it is %s after %d transitions: %+v", got, moved, r.Items)
			}
			again := w.recall(t, core.RecallRequest{Query: "Who feeds the cat?"})
			if len(again.Memories) == 0 || again.Memories[0].Archived != (c.want == core.StateArchived) {
				t.Errorf("then %+v", again.Memories)
			}
			w.wantSound(t)
		})
	}
}

// TestRecall_FindsNoPurgedMemoryInTheArchive that it has loaded, nor one that was restored meanwhile.
func TestRecall_FindsNoPurgedMemoryInTheArchive(t *testing.T) {
	w := withArchive(t, empty(t))
	ask := func() string {
		return titles(w.recall(t, core.RecallRequest{Query: "Who feeds the cat?"}))
	}
	if !strings.Contains(ask(), "cat") {
		t.Fatal("it isn't found")
	}
	_, err := w.Restore(t.Context(), "cat")
	must(t, err)
	if r := w.recall(t, core.RecallRequest{Query: "Who feeds the cat?"}); len(r.Memories) != 1 || r.Memories[0].Archived {
		t.Errorf("restored: %+v", r.Memories)
	}
	must(t, w.MoveByDream(t.Context(), "cat", core.StateArchived, ""))
	must(t, w.Remove(t.Context(), "cat"))
	if got := ask(); strings.Contains(got, "cat") {
		t.Errorf("removed: %s", got)
	}
}
