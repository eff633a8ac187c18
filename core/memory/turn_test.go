package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func TestRecallCountsAnAccessOncePerTurn(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		a, b := w.observe(t, core.ObserveRequest{Content: "a"}), w.observe(t, core.ObserveRequest{Content: "b"})
		w.clock.Advance(time.Hour)
		w.offer(t, "s", 1, a.ID)
		w.offer(t, "s", 1, b.ID, a.ID)
		for _, id := range []string{a.ID, b.ID} {
			m := w.get(t, id)
			if m.AccessCount != 1 || m.LastAccessedAt == nil || !m.LastAccessedAt.Equal(w.clock.Now()) {
				t.Errorf("memory %s: %d accesses, the last at %v", id, m.AccessCount, m.LastAccessedAt)
			}
			if m.Signals.HitCount != 0 || m.Signals.RelevantTurns != 0 {
				t.Errorf("a recall alone counted as a hit or a turn: %+v", m.Signals)
			}
		}
		w.feedback(t, "s", 1, core.OutcomeSuccess)
		before := dump(t, s)
		wantReason(t, w.RecordTurn(t.Context(), "s", 1, w.recalled(t, a.ID)), sdk.Conflict, "turn_closed")
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("a recall after the turn's feedback was recorded:\n%s", diff)
		}
		w.offer(t, "s", 2, a.ID)
		if n := w.get(t, a.ID).AccessCount; n != 2 {
			t.Errorf("%d accesses after another turn, want 2", n)
		}
	})
}

func TestRecallsOfATurnAreOneOfferAtTheBestPlace(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		a, b, c := w.observe(t, core.ObserveRequest{Content: "a"}), w.observe(t, core.ObserveRequest{Content: "b"}), w.observe(t, core.ObserveRequest{Content: "c"})
		w.offer(t, "s", 1, a.ID)             // alone, score 1: weight 1
		w.offer(t, "s", 1, b.ID, c.ID, a.ID) // b first of three, score 1; c second, .9
		w.offer(t, "s", 1, a.ID, c.ID)       // c last of two, .9
		w.offer(t, "s", 1, c.ID)             // c alone, score 1
		w.feedback(t, "s", 1, core.OutcomeSuccess, a.ID, b.ID, c.ID)
		for id, weight := range map[string]float64{a.ID: 1, b.ID: 1, c.ID: 1} {
			if q := w.get(t, id).Signals.Q; !near(q, .5+.2*weight*.5) {
				t.Errorf("memory %s has q %v, want that of weight %v", id, q, weight)
			}
		}
		if turn, err := w.Sessions.Turn(t.Context(), "ns"); err != nil || turn != 1 {
			t.Errorf("a turn with three memories advanced the namespace to turn %d, %v", turn, err)
		}
	})
}

// TestATurnOfWhatWasArchivedSinceLeavesItArchived: it counts, and no policy is
// asked.
func TestATurnOfWhatWasArchivedSinceLeavesItArchived(t *testing.T) {
	w := living(t, openPebble(t), nil, func(o *memory.Options) { o.Retention = says{State: string(core.StateActive), TTLScore: .9} })
	m := w.observe(t, core.ObserveRequest{Content: "c"})
	w.offer(t, "s", 1, m.ID)
	if err := w.MoveByDream(t.Context(), m.ID, core.StateArchived, ""); err != nil {
		t.Fatal(err)
	}
	result := w.feedback(t, "s", 1, core.OutcomeSuccess, m.ID)
	if g := w.get(t, m.ID); g.State != core.StateArchived || g.Signals.Successes != 1 || g.Signals.TTLScore != 0 || result.Items[0].After != core.StateArchived {
		t.Errorf("it is %s, %+v", g.State, g.Signals)
	}
	if n := w.events("agent.memory.lifecycle.refused"); n != 0 {
		t.Errorf("%d refusals", n)
	}
}

func TestWhatCantNameATurnIsRefused(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		before := dump(t, s)
		for _, session := range []string{"", "a/b", "a..b", "ä", "x y"} {
			wantReason(t, w.RecordTurn(t.Context(), session, 1, nil), sdk.Invalid, "session_invalid")
		}
		wantReason(t, w.RecordTurn(t.Context(), "s", -1, nil), sdk.Invalid, "turn_invalid")
		if len(dump(t, s)) != len(before) {
			t.Error("a refused turn wrote something")
		}
		if err := w.RecordTurn(t.Context(), "s", 0, nil); err != nil {
			t.Errorf("turn 0: %v", err)
		}
	})
}

func TestATurnHoldsAThousandResults(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	var requests []*core.ObserveRequest
	for range 1000 {
		requests = append(requests, &core.ObserveRequest{Namespace: "ns", Content: "c"})
	}
	list, _, err := w.ObserveAll(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	var found []core.Recalled
	for i, m := range append(list, w.observe(t, core.ObserveRequest{Content: "one more"})) {
		found = append(found, core.Recalled{Memory: m, Rank: i, Score: .5})
	}
	if err := w.RecordTurn(t.Context(), "s", 1, found[:1000]); err != nil {
		t.Fatal(err)
	}
	wantReason(t, w.RecordTurn(t.Context(), "s", 1, found[1000:]), sdk.Exhausted, "turn_full")
	found[1000].Score = math.NaN()
	wantReason(t, w.RecordTurn(t.Context(), "s", 2, found[1000:]), sdk.Internal, "score_invalid")
}

func TestAPurgedMemoryIsLeftOutOfItsTurn(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, .9), deferred)
		m, other := w.pending(t, core.ObserveRequest{Content: "gone soon"}), w.observe(t, core.ObserveRequest{Content: "stays"})
		found := w.recalled(t, m.ID, other.ID)
		w.offer(t, "s", 1, m.ID)
		if _, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate); err != nil {
			t.Fatal(err)
		}
		if err := w.RecordTurn(t.Context(), "s", 2, found); err != nil {
			t.Fatal(err)
		}
		result := w.feedback(t, "s", 2, core.OutcomeSuccess, other.ID)
		if len(result.Items) != 1 || result.Items[0].ID != other.ID {
			t.Errorf("the turn has %+v", result.Items)
		}
		// It was there when turn 1 recalled it.
		result = w.feedback(t, "s", 1, core.OutcomeSuccess, m.ID)
		if len(result.Items) != 1 || result.Items[0].After != core.StatePurged || result.Items[0].Reward != 0 {
			t.Errorf("turn 1 has %+v", result.Items)
		}
	})
}

// TestASweepBringsWhatGrowsStaleToTheGate has a cooling memory at .1505, and one
// turn of others, which takes .005.
func TestASweepBringsWhatGrowsStaleToTheGate(t *testing.T) {
	w := living(t, openPebble(t), decides(verdict.NextRetain, .5), nil)
	m := w.observe(t, core.ObserveRequest{Content: "c"})
	for turn, o := range []core.Outcome{core.OutcomeSuccess, "", "", core.OutcomeFailure, "", ""} {
		w.live(t, "s", int64(turn), m.ID, o)
	}
	w.turnsOfOthers(t, "others", 1)
	result, err := w.Gate.Sweep(t.Context(), "ns", nil)
	if err != nil || result.Transitions[core.StateRevalidatePending] != 1 || result.Gated[verdict.NextRetain] != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	if g := w.get(t, m.ID); g.State != core.StateCooling || math.Abs(g.Signals.TTLScore-.310511275) > 1e-9 || !g.Signals.Gated {
		t.Errorf("it is %s: %+v", g.State, g.Signals)
	}
}
