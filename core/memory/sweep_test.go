package memory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// turnsOfOthers advances a namespace's counter by turns that offer another memory.
func (w *world) turnsOfOthers(t *testing.T, session string, n int) {
	t.Helper()
	other := w.observe(t, core.ObserveRequest{Content: "other " + session})
	for turn := range int64(n) {
		w.live(t, session, turn, other.ID, core.OutcomeSuccess)
	}
}

func TestASweepEvaluatesTheRest(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), nil)
		// Used once, not used twice, and then for 20 turns of others not even offered.
		m := w.observe(t, core.ObserveRequest{Content: "m"})
		w.live(t, "s", 1, m.ID, core.OutcomeSuccess)
		w.live(t, "s", 2, m.ID, "")
		w.live(t, "s", 3, m.ID, "")
		steady := w.observe(t, core.ObserveRequest{Content: "steady"})
		for turn := range int64(5) {
			w.live(t, "steady", turn, steady.ID, core.OutcomeSuccess)
		}
		w.turnsOfOthers(t, "others", 15)
		if state := w.get(t, m.ID).State; state != core.StateActive {
			t.Fatalf("turns of others alone made it %s", state)
		}
		elsewhere := w.observe(t, core.ObserveRequest{Namespace: "ns/sub", Content: "elsewhere"})
		result, err := w.Gate.Sweep(as(t, "me"), "ns", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := &memory.SweepResult{
			Namespace: "ns", Turn: 23, Evaluated: 3, Changed: 2,
			Transitions: map[core.MemoryState]int{core.StateCooling: 1}, Gated: map[string]int{},
		}
		if diff := cmp.Diff(want, result); diff != "" {
			t.Errorf("result:\n%s", diff)
		}
		told := []map[string]any{{"turn": 23.0, "evaluated": 3.0, "changed": 2.0, "agent_id": "me"}}
		if diff := cmp.Diff(told, w.told(t, "agent.memory.swept")); diff != "" {
			t.Errorf("event:\n%s", diff)
		}
		if moved := w.told(t, "agent.memory.lifecycle.transition"); moved[len(moved)-1]["agent_id"] != "me" {
			t.Errorf("what it moved: %v", moved[len(moved)-1])
		}
		if g := w.get(t, m.ID); g.State != core.StateCooling || !near(g.Signals.TTLScore, .254446494) || w.get(t, elsewhere.ID).Version != 1 {
			t.Errorf("it is %s with score %v", g.State, g.Signals.TTLScore)
		}
		// A score that alone changed is written too: the score of steady for 15 turns.
		if g := w.get(t, steady.ID); g.State != core.StateActive || !near(g.Signals.TTLScore, math.Round((.5+.5*g.Signals.Utility-.075)*1e9)/1e9) {
			t.Errorf("steady is %s with score %v", g.State, g.Signals.TTLScore)
		}
		before := dump(t, s)
		if result, err = w.Gate.Sweep(t.Context(), "ns", nil); err != nil || result.Changed != 0 {
			t.Errorf("the second sweep: %+v, %v", result, err)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("a second sweep right after changed:\n%s", diff)
		}
	})
}

func TestASweepTakesUpWhatACrashLeftWaiting(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		left := living(t, s, decides(verdict.NextPurge, .9), deferred)
		m := left.pending(t, core.ObserveRequest{Content: "c"})
		result, err := left.Gate.Sweep(t.Context(), "ns", nil)
		if err != nil || result.Turn != 3 || len(result.Pending) != 1 || result.Pending[0] != m.ID || len(result.Gated) != 0 {
			t.Errorf("deferred: %+v, %v", result, err)
		}
		w := living(t, s, decides(verdict.NextPurge, .9), nil)
		result, err = w.Gate.Sweep(as(t, "me"), "ns", nil)
		if err != nil || len(result.Pending) != 0 || result.Gated[verdict.NextPurge] != 1 {
			t.Errorf("at once: %+v, %v", result, err)
		}
		if started := w.told(t, "agent.memory.revalidate.started"); len(started) != 1 || started[0]["agent_id"] != "me" {
			t.Errorf("the gate was asked: %v", started)
		}
	})
}

func TestASweepOfManyPages(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), nil)
		const n = 300
		var requests []*core.ObserveRequest
		for i := range n {
			requests = append(requests, &core.ObserveRequest{Namespace: "ns", Content: fmt.Sprint(i)})
		}
		memories, _, err := w.ObserveAll(t.Context(), requests)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range memories {
			m.Signals.RelevantTurns = 5
			m.Signals.MissStreak = 2
		}
		if err := w.Put(t.Context(), memories...); err != nil {
			t.Fatal(err)
		}
		var seen []memory.SweepProgress
		result, err := w.Gate.Sweep(t.Context(), "ns", func(p memory.SweepProgress) { seen = append(seen, p) })
		if want := []memory.SweepProgress{{Evaluated: 256}, {Evaluated: n}}; len(seen) < 2 || !slices.Equal(seen[:2], want) {
			t.Errorf("progress %v, want %v at first", seen, want)
		}
		if err != nil || result.Evaluated != n || result.Transitions[core.StateCooling] != n || len(result.Transitions) != 1 {
			t.Errorf("%+v, %v: want each to move once", result, err)
		}
	})
}

func TestIdleTimeChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, 1), nil)
		for i, outcomes := range [][]core.Outcome{{}, {core.OutcomeSuccess}, {"", "", "", "", ""}, {core.OutcomeFailure, core.OutcomeFailure}} {
			m := w.observe(t, core.ObserveRequest{Content: fmt.Sprint(i)})
			for turn, o := range outcomes {
				w.live(t, fmt.Sprint("s", i), int64(turn), m.ID, o)
			}
		}
		if _, err := w.Gate.Sweep(t.Context(), "ns", nil); err != nil {
			t.Fatal(err)
		}
		before := dump(t, s)
		for range 100 {
			w.clock.Advance(100 * time.Hour)
			if _, err := w.Gate.Sweep(t.Context(), "ns", nil); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("10,000 idle hours changed:\n%s", diff)
		}
	})
}

func TestRestore(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		for _, state := range []core.MemoryState{core.StateArchived, core.StateConsolidated} {
			m := w.observe(t, core.ObserveRequest{Content: string(state)})
			if err := w.MoveByDream(t.Context(), m.ID, state, "keeper"); err != nil {
				t.Fatal(err)
			}
			back, err := w.Restore(t.Context(), m.ID)
			if err != nil || back.State != core.StateActive || back.MergedInto != "" {
				t.Errorf("%s: %+v, %v", state, back, err)
			}
			if diff := cmp.Diff(back, w.get(t, m.ID)); diff != "" {
				t.Errorf("%s: what was returned isn't what was stored:\n%s", state, diff)
			}
			_, err = w.Restore(t.Context(), m.ID)
			wantReason(t, err, sdk.Conflict, "state_conflict")
		}
		_, err := w.Restore(t.Context(), "nobody")
		wantReason(t, err, sdk.NotFound, "memory_not_found")
	})
}

func TestUnreadableSettingsStopTheLifecycle(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, 1), deferred)
		pending := w.pending(t, core.ObserveRequest{Content: "pending"})
		archived := w.observe(t, core.ObserveRequest{Content: "archived"})
		if err := w.MoveByDream(t.Context(), archived.ID, core.StateArchived, ""); err != nil {
			t.Fatal(err)
		}
		m := w.observe(t, core.ObserveRequest{Content: "m"})
		w.governor["ns"] = core.Governance{Failure: errors.New("damaged"), DecidedBy: "ns"}

		for turn := range int64(6) {
			w.live(t, "s", turn, m.ID, core.OutcomeFailure)
		}
		if g := w.get(t, m.ID); g.State != core.StateOpen || g.Signals.Failures != 6 {
			t.Errorf("it is %s after %d failures", g.State, g.Signals.Failures)
		}
		if n := w.events("agent.memory.lifecycle.halted"); n != 6 {
			t.Errorf("%d events, want one for each feedback", n)
		}
		_, err := w.Gate.Revalidate(t.Context(), pending.ID, revalidate)
		wantReason(t, err, sdk.Denied, "governance_unreadable")
		_, err = w.Restore(t.Context(), archived.ID)
		wantReason(t, err, sdk.Denied, "governance_unreadable")
		if n := w.events("agent.memory.lifecycle.halted"); n != 8 {
			t.Errorf("%d events, want one more for each refusal", n)
		}
		result, err := w.Gate.Sweep(t.Context(), "ns", nil)
		if err != nil || result.Changed != 0 || len(result.Pending) != 1 {
			t.Errorf("sweep: %+v, %v", result, err)
		}
		if n := w.events("agent.memory.lifecycle.halted"); n != 9 {
			t.Errorf("%d events, want one more for the sweep", n)
		}
		for id, state := range map[string]core.MemoryState{pending.ID: core.StateRevalidatePending, archived.ID: core.StateArchived} {
			if got := w.get(t, id).State; got != state {
				t.Errorf("%s became %s", state, got)
			}
		}
	})
}

// says is a [policypoint.RetentionPolicy] that always says the same.
type says policypoint.RetentionOutcome

func (s says) Retention(context.Context, core.Reader, *policypoint.RetentionInput) policypoint.RetentionOutcome {
	return policypoint.RetentionOutcome(s)
}

func TestWhatAPolicyMayNotAskForIsRecordedAndLeft(t *testing.T) {
	for name, out := range map[string]policypoint.RetentionOutcome{
		"purge":          {State: string(core.StatePurged), TTLScore: .1},
		"promotion":      {State: string(core.StatePromoted), TTLScore: .1},
		"archive":        {State: string(core.StateArchived), TTLScore: .1},
		"unknown state":  {State: "gone", TTLScore: .1},
		"not a number":   {State: string(core.StateActive), TTLScore: math.NaN()},
		"infinite score": {State: string(core.StateOpen), TTLScore: math.Inf(-1)},
	} {
		w := living(t, openPebble(t), decides(verdict.NextPurge, 1), func(o *memory.Options) { o.Retention = says(out) })
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		w.live(t, "s", 1, m.ID, core.OutcomeFailure)
		if g := w.get(t, m.ID); g.State != core.StateOpen || g.Signals.TTLScore != 0 || g.Signals.Failures != 1 {
			t.Errorf("%s: it is %s, %+v", name, g.State, g.Signals)
		}
		if n := w.events("agent.memory.lifecycle.refused"); n != 1 {
			t.Errorf("%s: %d events", name, n)
		}
	}
	failed := policypoint.RetentionOutcome{State: string(core.StateActive), Decision: policypoint.Decision{Failure: &core.ErrorInfo{}}}
	w := living(t, openPebble(t), nil, func(o *memory.Options) { o.Retention = says(failed) })
	m := w.observe(t, core.ObserveRequest{Content: "c"})
	w.live(t, "s", 1, m.ID, core.OutcomeSuccess)
	if state := w.get(t, m.ID).State; state != core.StateOpen {
		t.Errorf("a policy that failed made it %s", state)
	}
}

func TestAPendingMemoryStaysUntilTheGateDecides(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), deferred)
		m := w.pending(t, core.ObserveRequest{Content: "c"})
		score := m.Signals.TTLScore
		for turn := range int64(20) {
			w.live(t, "later", turn, m.ID, core.OutcomeSuccess)
		}
		g := w.get(t, m.ID)
		if g.State != core.StateRevalidatePending || g.Signals.TTLScore <= score || g.Signals.Successes != 20 {
			t.Errorf("it is %s: %+v", g.State, g.Signals)
		}
		if _, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate); err != nil || w.get(t, m.ID).State != core.StateActive {
			t.Errorf("the retain made it %s, %v: its score is %v", w.get(t, m.ID).State, err, g.Signals.TTLScore)
		}
	})
}

// TestSameCallsGiveTheSameStore holds on all engines, down to the byte.
func TestSameCallsGiveTheSameStore(t *testing.T) {
	var dumps []map[string]string
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), nil)
		for i := range int64(4) {
			m := w.observe(t, core.ObserveRequest{Content: fmt.Sprint(i), Namespace: fmt.Sprintf("n%d", i%2)})
			for turn := range int64(8) {
				w.clock.Advance(time.Second)
				w.live(t, fmt.Sprint("s", i), turn, m.ID, []core.Outcome{core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial, ""}[(turn*i+turn)%4])
			}
		}
		for _, namespace := range []string{"n0", "n1"} {
			if _, err := w.Gate.Sweep(t.Context(), namespace, nil); err != nil {
				t.Fatal(err)
			}
		}
		all := dump(t, s)
		maps.DeleteFunc(all, func(key, _ string) bool { return key == "meta/format" })
		dumps = append(dumps, all)
	})
	for _, other := range dumps[1:] {
		if diff := cmp.Diff(dumps[0], other); diff != "" {
			t.Errorf("mem and another engine differ:\n%s", diff)
		}
	}
}
