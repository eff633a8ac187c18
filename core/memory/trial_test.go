package memory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/memory"
)

// laboratory has memories on uploads, where experiments are on.
type laboratory struct {
	*governed
	t *testing.T
	// in is whether its turns are of conversations, and given are memories that they are given anyway.
	in       bool
	given    []string
	anchored bool
}

func newLaboratory(t *testing.T, settings ...string) *laboratory {
	g := newGoverned(t, empty(t), func(o *memory.Options) {
		o.Retention, o.Gate = defaults(), gate.New(defaults())
	})
	if len(settings) == 0 {
		settings = []string{"experiment=on"}
	}
	_, err := g.settings.Set(t.Context(), "ns", settings...)
	must(t, err)
	return &laboratory{governed: g, t: t}
}

// notes stores so many notes on uploads.
func (l *laboratory) notes(n int, metadata string) (ids []string) {
	for i := range n {
		q := core.ObserveRequest{ID: fmt.Sprint("note", i), Namespace: "ns", Title: fmt.Sprint("note ", i), Content: "retry the upload, " + []string{"gently", "slowly", "twice", "later", "often", "rarely"}[i]}
		if metadata != "" {
			q.Metadata = json.RawMessage(metadata)
		}
		_, err := l.Observe(l.t.Context(), &q)
		must(l.t, err)
		ids = append(ids, q.ID)
	}
	return ids
}

// turn asks about uploads, names all that is recalled, and succeeds if a memory is among it, or always for "".
func (l *laboratory) turn(session string, limit int, helps string) *core.RecallResult {
	l.t.Helper()
	r := core.RecallRequest{Session: session, Query: "retry the upload", Limit: limit, InHistory: l.in, Given: l.given, Anchored: l.anchored}
	r.Namespace = "ns"
	found, err := l.Recall(l.t.Context(), &r)
	must(l.t, err)
	var used []string
	for _, m := range found.Memories {
		used = append(used, m.ID)
	}
	outcome := core.OutcomeFailure
	if helps == "" || slices.Contains(used, helps) {
		outcome = core.OutcomeSuccess
	}
	_, err = l.Feedback(l.t.Context(), &core.FeedbackRequest{Session: session, Turn: found.Turn, Outcome: outcome, Source: "tool", Used: used})
	must(l.t, err)
	return found
}

// withheld counts the turns that left each memory out, of so many.
func (l *laboratory) withheld(turns, limit int) map[string]int {
	l.t.Helper()
	counts := map[string]int{}
	for i := range turns {
		found := l.turn(fmt.Sprint("s", i), limit, "")
		for _, id := range found.Withheld {
			counts[id]++
		}
		if len(found.Withheld) > 1 {
			l.t.Errorf("%v are withheld at once", found.Withheld)
		}
		for _, m := range found.Memories {
			if slices.Contains(found.Withheld, m.ID) {
				l.t.Errorf("%s is withheld and recalled", m.ID)
			}
		}
	}
	return counts
}

// TestRecall_Withholds leaves a memory under test out of a quarter of the turns, and shows the next one in its place.
func TestRecall_Withholds(t *testing.T) {
	l := newLaboratory(t)
	l.notes(3, "")
	counts := l.withheld(100, 2)
	if len(counts) < 2 {
		t.Fatalf("withheld: %v", counts)
	}
	for id, n := range counts {
		if n < 8 || n > 45 {
			t.Errorf("%s is withheld in %d of 100 turns", id, n)
		}
	}
	for i := range 100 {
		_, turns, _, err := l.Sessions.Get(t.Context(), &memory.TurnFilter{Session: fmt.Sprint("s", i), Limit: 5})
		must(t, err)
		if turns[0].Withheld != nil {
			counts[turns[0].Withheld[0]]--
		}
		if slices.Contains(turns[0].Memories, "") || len(turns[0].Memories) != 2 {
			t.Errorf("session %d: %+v", i, turns)
		}
	}
	for id, n := range counts {
		if n != 0 {
			t.Errorf("%s is withheld %d times more than the turns say", id, n)
		}
	}
	l.sound(t)
}

// TestRecall_WithholdsOnlyWhatIsUnderTest: where nothing may be left out, nothing is.
func TestRecall_WithholdsOnlyWhatIsUnderTest(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		metadata string
		notes    int
		change   func(*laboratory)
	}{
		"experiments are off":           {settings: []string{"experiment=off"}, notes: 3},
		"by default":                    {settings: []string{"credit=shared"}, notes: 3},
		"a user told it":                {metadata: `{"source": "user"}`, notes: 3},
		"each use is its own":           {notes: 1},
		"the turn is given it":          {notes: 3, change: func(l *laboratory) { l.given = []string{"note0", "note1", "note2"} }},
		"what is recalled is an anchor": {notes: 3, change: func(l *laboratory) { l.anchored = true }},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLaboratory(t, c.settings...)
			l.notes(c.notes, c.metadata)
			if c.change != nil {
				c.change(l)
			}
			counts := l.withheld(30, 3)
			if len(counts) > 0 {
				t.Errorf("withheld: %v", counts)
			}
			l.sound(t)
		})
	}
}

// TestRecall_WithholdsWhatFailsNoMore: a memory whose uses fail more often than not isn't a candidate.
func TestRecall_WithholdsWhatFailsNoMore(t *testing.T) {
	l := newLaboratory(t)
	l.notes(3, "")
	for i := range 20 {
		if found := l.turn(fmt.Sprint("s", i), 3, "none of them"); len(found.Withheld) > 0 {
			t.Fatalf("turn %d withholds %v", i, found.Withheld)
		}
	}
}

// TestRecall_WithholdsFromAConversation keeps what it drew for all turns of a session, and draws nothing for what the
// session has seen.
func TestRecall_WithholdsFromAConversation(t *testing.T) {
	l := newLaboratory(t)
	l.notes(3, "")
	l.in = true
	for i := range 4 {
		l.turn("old", 3, "")
		l.turn(fmt.Sprint("first", i), 3, "")
	}
	for range 20 {
		if found := l.turn("old", 3, ""); len(found.Withheld) > 0 {
			t.Fatalf("a conversation that has seen all withholds %v", found.Withheld)
		}
	}
	sessions := 0
	for i := range 20 {
		first := l.turn(fmt.Sprint("new", i), 3, "")
		sessions += len(first.Withheld)
		for range 4 {
			if again := l.turn(fmt.Sprint("new", i), 3, ""); !slices.Equal(first.Withheld, again.Withheld) {
				t.Errorf("session %d withholds %v and then %v", i, first.Withheld, again.Withheld)
			}
		}
	}
	if sessions < 5 {
		t.Errorf("%d of 20 sessions withhold something", sessions)
	}
	e, err := l.Explain(t.Context(), "note0")
	must(t, err)
	if e.Effect == nil || e.Effect.With+e.Effect.Without > 20 {
		t.Errorf("%+v: a session counts once", e.Effect)
	}
	l.sound(t)
}

// TestEffect_IsExplained: of three memories that are always named together, one helps.
func TestEffect_IsExplained(t *testing.T) {
	l := newLaboratory(t)
	ids := l.notes(4, "")
	for i := range 150 {
		l.turn(fmt.Sprint("s", i), 4, "note0")
	}
	for _, id := range ids {
		e, err := l.Explain(t.Context(), id)
		must(t, err)
		if e.Effect == nil {
			t.Fatalf("%s has no effect: %q", id, e.Why)
		}
		if helps := id == "note0"; helps != (e.Effect.Verdict == core.EffectHelps) || helps != (e.Help.Answer == memory.HelpShown) {
			t.Errorf("%s: %+v, %+v", id, e.Effect, e.Help)
		}
		shown := fmt.Sprintf("%d turns had it, and %d were made without it", e.Effect.With, e.Effect.Without)
		if !strings.Contains(e.Help.Text, shown) || e.Help.Budget != core.DefaultRegretBudget || e.Help.Cost > 1.1*float64(e.Effect.Without)*max(0, e.Effect.High) {
			t.Errorf("%s: %+v of %+v", id, e.Help, e.Effect)
		}
		d, err := l.Gate.Weigh(t.Context(), id, memory.RevalidateRequest{})
		must(t, err)
		if d.Numbers.Effect == nil || d.Numbers.Effect.EValue != e.Effect.EValue {
			t.Errorf("the gate sees %+v", d.Numbers.Effect)
		}
	}
	l.sound(t)
	must(t, l.Remove(t.Context(), "note0"))
	for key := range dump(t, l.store) {
		if strings.HasPrefix(key, "memory-trial/note0") {
			t.Errorf("its purge leaves %q", key)
		}
	}
	l.sound(t)
}

// TestFeedback_ReplacesAnOutcomeInATrial: a better source's outcome takes the place of the first, in the
// trials of the memories that were under test in its turn.
func TestFeedback_ReplacesAnOutcomeInATrial(t *testing.T) {
	l := newLaboratory(t)
	ids := l.notes(3, "")
	for i := range 12 {
		l.turn(fmt.Sprint("s", i), 3, "")
	}
	effects := func() (list []core.Effect) {
		for _, id := range ids {
			e, err := l.Explain(t.Context(), id)
			must(t, err)
			list = append(list, *e.Effect)
		}
		return list
	}
	before := effects()
	_, err := l.Feedback(t.Context(), &core.FeedbackRequest{Session: "s11", Turn: 1, Outcome: core.OutcomeFailure, Source: "user"})
	must(t, err)
	replaced := 0
	for i, after := range effects() {
		if before[i].With != after.With || before[i].Without != after.Without {
			t.Errorf("%+v, then %+v", before[i], after)
		}
		if before[i] != after {
			replaced++
		}
	}
	if replaced == 0 {
		t.Errorf("no trial has the new outcome: %+v", before)
	}
	l.sound(t)
}

// TestExplain_SaysWhetherItHelps in words, also where nothing shows it.
func TestExplain_SaysWhetherItHelps(t *testing.T) {
	asks := func(l *laboratory, id, answer, text string) {
		t.Helper()
		e, err := l.Explain(t.Context(), id)
		must(t, err)
		if e.Help.Answer != answer || !strings.Contains(e.Help.Text, text) {
			t.Errorf("%s: %+v, want %s and %q", id, e.Help, answer, text)
		}
	}
	l := newLaboratory(t, "experiment=off")
	l.notes(2, "")
	asks(l, "note0", memory.HelpUnknown, "No turn has had it yet")
	for i := range 4 {
		l.turn(fmt.Sprint("s", i), 2, "")
	}
	asks(l, "note0", memory.HelpUnknown, "4 of its 4 uses named other memories too, or were assumed or inferred, so that their success may be the others'. With experiment on")
	alone := newLaboratory(t)
	alone.notes(1, "")
	for i := range 4 {
		alone.turn(fmt.Sprint("s", i), 1, "")
	}
	asks(alone, "note0", memory.HelpUnknown, "Most of its 4 uses named no other memory, and 4 succeeded")
	useless := newLaboratory(t)
	useless.notes(3, "")
	for i := range 8 {
		useless.turn(fmt.Sprint("s", i), 3, "")
	}
	asks(useless, "note0", memory.HelpUnknown, "they are too few to tell: of 100 turns with it, ")
	must(t, useless.Remove(t.Context(), "note0"))
	if e, err := useless.Explain(t.Context(), "note0"); err != nil || e.Help != nil {
		t.Errorf("of a purged memory: %+v, %v", e, err)
	}
}
