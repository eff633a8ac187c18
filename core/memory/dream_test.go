package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// dreamer is a world for passes over the namespace "ns".
func dreamer(t *testing.T, s core.Store) *world {
	t.Helper()
	w := living(t, s, decides(verdict.NextRetain, .5), func(o *memory.Options) { o.Embedder = embedder{} })
	w.clock.Advance(time.Date(2026, time.April, 15, 12, 0, 0, 0, time.UTC).Sub(w.clock.Now()))
	return w
}

// dream makes a pass that isn't skipped.
func (w *world) dream(t *testing.T, options dream.Options) *memory.DreamReport {
	t.Helper()
	r, err := w.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Always, Options: options}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.wantSound(t)
	return r
}

// undo undoes a run or a step of it, and returns what was refused.
func (w *world) undo(t *testing.T, run string, step int) *memory.DreamUndone {
	t.Helper()
	u, err := w.Dreams.Undo(t.Context(), run, step)
	if err != nil {
		t.Fatal(err)
	}
	w.wantSound(t)
	return u
}

func (w *world) wantSound(t *testing.T) {
	t.Helper()
	if list := w.problems(t); len(list) > 0 {
		t.Fatalf("problems: %+v", list)
	}
}

// asKept is a memory without the fields that every change updates.
func asKept(m *core.Memory) core.Memory {
	c := *m
	c.Version, c.UpdatedAt = 0, time.Time{}
	return c
}

func TestDream_DatesAreAbsoluteByWhenItHappened(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := dreamer(t, s)
		old := w.observe(t, core.ObserveRequest{Content: "We shipped it yesterday.", Attributes: core.Attributes{OccurredAt: "2025-04-15T23:30:00-05:00"}})
		titled := w.observe(t, core.ObserveRequest{Title: "Call of tomorrow", Content: "Anna calls tomorrow about the rent", Attributes: core.Attributes{OccurredAt: "2025-12-31T10:00:00Z"}})
		how := w.observe(t, core.ObserveRequest{Kind: core.KindProcedural, Content: "Ask what was done yesterday"})
		before := w.get(t, old.ID)
		r := w.dream(t, dream.Options{})
		got := w.get(t, old.ID)
		if got.Content != "We shipped it 2025-04-14." || got.Title != got.Content || r.AbsolutizedDates != 2 {
			t.Errorf("%q %q, %+v", got.Title, got.Content, r)
		}
		if got := w.get(t, titled.ID); got.Title != "Call of 2026-01-01" || got.Content != "Anna calls 2026-01-01 about the rent" {
			t.Errorf("%q %q", got.Title, got.Content)
		}
		if got := w.get(t, how.ID); got.Content != how.Content {
			t.Errorf("a procedure became %q", got.Content)
		}
		if w.events("agent.memory.rewritten") != 2 || w.events("agent.dream.completed") != 1 {
			t.Error("events are missing")
		}
		if u := w.undo(t, r.RunID, 0); len(u.Undone) != 2 || len(u.Refused) != 0 {
			t.Errorf("undone %+v", u)
		}
		if diff := cmp.Diff(asKept(before), asKept(w.get(t, old.ID))); diff != "" {
			t.Errorf("after the undo:\n%s", diff)
		}
		if r := w.dream(t, dream.Options{}); r.AbsolutizedDates != 0 {
			t.Errorf("done again: %+v", r)
		}
	})
}

func TestDream_MergesAndTakesOverWhatItWasUsedFor(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := dreamer(t, s)
		low, high := .2, .9
		victim := w.observe(t, core.ObserveRequest{Content: "The build fails without cgo.", Attributes: core.Attributes{Tags: []string{"b", "x"}, Importance: &high}})
		for turn, outcome := range []core.Outcome{core.OutcomeFailure, core.OutcomeFailure, core.OutcomeSuccess} {
			w.live(t, fmt.Sprint("s", turn), int64(turn), victim.ID, outcome)
		}
		w.clock.Advance(time.Hour)
		keeper := w.observe(t, core.ObserveRequest{Content: "the build fails without CGO", Attributes: core.Attributes{Tags: []string{"a", "b"}, Importance: &low}})
		w.live(t, "s0", 9, keeper.ID, core.OutcomeSuccess)
		other := w.observe(t, core.ObserveRequest{Content: "the build fails with CGO"})
		keeperBefore, victimBefore := w.get(t, keeper.ID), w.get(t, victim.ID)

		r := w.dream(t, dream.Options{})
		if r.Consolidated != 1 {
			t.Fatalf("report %+v", r)
		}
		got, gone := w.get(t, keeper.ID), w.get(t, victim.ID)
		if !slices.Equal(got.Tags, []string{"a", "b", "x"}) || got.Importance != high || got.AccessCount != 4 {
			t.Errorf("keeper %+v", got)
		}
		if s := got.Signals; s.Failures != 2 || s.Successes != 2 || s.Sessions != 3 || !near(s.Q, (keeperBefore.Signals.Q+3*victimBefore.Signals.Q)/4) {
			t.Errorf("signals %+v", s)
		}
		if gone.State != core.StateConsolidated || gone.MergedInto != keeper.ID || w.get(t, other.ID).State != core.StateOpen {
			t.Errorf("victim %+v", gone)
		}
		from, _, err := w.Links(t.Context(), keeper.ID)
		if err != nil || len(from) != 1 || from[0].Relation != core.RelationConsolidatedFrom || from[0].To != victim.ID {
			t.Errorf("links %+v, %v", from, err)
		}

		w.live(t, "s5", 1, keeper.ID, core.OutcomeFailure) // which stays the keeper's
		if u := w.undo(t, r.RunID, 0); len(u.Undone) != 1 {
			t.Fatalf("undone %+v", u)
		}
		if diff := cmp.Diff(asKept(victimBefore), asKept(w.get(t, victim.ID))); diff != "" {
			t.Errorf("victim after the undo:\n%s", diff)
		}
		got = w.get(t, keeper.ID)
		if s := got.Signals; s.Failures != 1 || s.Successes != 1 || s.Sessions != 2 || got.AccessCount != 2 || !slices.Equal(got.Tags, keeper.Tags) || got.Importance != low {
			t.Errorf("keeper after the undo %+v", got)
		}
		if from, _, _ := w.Links(t.Context(), keeper.ID); len(from) != 0 {
			t.Errorf("links after the undo %+v", from)
		}
		if r := w.dream(t, dream.Options{}); r.Consolidated != 0 {
			t.Errorf("merged again: %+v", r)
		}
	})
}

func TestDream_UndoRefusesWhatChangedSince(t *testing.T) {
	w := dreamer(t, empty(t))
	m := w.observe(t, core.ObserveRequest{Content: "We met yesterday"})
	r := w.dream(t, dream.Options{})
	other := w.observe(t, core.ObserveRequest{Content: "other"})
	_, err := w.Link(t.Context(), &memory.LinkRequest{From: m.ID, Relation: "related_to", To: other.ID})
	must(t, err)
	u := w.undo(t, r.RunID, 0)
	if len(u.Undone) != 0 || len(u.Refused) != 1 || u.Refused[0] != (memory.DreamRefusal{Step: 1, Reason: "changed_since_run", MemoryID: m.ID}) {
		t.Errorf("undone %+v", u)
	}
	_, err = w.Dreams.Undo(t.Context(), r.RunID, 7)
	wantReason(t, err, sdk.NotFound, "dream_step_not_found")
	_, err = w.Dreams.Undo(t.Context(), "none", 0)
	wantReason(t, err, sdk.NotFound, "dream_run_not_found")
}

func TestDream_APlanIsTheSameAndSkipsWhatChanged(t *testing.T) {
	w := dreamer(t, empty(t))
	a := w.observe(t, core.ObserveRequest{Content: "We met yesterday"})
	b := w.observe(t, core.ObserveRequest{Content: "We left yesterday"})
	q := memory.DreamRequest{Namespace: "ns"}
	first, err := w.Dreams.Plan(t.Context(), q)
	must(t, err)
	second, err := w.Dreams.Plan(t.Context(), q)
	must(t, err)
	if x, y := jsontext.MustEncode(first.Plan), jsontext.MustEncode(second.Plan); !bytes.Equal(x, y) || len(first.Plan.Steps) != 2 {
		t.Errorf("plans differ:\n%s\n%s", x, y)
	}
	if text := string(jsontext.MustEncode(first.Plan)); strings.Contains(text, "met") || strings.Contains(text, "yesterday") {
		t.Errorf("a plan has content: %s", text)
	}
	var filed dream.Plan
	must(t, json.Unmarshal(jsontext.MustEncode(first.Plan), &filed))
	_, err = w.Link(t.Context(), &memory.LinkRequest{From: a.ID, Relation: "related_to", To: b.ID})
	must(t, err)
	c := w.observe(t, core.ObserveRequest{Content: "We met tomorrow"})
	run, err := w.Dreams.Store(t.Context(), &filed, memory.Always)
	must(t, err)
	r, err := w.Dreams.Apply(t.Context(), run.ID, nil)
	must(t, err)
	if r.StepsSkipped != 2 || r.AbsolutizedDates != 0 || w.get(t, c.ID).Content != c.Content {
		t.Errorf("report %+v", r)
	}
	_, steps, err := w.Dreams.Get(t.Context(), run.ID)
	if err != nil || len(steps) != 2 || steps[0].Status != "changed_since_plan" {
		t.Errorf("steps %+v, %v", steps, err)
	}
	w.wantSound(t)
}

func TestDream_AnEditedPlanDoesNothingThatNoPassMayDo(t *testing.T) {
	w := dreamer(t, empty(t))
	pinned := w.observe(t, core.ObserveRequest{Content: "it stays", Attributes: core.Attributes{Tags: []string{dream.Pinned}}})
	foreign := w.observe(t, core.ObserveRequest{Content: "We met yesterday", Namespace: "other"})
	digest := func(m *core.Memory) []dream.Read {
		return []dream.Read{{MemoryID: m.ID, Digest: dream.Digest(w.get(t, m.ID), nil)}}
	}
	run, err := w.Dreams.Store(t.Context(), &dream.Plan{Namespace: "ns", GuardVersion: dream.GuardVersion, Steps: []dream.Step{
		{N: 1, Kind: dream.StepArchive, Reads: digest(pinned)}, {N: 2, Kind: dream.StepDates, Reads: digest(foreign)},
	}}, memory.Always)
	must(t, err)
	texts, err := w.Dreams.Texts(t.Context(), run, 0)
	if err != nil || len(texts) != 1 || texts[0].MemoryID != pinned.ID {
		t.Errorf("texts %+v, %v", texts, err)
	}
	r, err := w.Dreams.Apply(t.Context(), run.ID, nil)
	must(t, err)
	if r.StepsSkipped != 2 || w.get(t, pinned.ID).State != core.StateOpen || w.get(t, foreign.ID).Content != foreign.Content {
		t.Errorf("report %+v", r)
	}
}

func TestDream_APurgeReachesCopiesAndUndos(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, .9), nil)
		w.clock.Advance(time.Date(2026, time.April, 15, 12, 0, 0, 0, time.UTC).Sub(w.clock.Now()))
		const secret = "hunter"
		victim := w.observe(t, core.ObserveRequest{Content: "Yesterday the password was " + secret, Attributes: core.Attributes{OccurredAt: "2025-01-01T00:00:00Z"}})
		keeper := w.observe(t, core.ObserveRequest{Content: "yesterday the password was " + secret, Attributes: core.Attributes{OccurredAt: "2025-01-01T01:00:00Z"}})
		r := w.dream(t, dream.Options{})
		if r.Consolidated != 1 || r.AbsolutizedDates != 2 {
			t.Fatalf("report %+v", r)
		}
		_, err := w.Gate.Erase(t.Context(), keeper.ID, memory.EraseRequest{Reason: "asked to"})
		must(t, err)
		w.wantSound(t)
		for key, value := range dump(t, s) {
			if strings.Contains(value, secret) || strings.HasPrefix(key, "dream-undo/") {
				t.Errorf("%q is left: %s", key, value)
			}
		}
		_, err = w.Get(t.Context(), victim.ID)
		wantReason(t, err, sdk.NotFound, "memory_purged")
		if w.events("agent.memory.purged") != 2 {
			t.Errorf("%d tombstones", w.events("agent.memory.purged"))
		}
		if u := w.undo(t, r.RunID, 0); len(u.Undone) != 0 || len(u.Refused) != 3 || u.Refused[0].Reason != "memory_purged" {
			t.Errorf("undone %+v", u)
		}
	})
}

func TestDream_ArchivesWhatIsStale(t *testing.T) {
	w := dreamer(t, empty(t))
	low := .2
	for i := range 40 {
		w.observe(t, core.ObserveRequest{ID: fmt.Sprintf("m%02d", i), Content: fmt.Sprintf("note %d of %d things", i, i*7), Attributes: core.Attributes{Importance: &low}})
	}
	w.observe(t, core.ObserveRequest{ID: "pinned", Content: "pinned", Attributes: core.Attributes{Tags: []string{"pinned"}, Importance: &low}})
	w.observe(t, core.ObserveRequest{ID: "high", Content: "high"})
	w.clock.Advance(8 * 24 * time.Hour)
	stale := dream.Options{Stale: dream.StaleAll, SkipMerges: true, SkipConflicts: true}
	if r := w.dream(t, stale); r.Archived != 0 {
		t.Errorf("archived without a turn: %+v", r)
	}
	w.live(t, "s", 1, "m00", core.OutcomeSuccess)
	r := w.dream(t, stale)
	if r.Archived != 4 { // a tenth of 42
		t.Fatalf("archived %+v", r)
	}
	if again := w.dream(t, stale); again.Archived != 0 {
		t.Errorf("the next pass archived %d", again.Archived)
	}
	run, _, err := w.Dreams.Get(t.Context(), r.RunID)
	must(t, err)
	first := run.Plan.Steps[0].Reads[0].MemoryID
	if w.get(t, first).State != core.StateArchived || first == "m00" {
		t.Errorf("%s is %s", first, w.get(t, first).State)
	}
	w.undo(t, r.RunID, 1)
	_, err = w.Restore(t.Context(), run.Plan.Steps[1].Reads[0].MemoryID)
	must(t, err)
	if forced := w.dream(t, dream.Options{Stale: dream.StaleAll, Force: true, SkipMerges: true, SkipConflicts: true}); forced.Archived != 39-4 {
		t.Errorf("forced archived %d", forced.Archived)
	}
	for _, id := range []string{"m00", "pinned", "high", first} {
		if s := w.get(t, id).State; !s.Live() {
			t.Errorf("%s is %s", id, s)
		}
	}
}

func TestDream_KeepsTheNewestNotifications(t *testing.T) {
	w := dreamer(t, empty(t))
	for i := range 60 {
		w.observe(t, core.ObserveRequest{ID: fmt.Sprintf("n%02d", i), Kind: core.KindNotification, Content: fmt.Sprint("job ", i, " ended")})
		w.clock.Advance(time.Minute)
	}
	if r := w.dream(t, dream.Options{}); r.Archived != 10 || w.get(t, "n09").State != core.StateArchived || w.get(t, "n10").State != core.StateOpen {
		t.Errorf("archived %d", r.Archived)
	}
}

func TestDream_Modes(t *testing.T) {
	w := dreamer(t, empty(t))
	pass := func(mode memory.DreamMode) string {
		r, err := w.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: mode}, nil)
		must(t, err)
		return r.Skipped
	}
	for i := range 4 {
		w.observe(t, core.ObserveRequest{Content: fmt.Sprint("thing number ", i)})
	}
	if got := pass(""); got != memory.NotEnoughRecords {
		t.Errorf("four records: %q", got)
	}
	if runs, _, err := w.Dreams.List(t.Context(), "ns", time.Time{}, "", 10); err != nil || len(runs) != 0 || w.events("agent.dream.completed") != 0 {
		t.Errorf("what was skipped is a run: %+v, %v", runs, err)
	}
	w.observe(t, core.ObserveRequest{Content: "one more"})
	if got := pass(""); got != "" {
		t.Errorf("five records: %q", got)
	}
	w.clock.Advance(23*time.Hour - time.Second)
	if got := pass(memory.Coordinated); got != memory.TooSoon {
		t.Errorf("within a day: %q", got)
	}
	w.clock.Advance(time.Second)
	if got := pass(memory.Coordinated); got != "" {
		t.Errorf("at about the same hour of the next day: %q", got)
	}
	w.observe(t, core.ObserveRequest{ID: "again", Content: "One more."})
	if d, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns"}); err != nil || d.Steps != 1 {
		t.Errorf("a plan asks for no mode: %+v, %v", d, err)
	}
	if got := pass(memory.Force); got != "" {
		t.Errorf("forced: %q", got)
	}
	w.clock.Advance(24 * time.Hour)
	for i := range 5 {
		w.observe(t, core.ObserveRequest{Content: fmt.Sprint("new thing ", i)})
	}
	report := w.observe(t, core.ObserveRequest{Content: "## Organization Report\nConsolidated: 3\nre-indexed=7"})
	if got := pass(""); got != memory.AlreadyOrganized {
		t.Errorf("organized: %q", got)
	}
	if due, err := w.Dreams.Due(t.Context(), "ns"); err != nil || due {
		t.Errorf("organized, and due: %v", err)
	}
	if r := w.dream(t, dream.Options{}); r.ReportIngested != 1 {
		t.Errorf("report %+v", r)
	}
	if got := w.get(t, report.ID); got.Version != report.Version || got.Metadata != nil {
		t.Errorf("what had the report is changed: %+v", got)
	}
	if r := w.dream(t, dream.Options{}); r.ReportIngested != 0 {
		t.Errorf("ingested again: %+v", r)
	}
}

// littered is a namespace with random memories, many of which say the same.
func littered(t *testing.T, s core.Store, seed uint64) *world {
	t.Helper()
	w := dreamer(t, s)
	r := rand.New(rand.NewPCG(seed, 1))
	say := []string{
		"The deploy of %s takes 10 minutes.", "the deploy of %s takes 10 minutes", "The deploy of %s takes 12 minutes.", "We met %s yesterday",
		"%s is down", "%s was down", "last week %s failed", "Please restart the %s", "restart %s", "%s likes purple", "%s likes cyan",
	}
	things := []string{"mail", "Anna", "PR #260", "the api"}
	for i := range 25 {
		importance := float64(r.IntN(6)) / 10
		q := core.ObserveRequest{
			ID: fmt.Sprintf("m%02d", i), Content: fmt.Sprintf(say[r.IntN(len(say))], things[r.IntN(len(things))]), Attributes: core.Attributes{Importance: &importance, AgentID: []string{"", "bot"}[r.IntN(2)], Tags: []string{fmt.Sprint("t", r.IntN(60))}},
		}
		if r.IntN(8) == 0 {
			q.Tags = append(q.Tags, "pinned")
		}
		if r.IntN(3) == 0 {
			q.OccurredAt = fmt.Sprintf("2025-0%d-11T10:00:00+02:00", 1+r.IntN(9))
		}
		m := w.observe(t, q)
		if r.IntN(4) == 0 {
			w.live(t, fmt.Sprint("s", r.IntN(3)), int64(i), m.ID, []core.Outcome{core.OutcomeSuccess, core.OutcomeFailure}[r.IntN(2)])
		}
		w.clock.Advance(time.Duration(r.IntN(30)) * time.Hour)
	}
	return w
}

// kept is all that an undo restores of memories, by key: the memories without what each
// change of them moves, their vectors, links and the sessions that used them.
func (w *world) kept(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for key, value := range dump(t, w.store) {
		switch kind, id, _ := strings.Cut(key, "/"); kind {
		case "memory":
			all[key] = asKept(w.get(t, id))
		case "memory-vector", "link", "memory-session":
			all[key] = value
		}
	}
	return all
}

// TestDream_ASecondPassChangesNothing, and doesn't repeat what was undone; an undo restores
// each field.
func TestDream_ASecondPassChangesNothing(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	stores := coretest.Heavy(8, 200)
	changed := 0
	for seed := range uint64(stores) {
		w := littered(t, empty(t), seed)
		before := w.kept(t)
		first := w.dream(t, dream.Options{})
		again := w.dream(t, dream.Options{})
		run, _, err := w.Dreams.Get(t.Context(), again.RunID)
		must(t, err)
		full, err := w.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns", Full: true})
		must(t, err)
		if len(run.Plan.Steps) > 0 || len(full.Plan.Steps) > 0 {
			t.Fatalf("seed %d: after %+v the next pass has %+v, a full one %+v", seed, first, run.Plan.Steps, full.Plan.Steps)
		}
		done, _, err := w.Dreams.Get(t.Context(), first.RunID)
		must(t, err)
		changed += len(done.Plan.Steps)
		if u := w.undo(t, first.RunID, 0); len(u.Undone) != len(done.Plan.Steps) {
			t.Errorf("seed %d: %d steps, undone %+v", seed, len(done.Plan.Steps), u)
		}
		if diff := cmp.Diff(before, w.kept(t)); diff != "" {
			t.Errorf("seed %d: after the undo:\n%s", seed, diff)
		}
		third := w.dream(t, dream.Options{})
		run, _, err = w.Dreams.Get(t.Context(), third.RunID)
		must(t, err)
		for _, s := range run.Plan.Steps {
			if slices.ContainsFunc(done.Plan.Steps, func(before dream.Step) bool { return same(&before, &s) }) {
				t.Errorf("seed %d: what was undone was done again: %+v", seed, s)
			}
		}
	}
	if changed < stores {
		t.Errorf("%d steps in %d stores", changed, stores)
	}
}

// same reports whether two steps do the same to the same memories.
func same(a, b *dream.Step) bool {
	ids := func(s *dream.Step) (list []string) {
		for _, read := range s.Reads {
			list = append(list, read.MemoryID)
		}
		return list
	}
	return a.Kind == b.Kind && slices.Equal(ids(a), ids(b))
}

// mortal is a store whose process ends after a number of commits.
type mortal struct {
	core.Store
	left int
}

func (m *mortal) Update(ctx context.Context, fn func(core.Tx) error) error {
	if m.left == 0 {
		return sdk.Errorf(sdk.Unavailable, "process_killed", "the process is gone")
	}
	m.left--
	return m.Store.Update(ctx, fn)
}

func TestDream_ACrashLeavesWholeStepsAndTheNextRunFinishes(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	whole := littered(t, empty(t), 3)
	want := whole.dream(t, dream.Options{})
	for crash := range 200 {
		w := littered(t, empty(t), 3)
		dying := w.On(&mortal{Store: w.store, left: crash})
		_, err := dying.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Always}, nil)
		w.wantSound(t)
		if err == nil {
			return
		}
		got := w.dream(t, dream.Options{})
		if got.RunID, got.PlanDigest = want.RunID, want.PlanDigest; !cmp.Equal(want, got) {
			t.Fatalf("after %d commits:\n%s", crash, cmp.Diff(want, got))
		}
		for i := range 25 {
			id := fmt.Sprintf("m%02d", i)
			if a, b := whole.get(t, id), w.get(t, id); a.State != b.State || a.Content != b.Content || a.Signals.Uses() != b.Signals.Uses() {
				t.Fatalf("after %d commits %s is %+v, not %+v", crash, id, b, a)
			}
		}
	}
	t.Error("it never finished")
}
