package memory_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestFeedbackTeachesInOneCommit(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		used, idle := w.observe(t, core.ObserveRequest{Content: "used"}), w.observe(t, core.ObserveRequest{Content: "idle", Namespace: "ns/sub"})
		w.offer(t, "s", 7, used.ID, idle.ID)
		result := w.feedback(t, "s", 7, core.OutcomeSuccess, used.ID, used.ID)

		got := w.get(t, used.ID).Signals
		want := core.Signals{
			HitCount: 1, LastHitTurn: 1, HitRate: .1, Utility: .55, Q: .6, TTLScore: .775, Successes: 1, RelevantTurns: 1, Sessions: 1,
			RecentUses: []core.TurnRef{{Session: "s", Turn: 7}}, Window: "s47DEQ",
		}
		if diff := cmp.Diff(want, got, approximately); diff != "" {
			t.Errorf("signals of the used one:\n%s", diff)
		}
		if got := w.get(t, idle.ID).Signals; got.MissStreak != 1 || got.Q != .5 || got.RelevantTurns != 1 || !near(got.TTLScore, .25-.03-.005) {
			t.Errorf("signals of the idle one: %+v", got)
		}
		items := []core.FeedbackItem{
			{ID: used.ID, Used: true, Weight: 1, Reward: 1, Q: .6, TTLScore: .775, Before: core.StateOpen, After: core.StateActive},
			{ID: idle.ID, Q: .5, TTLScore: .215, Before: core.StateOpen, After: core.StateOpen},
		}
		if diff := cmp.Diff(items, result.Items); diff != "" || result.Bias != .15 || result.Duplicate {
			t.Errorf("result %+v\n%s", result, diff)
		}
		for _, namespace := range []string{"ns", "ns/sub"} {
			if turn, err := w.Sessions.Turn(t.Context(), namespace); err != nil || turn != 1 {
				t.Errorf("namespace %s is at turn %d, %v", namespace, turn, err)
			}
		}
		if n := w.events("agent.memory.evolution.applied"); n != 2 {
			t.Errorf("%d events, want one for each namespace", n)
		}
	})
}

func TestASecondFeedbackChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), nil)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		for turn := range int64(2) {
			w.live(t, "s", turn, m.ID, core.OutcomeFailure)
		}
		first := w.live(t, "s", 2, m.ID, core.OutcomeFailure)
		if len(first.Revalidate) != 1 || first.Revalidate[0] != m.ID {
			t.Fatalf("to revalidate: %v", first.Revalidate)
		}
		w.clock.Advance(time.Hour)
		before := dump(t, s)
		second, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 2, Outcome: core.OutcomeSuccess, Used: []string{"whatever"}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("the store changed:\n%s", diff)
		}
		first.Duplicate = true
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the result differs:\n%s", diff)
		}
	})
}

func TestFeedbackThatCantBeIsRefusedWhole(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		w.offer(t, "s", 1, m.ID)
		before := dump(t, s)
		ask := func(change func(*core.FeedbackRequest)) error {
			r := &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{m.ID}}
			change(r)
			_, err := w.Feedback(t.Context(), r)
			return err
		}
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Turn = 2 }), sdk.NotFound, "turn_not_found")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Session = "other" }), sdk.NotFound, "turn_not_found")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Outcome = "good" }), sdk.Invalid, "outcome_invalid")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Outcome = "" }), sdk.Invalid, "outcome_missing")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Source = "me" }), sdk.Invalid, "source_invalid")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Used = append(r.Used, "stranger") }), sdk.Invalid, "not_recalled")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.ToolOutcomes = []core.ToolOutcome{{MemoryID: "stranger"}} }), sdk.Invalid, "not_recalled")
		wantReason(t, ask(func(r *core.FeedbackRequest) { r.Used = make([]string, 1001) }), sdk.Invalid, "used_invalid")
		wantReason(t, ask(func(r *core.FeedbackRequest) {
			r.Used, r.ToolOutcomes = make([]string, 501), make([]core.ToolOutcome, 2)
		}), sdk.Invalid, "tool_outcomes_invalid")
		err := ask(func(r *core.FeedbackRequest) { r.Session, r.Turn, r.Source = "a/b", -1, "me" })
		if sdk.ReasonOf(err) != "several_problems" || strings.Count(err.Error(), "\n") != 2 {
			t.Errorf("several problems: %v", err)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("a refused feedback wrote:\n%s", diff)
		}
	})
}

func TestBiasFollowsASessionsTurns(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		want := 0.0
		for turn, step := range []struct {
			outcome core.Outcome
			add     float64
		}{{core.OutcomeFailure, -.15}, {core.OutcomeFailure, -.15}, {core.OutcomePartial, 0}, {core.OutcomeSuccess, .15}} {
			want = .85*want + step.add
			if got := w.live(t, "s", int64(turn), m.ID, step.outcome).Bias; !near(got, want) {
				t.Errorf("after turn %d the bias is %v, want %v", turn, got, want)
			}
		}
		for session, want := range map[string]float64{"s": want, "other": 0} {
			if got, err := w.Sessions.Bias(t.Context(), session); err != nil || !near(got, want) {
				t.Errorf("session %s has bias %v, %v, want %v", session, got, err, want)
			}
		}
	})
}

// kept is a [memory.Evidence] that remembers.
type kept struct {
	outcomes []core.ToolOutcome
	err      error
}

func (k *kept) RecordTools(_ *journal.Tx, namespace string, outcomes []core.ToolOutcome) (int, error) {
	k.outcomes = append(k.outcomes, outcomes...)
	return len(outcomes), k.err
}

func (k *kept) Used(*journal.Tx, string, string, core.TurnRef, bool) error { return nil }

func TestToolOutcomesAreEvidence(t *testing.T) {
	evidence := &kept{}
	w := living(t, openPebble(t), nil, func(o *memory.Options) { o.Evidence = evidence })
	a, b := w.observe(t, core.ObserveRequest{Content: "a"}), w.observe(t, core.ObserveRequest{Content: "b"})
	w.offer(t, "s", 1, a.ID, b.ID)
	r := &core.FeedbackRequest{Session: "s", Turn: 1, Used: []string{a.ID}, ToolOutcomes: []core.ToolOutcome{
		{MemoryID: b.ID, Tool: "search", OK: true, Session: "other", Turn: 99}, {Tool: "test", Ref: "log:1"},
	}}
	result, err := w.Feedback(t.Context(), r)
	if err != nil || result.Outcome != core.OutcomePartial {
		t.Fatalf("%+v, %v; want what the tools show", result, err)
	}
	want := []core.ToolOutcome{
		{MemoryID: a.ID, Session: "s", Turn: 1, Tool: "test", Ref: "log:1"}, {MemoryID: b.ID, Session: "s", Turn: 1, Tool: "search", OK: true},
	}
	if diff := cmp.Diff(want, evidence.outcomes); diff != "" {
		t.Errorf("evidence:\n%s", diff)
	}

	evidence.err = sdk.Errorf(sdk.Invalid, "evidence_invalid", "no")
	w.offer(t, "s", 2, a.ID)
	before := dump(t, w.store)
	r.Turn, r.ToolOutcomes = 2, r.ToolOutcomes[1:]
	if _, err := w.Feedback(t.Context(), r); sdk.ReasonOf(err) != "evidence_invalid" {
		t.Errorf("bad evidence: %v", err)
	}
	if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
		t.Errorf("a feedback with bad evidence wrote:\n%s", diff)
	}
}

func TestAFailedGateIsAskedAgainByTheSameFeedback(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		broken := errors.New("the gate is broken")
		gate := gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) {
			if broken != nil {
				return nil, broken
			}
			return decides(verdict.NextRetain, .5)(c)
		})
		w := living(t, s, gate, nil)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		w.live(t, "s", 0, m.ID, core.OutcomeFailure)
		w.live(t, "s", 1, m.ID, core.OutcomeFailure)
		w.offer(t, "s", 2, m.ID)
		r := &core.FeedbackRequest{Session: "s", Turn: 2, Outcome: core.OutcomeFailure, Used: []string{m.ID}}
		if _, err := w.Feedback(t.Context(), r); !errors.Is(err, broken) {
			t.Fatalf("the gate's error: %v", err)
		}
		if state := w.get(t, m.ID).State; state != core.StateRevalidatePending {
			t.Fatalf("the memory is %s: the feedback itself was committed", state)
		}
		broken = nil
		result, err := w.Feedback(t.Context(), r)
		if err != nil || !result.Duplicate || len(result.Revalidate) != 1 || w.get(t, m.ID).State != core.StateCooling {
			t.Errorf("the second time: %+v, %v", result, err)
		}
	})
}

func TestDeferredGateIsLeftToTheCaller(t *testing.T) {
	w := living(t, openPebble(t), decides(verdict.NextRetain, .5), deferred)
	m := w.pending(t, core.ObserveRequest{Content: "c"})
	if n := w.events("agent.memory.revalidate.started"); n != 0 {
		t.Errorf("the gate was asked %d times", n)
	}
	again := func() *core.FeedbackResult {
		result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "failing-" + m.ID, Turn: 2, Outcome: core.OutcomeFailure})
		if err != nil || len(result.Items) != 1 || result.Items[0].After != core.StateRevalidatePending {
			t.Fatalf("the result tells %+v, %v", result, err)
		}
		return result
	}
	if list := again().Revalidate; len(list) != 1 || list[0] != m.ID {
		t.Errorf("to revalidate: %v", list)
	}
	_, err := w.Gate.Revalidate(t.Context(), m.ID, memory.RevalidateRequest{Turn: core.TurnRef{Session: "a/b"}})
	wantReason(t, err, sdk.Invalid, "session_invalid")
	if _, err := w.Gate.Revalidate(t.Context(), m.ID, memory.RevalidateRequest{Turn: core.TurnRef{Session: "failing-" + m.ID, Turn: 2}}); err != nil {
		t.Fatal(err)
	}
	if list := again().Revalidate; len(list) != 1 {
		t.Errorf("the same feedback tells otherwise once the gate has decided: %v", list)
	}
}

func TestEventsOfTheLifecycleHoldNoContent(t *testing.T) {
	const secret = "a-secret-that-is-content"
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, .9), nil)
		m := w.observe(t, core.ObserveRequest{Title: secret, Content: secret + "!", Attributes: core.Attributes{Tags: []string{secret}, Metadata: json.RawMessage(`{"x":"` + secret + `"}`)}})
		for turn := range int64(3) {
			w.live(t, "s", turn, m.ID, core.OutcomeFailure)
		}
		if _, err := w.Get(t.Context(), m.ID); sdk.ReasonOf(err) != "memory_purged" {
			t.Fatalf("it wasn't purged: %v", err)
		}
		types := []string{}
		for _, e := range w.entries {
			if strings.Contains(string(e.Data), secret) {
				t.Errorf("%s holds content: %s", e.Type, e.Data)
			}
			if !slices.Contains(types, e.Type) {
				types = append(types, e.Type)
			}
		}
		want := []string{
			"agent.memory.observed", "agent.memory.recalled", "agent.memory.evolution.applied", "agent.reflection.recorded",
			"agent.memory.lifecycle.transition", "agent.memory.revalidate.started", "agent.memory.revalidate.decision", "agent.memory.purged",
		}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Errorf("events:\n%s", diff)
		}
		for key, value := range dump(t, s) {
			if strings.Contains(key+value, secret) {
				t.Errorf("%q holds content of a purged memory", key)
			}
		}
		wantJournalWhole(t, s)
	})
}
