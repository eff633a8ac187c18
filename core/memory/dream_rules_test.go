package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// TestDream_CanBeUndoneFor30Days: a later pass removes what undoes a run that is older, and
// the plans that nobody applied.
func TestDream_CanBeUndoneFor30Days(t *testing.T) {
	w := dreamer(t, empty(t))
	m := w.observe(t, core.ObserveRequest{Content: "We met yesterday"})
	r := w.dream(t, dream.Options{})
	planned, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns"})
	must(t, err)
	w.clock.Advance(30 * 24 * time.Hour)
	w.dream(t, dream.Options{})
	if _, _, err := w.Dreams.Get(t.Context(), planned.ID); err != nil {
		t.Errorf("after 30 days the plan is gone: %v", err)
	}
	w.clock.Advance(time.Second)
	w.dream(t, dream.Options{})
	if u := w.undo(t, r.RunID, 0); len(u.Undone) != 0 || len(u.Refused) != 1 || u.Refused[0].Reason != "undo_expired" || w.get(t, m.ID).Content != "We met 2026-04-14" {
		t.Errorf("after more it is undone: %+v", u)
	}
	_, _, err = w.Dreams.Get(t.Context(), planned.ID)
	wantReason(t, err, sdk.NotFound, "dream_run_not_found")
	for key := range dump(t, w.store) {
		if strings.HasPrefix(key, "dream-undo/") {
			t.Errorf("%q is left", key)
		}
	}
}

// TestDream_OneAtATime in a namespace: while a pass works there another one, and an undo, are
// refused, and elsewhere they aren't.
func TestDream_OneAtATime(t *testing.T) {
	w := dreamer(t, empty(t))
	w.observe(t, core.ObserveRequest{Content: "We met yesterday"})
	w.observe(t, core.ObserveRequest{Namespace: "other", Content: "We left yesterday"})
	earlier := w.dream(t, dream.Options{SkipDates: true})
	steps := 0
	_, err := w.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Always}, func(int, int) {
		steps++
		_, err := w.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Always}, nil)
		wantReason(t, err, sdk.Conflict, "dream_running")
		_, err = w.Dreams.Undo(t.Context(), earlier.RunID, 0)
		wantReason(t, err, sdk.Conflict, "dream_running")
		if r, err := w.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "other", Mode: memory.Always}, nil); err != nil || r.AbsolutizedDates != 1 {
			t.Errorf("elsewhere it is %+v, %v", r, err)
		}
	})
	if err != nil || steps != 1 {
		t.Errorf("%d steps, %v", steps, err)
	}
	w.wantSound(t)
}

// TestDream_LeavesAlone what waits for the gate, what is archived, what became knowledge, and
// of another agent.
func TestDream_LeavesAlone(t *testing.T) {
	w := dreamer(t, empty(t))
	const said = "We met yesterday at the harbour"
	for _, state := range core.MemoryStates() {
		if state == core.StatePurged {
			continue
		}
		m := w.observe(t, core.ObserveRequest{ID: string(state), Content: said})
		if state != core.StateOpen {
			must(t, w.Move(t.Context(), m.ID, state, journal.MemoryTransitioned{}))
		}
	}
	w.observe(t, core.ObserveRequest{ID: "of-robot", Attributes: core.Attributes{AgentID: "robot"}, Content: said})
	for agent, dated := range map[string]int64{"robot": 1, "": 3} {
		p, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns", Agent: agent, Options: dream.Options{SkipMerges: true}})
		must(t, err)
		if agent == "" {
			dated++ // the robot's too
		}
		if int64(len(p.Plan.Steps)) != dated {
			t.Errorf("for %q the steps are %+v", agent, p.Plan.Steps)
		}
	}
	p, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns"})
	must(t, err)
	for _, s := range p.Plan.Steps {
		for _, read := range s.Reads {
			switch core.MemoryState(read.MemoryID) {
			case core.StateRevalidatePending, core.StateArchived, core.StateConsolidated, core.StatePromoted:
				t.Errorf("step %+v touches %s", s, read.MemoryID)
			}
		}
	}
}

// sure is a judge that finds that all texts say the same.
type sure struct{}

func (sure) Same(context.Context, string, string) (bool, error) { return true, nil }

// TestDream_MergesNearTexts: of a calibrated model, if nothing differs or a judge overrules
// a small difference; texts that surely differ, never.
func TestDream_MergesNearTexts(t *testing.T) {
	for _, c := range []struct {
		name, other string
		calibrated  bool
		judge       dream.Judge
		merged      int64
		refused     string
	}{
		{"no calibration", "Anna really plays the violin", false, nil, 0, ""},
		{"nothing differs", "Anna really plays the violin", true, nil, 1, ""},
		{"a value differs", "Anna plays the piano", true, nil, 0, dream.Value},
		{"a judge overrules it", "Anna plays the piano", true, sure{}, 1, ""},
		{"no judge overrules a negation", "Anna does not play the violin", true, sure{}, 0, dream.Negation},
	} {
		w := living(t, empty(t), decides(verdict.NextRetain, .5), func(o *memory.Options) {
			o.Embedder = embedder{vector: []float32{1, 0}}
			o.Near = func(core.Reader) (map[string]float64, error) {
				if c.calibrated {
					return map[string]float64{embedder{}.Model(): .92}, nil
				}
				return nil, nil
			}
		})
		w.observe(t, core.ObserveRequest{Content: "Anna plays the violin"})
		w.observe(t, core.ObserveRequest{Content: c.other})
		r, err := w.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Always, Judge: c.judge, Options: dream.Options{SkipConflicts: true}}, nil)
		must(t, err)
		refusals := map[string]int64{}
		if c.refused != "" {
			refusals[c.refused] = 1
		}
		if r.Consolidated != c.merged || !cmp.Equal(refusals, r.MergeRefusals) {
			t.Errorf("%s: %+v", c.name, r)
		}
		w.wantSound(t)
	}
}

// TestDream_TheOlderOfAContradictionIsArchived until when the newer one began to hold, if
// neither matters much; what has dates of its own is no contradiction. An undo takes all of
// it back, for good.
func TestDream_TheOlderOfAContradictionIsArchived(t *testing.T) {
	w := dreamer(t, empty(t))
	low := .2
	loser := w.observe(t, core.ObserveRequest{Content: "The harbour office closes at 12", Attributes: core.Attributes{Importance: &low, OccurredAt: "2025-03-01T10:00:00Z"}})
	winner := w.observe(t, core.ObserveRequest{Content: "The harbour office closes at 13", Attributes: core.Attributes{Importance: &low}})
	w.observe(t, core.ObserveRequest{ID: "a", Content: "The ferry to the north island leaves at 8"})
	w.observe(t, core.ObserveRequest{ID: "b", Content: "The ferry to the north island leaves at 9"})
	for occurred, guests := range map[string]string{"2025-03-01T10:00:00Z": "300", "2025-04-01T10:00:00Z": "400"} { // which are two events
		w.observe(t, core.ObserveRequest{Content: "The concert in the old hall had " + guests + " guests", Attributes: core.Attributes{Importance: &low, OccurredAt: occurred}})
	}
	before := w.get(t, loser.ID)
	r := w.dream(t, dream.Options{})
	if r.ConflictsResolved != 1 || r.ConflictsOpen != 1 || w.get(t, loser.ID).State != core.StateArchived {
		t.Fatalf("%+v", r)
	}
	from, _, err := w.Links(t.Context(), winner.ID)
	if err != nil || len(from) != 1 || from[0].Relation != core.RelationContradicts || from[0].To != loser.ID || string(from[0].Metadata) != `{"valid_until":"2026-04-15T12:00:00Z"}` {
		t.Errorf("links %+v, %v", from, err)
	}
	if open, err := w.Dreams.Contradictions(t.Context(), "ns", ""); err != nil || len(open) != 1 || open[0].Newer != "b" || open[0].Class != dream.Number {
		t.Errorf("left to people: %+v, %v", open, err)
	}
	w.undo(t, r.RunID, 0)
	if diff := cmp.Diff(asKept(before), asKept(w.get(t, loser.ID))); diff != "" {
		t.Errorf("after the undo:\n%s", diff)
	}
	if from, _, _ := w.Links(t.Context(), winner.ID); len(from) != 0 {
		t.Errorf("links after the undo: %+v", from)
	}
	if r := w.dream(t, dream.Options{}); r.ConflictsResolved != 0 {
		t.Errorf("decided again: %+v", r)
	}
}

// TestDream_KeepsTheTitlesOfOneText as tags when it merges it. An undo takes them back, and a
// second pass changes nothing.
func TestDream_KeepsTheTitlesOfOneText(t *testing.T) {
	w := dreamer(t, empty(t))
	low := .1
	older := w.observe(t, core.ObserveRequest{Title: "retries", Content: "The gateway retries twice.", Attributes: core.Attributes{Importance: &low}})
	w.clock.Advance(time.Minute)
	newer := w.observe(t, core.ObserveRequest{Title: "gateway", Content: "the gateway retries twice", Attributes: core.Attributes{Importance: &low, Tags: []string{"net"}}})
	before := w.get(t, newer.ID)
	r := w.dream(t, dream.Options{})
	got := w.get(t, newer.ID)
	if r.Consolidated != 1 || r.ConflictsResolved+r.ConflictsOpen != 0 || got.Title != "gateway" || !slices.Equal(got.Tags, []string{"net", "gateway", "retries"}) {
		t.Fatalf("%+v, %q with tags %q", r, got.Title, got.Tags)
	}
	if gone := w.get(t, older.ID); gone.MergedInto != newer.ID || gone.Title != "retries" {
		t.Errorf("victim %+v", gone)
	}
	if r := w.dream(t, dream.Options{}); r.Consolidated != 0 {
		t.Errorf("merged again: %+v", r)
	}
	w.undo(t, r.RunID, 0)
	if diff := cmp.Diff(asKept(before), asKept(w.get(t, newer.ID))); diff != "" {
		t.Errorf("after the undo:\n%s", diff)
	}
}

// TestDream_ArchivesNothingOfOtherSubjects: remarks of little importance that look alike stay.
func TestDream_ArchivesNothingOfOtherSubjects(t *testing.T) {
	w := dreamer(t, empty(t))
	low := .1
	remarks := []string{"The staging database runs on Postgres 15", "The analytics database runs on Postgres 16", "The billing database runs on Postgres 14"}
	for i, name := range []string{"Anna", "Ben", "Chiara", "Dora", "Emil", "Fritz"} {
		remarks = append(remarks, fmt.Sprintf("%s's desk is on floor %d", name, i), fmt.Sprintf("%s paid %d euros for lunch", name, 5+i), fmt.Sprintf("Ticket %d of %s is done", 100+i, name))
	}
	for _, s := range remarks {
		w.observe(t, core.ObserveRequest{Content: s, Attributes: core.Attributes{Importance: &low}})
	}
	if r := w.dream(t, dream.Options{}); r.ConflictsResolved+r.ConflictsOpen+r.Archived != 0 {
		t.Errorf("of %d remarks: %+v", len(remarks), r)
	}
}

// TestDream_DatesByWhatTheImportSays: by occurred_at, else by the time when it is stored, and not
// at all what has the tag undated, however a plan was edited. A pin keeps no dates.
func TestDream_DatesByWhatTheImportSays(t *testing.T) {
	w := dreamer(t, empty(t))
	for id, q := range map[string]core.ObserveRequest{
		"dated": {Attributes: core.Attributes{OccurredAt: "2025-03-01T10:00:00+01:00"}}, "undated": {Attributes: core.Attributes{Tags: []string{dream.Undated}}}, "silent": {}, "pinned": {Attributes: core.Attributes{Tags: []string{dream.Pinned}}},
	} {
		q.ID, q.Content = id, "They moved to Rome yesterday, says "+id
		w.observe(t, q)
	}
	vectors := func(id string) string { return dump(t, w.store)["memory-vector/"+id] }
	before := vectors("dated")
	p, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns", Options: dream.Options{SkipMerges: true, SkipConflicts: true}})
	must(t, err)
	digest := dream.Digest(w.get(t, "undated"), nil)
	p.Plan.Steps = append(p.Plan.Steps, dream.Step{N: len(p.Plan.Steps) + 1, Kind: dream.StepDates, Reads: []dream.Read{{MemoryID: "undated", Digest: digest}}})
	run, err := w.Dreams.Store(t.Context(), p.Plan, memory.Always)
	must(t, err)
	r, err := w.Dreams.Apply(t.Context(), run.ID, nil)
	must(t, err)
	if r.AbsolutizedDates != 3 || r.StepsSkipped != 1 || vectors("dated") == before {
		t.Errorf("%+v", r)
	}
	for id, day := range map[string]string{"dated": "2025-02-28", "undated": "yesterday", "silent": "2026-04-14", "pinned": "2026-04-14"} {
		if got, want := w.get(t, id).Content, "They moved to Rome "+day+", says "+id; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	w.wantSound(t)
}

// TestDream_AUseChangesNoPlan: a text that was recalled and used since is still the same. Links of
// what is merged stay where they are.
func TestDream_AUseChangesNoPlan(t *testing.T) {
	w := dreamer(t, empty(t))
	sure, unsure := .9, .1
	victim := w.observe(t, core.ObserveRequest{Content: "It waits 30 s", Attributes: core.Attributes{Confidence: &sure}})
	other := w.observe(t, core.ObserveRequest{Content: "The ferry is late"})
	_, err := w.Link(t.Context(), &memory.LinkRequest{From: victim.ID, Relation: "supports", To: other.ID})
	must(t, err)
	w.clock.Advance(time.Hour)
	keeper := w.observe(t, core.ObserveRequest{Content: "it waits thirty seconds", Attributes: core.Attributes{Confidence: &unsure}})
	use := func(turn int64) { // the first use makes a memory active, which a plan reads
		w.live(t, "s", turn, victim.ID, core.OutcomeSuccess)
		w.live(t, "s", turn+1, keeper.ID, core.OutcomeSuccess)
	}
	use(1)
	p, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns"})
	must(t, err)
	use(3)
	r, err := w.Dreams.Apply(t.Context(), p.ID, nil)
	must(t, err)
	if got := w.get(t, keeper.ID); r.Consolidated != 1 || r.StepsSkipped != 0 || got.Confidence != sure || got.Signals.Uses() != 4 {
		t.Errorf("%+v: %+v", r, got)
	}
	from, _, err := w.Links(t.Context(), victim.ID)
	if err != nil || len(from) != 1 || from[0].To != other.ID || from[0].Relation != "supports" {
		t.Errorf("links %+v, %v", from, err)
	}
	w.wantSound(t)
}

// TestDream_ArchivesNothingThatIsNamed by a tool's outcome or a reflection.
func TestDream_ArchivesNothingThatIsNamed(t *testing.T) {
	w := newGoverned(t, empty(t), nil)
	low, high := .1, .9
	for _, id := range []string{"named", "tried", "stale", "used"} {
		w.observe(t, core.ObserveRequest{ID: id, Content: "note of what is " + id, Attributes: core.Attributes{Importance: &low}})
	}
	_, err := w.evidence.RecordTools(t.Context(), []core.ToolOutcome{{MemoryID: "tried", Session: "x", Turn: 1, Tool: "make"}})
	must(t, err)
	w.live(t, "s", 1, "used", core.OutcomeSuccess)
	w.reflect(t, core.ReflectRequest{SourceIDs: []string{"named"}, Attributes: core.Attributes{Importance: &high}})
	w.clock.Advance(8 * 24 * time.Hour)
	r := w.dream(t, dream.Options{Stale: dream.StaleAll, SkipMerges: true, SkipConflicts: true, Force: true})
	if r.Archived != 1 || w.get(t, "stale").State != core.StateArchived {
		t.Errorf("%+v", r)
	}
}
