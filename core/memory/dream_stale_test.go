package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
)

// ask recalls in a turn of its own, in a session for every three turns, and finds nothing: so no access
// is counted.
func (w *world) ask(t *testing.T, namespace string, n int, query string) {
	t.Helper()
	_, err := w.Recall(t.Context(), &core.RecallRequest{
		Query: query, Session: fmt.Sprint(namespace, "-", n/3), RecallFilter: core.RecallFilter{Namespace: namespace, Kinds: []core.MemoryKind{core.KindProcedural}},
	})
	must(t, err)
}

// TestDream_ArchivesWhatFitsNoQuery of the namespace's turns, if there were enough.
func TestDream_ArchivesWhatFitsNoQuery(t *testing.T) {
	for _, c := range []struct {
		name      string
		asked     int
		namespace string
		again     bool   // asks one question again and again
		late      string // is asked last
		archived  bool
	}{
		{name: "enough", asked: 20, namespace: "ns", archived: true},
		{name: "too few", asked: 18, namespace: "ns"},
		{name: "elsewhere", asked: 20, namespace: "other"},
		{name: "one and the same", asked: 20, namespace: "ns", again: true},
		{name: "one that fits", asked: 20, namespace: "ns", late: "Who feeds the cat?"},
		{name: "one that another fits better", asked: 20, namespace: "ns", late: "How was the weather in Oslo on day 99?", archived: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dreamer(t, empty(t))
			low := .2
			for _, namespace := range []string{"ns", "other"} {
				for i := range 20 {
					w.observe(t, core.ObserveRequest{Namespace: namespace, Content: fmt.Sprintf("The weather in Oslo on day %d was as usual", i)})
				}
			}
			w.observe(t, core.ObserveRequest{ID: "oslo", Content: "Oslo is far away"})
			w.observe(t, core.ObserveRequest{ID: "cat", Content: "The neighbours feed our cat in July", Attributes: core.Attributes{Importance: &low}})
			w.clock.Advance(8 * 24 * time.Hour)
			for i := range c.asked {
				day := i
				if c.again {
					day = 0
				}
				w.ask(t, c.namespace, i, fmt.Sprintf("How was the weather in Oslo on day %d?", day))
			}
			if c.late != "" {
				w.ask(t, "ns", c.asked, c.late)
			}
			w.live(t, "used", 1, "oslo", core.OutcomeSuccess)
			w.dream(t, dream.Options{SkipMerges: true, SkipConflicts: true, Force: true})
			if archived := w.get(t, "cat").State == core.StateArchived; archived != c.archived {
				t.Errorf("archived: %t", archived)
			}
		})
	}
}

// TestDream_ArchivesWhatAnotherCovers as long as it does, and undoes that without it.
func TestDream_ArchivesWhatAnotherCovers(t *testing.T) {
	covered := func(t *testing.T) (*world, *memory.DreamRun) {
		w := living(t, empty(t), decides(verdict.NextPurge, .9), nil)
		low := .2
		w.observe(t, core.ObserveRequest{ID: "short", Content: "The neighbours feed our cat in July", Attributes: core.Attributes{Importance: &low}})
		w.observe(t, core.ObserveRequest{ID: "long", Content: "The neighbours feed our cat in July, and water the tomatoes", Attributes: core.Attributes{Tags: []string{dream.Pinned}}})
		w.clock.Advance(8 * 24 * time.Hour)
		w.live(t, "s", 1, "long", core.OutcomeSuccess)
		d, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Force, Options: dream.Options{SkipMerges: true}})
		must(t, err)
		return w, d
	}
	w, d := covered(t)
	r, err := w.Dreams.Apply(t.Context(), d.ID, nil)
	must(t, err)
	if r.Archived != 1 || w.get(t, "short").State != core.StateArchived || !w.get(t, "long").State.Live() {
		t.Fatalf("%+v", r)
	}
	_, err = w.Gate.Erase(t.Context(), "long", memory.EraseRequest{Reason: "asked to"})
	must(t, err)
	if u := w.undo(t, r.RunID, 0); len(u.Undone) != 1 || w.get(t, "short").State != core.StateOpen {
		t.Errorf("%+v", u)
	}
	w, d = covered(t)
	_, err = w.Gate.Erase(t.Context(), "long", memory.EraseRequest{Reason: "asked to"})
	must(t, err)
	if r, err = w.Dreams.Apply(t.Context(), d.ID, nil); err != nil || r.Archived != 0 || r.StepsSkipped != 1 {
		t.Errorf("without what covers it: %+v, %v", r, err)
	}
}
