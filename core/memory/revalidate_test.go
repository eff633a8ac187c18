package memory_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// revalidate asks without knowing anything.
var revalidate memory.RevalidateRequest

func TestTheGateDecidesOnPendingMemoriesOnly(t *testing.T) {
	w := living(t, openPebble(t), decides(verdict.NextPurge, 1), deferred)
	states := map[core.MemoryState]string{}
	open := w.observe(t, core.ObserveRequest{Content: "open"})
	states[core.StateOpen] = open.ID
	for _, state := range []core.MemoryState{core.StateActive, core.StateCooling, core.StateArchived, core.StateConsolidated, core.StatePromoted} {
		m := w.observe(t, core.ObserveRequest{Content: string(state)})
		m.State = state
		if err := w.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		states[state] = m.ID
	}
	before := dump(t, w.store)
	for state, id := range states {
		for _, dry := range []bool{false, true} {
			_, err := w.Gate.Revalidate(t.Context(), id, memory.RevalidateRequest{DryRun: dry})
			wantReason(t, err, sdk.Conflict, "state_conflict")
			if !strings.Contains(err.Error(), string(state)) {
				t.Errorf("%s isn't named: %v", state, err)
			}
		}
	}
	_, err := w.Gate.Revalidate(t.Context(), "nobody", revalidate)
	wantReason(t, err, sdk.NotFound, "memory_not_found")
	if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
		t.Errorf("a refused gate wrote:\n%s", diff)
	}
}

func TestRetain(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .61), deferred)
		m := w.pending(t, core.ObserveRequest{Content: "c"})
		w.wantTransition(t, w.last(t, "agent.memory.lifecycle.transition"), "open", "revalidate_pending", `"cause":"retention"`, `"rule":"retention"`, `"turn_id":2`)
		d, err := w.Gate.Revalidate(as(t, "me"), m.ID, memory.RevalidateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		after := w.get(t, m.ID)
		g := after.Signals
		if after.State != core.StateCooling || g.MissStreak != 0 || g.LastHitTurn != 3 || g.Revalidation == nil || *g.Revalidation != .61 || !g.Gated || g.GatedAt != 3 {
			t.Errorf("after the retain: %s, %+v", after.State, g)
		}
		w.wantTransition(t, len(w.entries)-1, "revalidate_pending", "cooling", `"cause":"gate"`, `"decision.confidence":0.61`, `"agent_id":"me"`)
		recorded, err := w.Gate.Decision(t.Context(), d.ID)
		if err != nil || cmp.Diff(d, recorded) != "" || d.MemoryID != m.ID || d.Namespace != "ns" {
			t.Errorf("recorded %+v, %v; decided %+v", recorded, err, d)
		}
		for turn := int64(3); turn < 12; turn++ {
			w.live(t, "failing-"+m.ID, turn, m.ID, core.OutcomeFailure)
			if state := w.get(t, m.ID).State; state != core.StateCooling {
				t.Fatalf("%d relevant turns after the retain it is %s", turn-2, state)
			}
		}
		w.live(t, "failing-"+m.ID, 12, m.ID, core.OutcomeFailure)
		if state := w.get(t, m.ID).State; state != core.StateRevalidatePending {
			t.Errorf("10 relevant turns after the retain it is %s", state)
		}
	})
}

// TestNoPolicyBringsAMemoryBackToTheGateTooSoon has a retention policy that asks
// for the gate at each turn.
func TestNoPolicyBringsAMemoryBackToTheGateTooSoon(t *testing.T) {
	asks := says{State: string(core.StateRevalidatePending), TTLScore: .2}
	w := living(t, openPebble(t), decides(verdict.NextRetain, .5), func(o *memory.Options) { o.Retention = asks })
	m := w.observe(t, core.ObserveRequest{Content: "c"})
	var gated []int64
	for turn := range int64(35) {
		if len(w.live(t, "s", turn+1, m.ID, core.OutcomeSuccess).Revalidate) > 0 {
			gated = append(gated, turn+1)
		}
		if g := w.get(t, m.ID); g.State != core.StateCooling || g.Signals.TTLScore != .2 {
			t.Errorf("after turn %d it is %s with a score of %v", turn+1, g.State, g.Signals.TTLScore)
		}
	}
	if diff := cmp.Diff([]int64{1, 11, 31}, gated); diff != "" || w.events("agent.memory.lifecycle.refused") != 0 {
		t.Errorf("the gate decided at other turns (-want +got):\n%s", diff)
	}
	if result, err := w.Gate.Sweep(t.Context(), "ns", nil); err != nil || result.Changed != 0 {
		t.Errorf("a sweep asked the gate: %+v, %v", result, err)
	}
}

// TestFactorsThatAreGivenAreNewEvidence: a decision without any rests twice as long.
func TestFactorsThatAreGivenAreNewEvidence(t *testing.T) {
	for rest, omega := range map[int64]policypoint.OmegaFactors{20: {}, 10: {UpstreamStatus: new(float64)}} {
		w := living(t, openPebble(t), decides(verdict.NextRetain, .5), deferred)
		m := w.pending(t, core.ObserveRequest{Content: "c"})
		for _, request := range []memory.RevalidateRequest{{}, {Omega: omega}} {
			m = w.get(t, m.ID)
			m.State, m.StateBefore = core.StateRevalidatePending, core.StateOpen
			must(t, w.Put(t.Context(), m))
			_, err := w.Gate.Revalidate(t.Context(), m.ID, request)
			must(t, err)
		}
		if got := w.get(t, m.ID).Signals.GateRest; got != rest {
			t.Errorf("with %+v it rests for %d turns, want %d", omega, got, rest)
		}
	}
}

func TestRetainOfWhatScoresWellLeadsToActive(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), nil)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		w.live(t, "one", 1, m.ID, core.OutcomeSuccess)
		w.live(t, "two", 1, m.ID, core.OutcomeSuccess)
		result := w.live(t, "one", 2, m.ID, core.OutcomeSuccess)
		if len(result.Revalidate) != 1 || result.Items[0].After != core.StateRevalidatePending || w.get(t, m.ID).State != core.StateActive {
			t.Errorf("%+v, and then it is %s", result, w.get(t, m.ID).State)
		}
	})
}

// A retain leaves a score of now: a sweep right after it finds nothing to do.
func TestASweepAfterARetainChangesNothing(t *testing.T) {
	for _, outcome := range []core.Outcome{core.OutcomeSuccess, core.OutcomeFailure} {
		w := living(t, openPebble(t), decides(verdict.NextRetain, .5), nil)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		for turn := int64(1); !w.get(t, m.ID).Signals.Gated; turn++ {
			w.live(t, []string{"one", "two"}[turn%2], turn, m.ID, outcome)
		}
		if result, err := w.Gate.Sweep(t.Context(), "ns", nil); err != nil || result.Evaluated != 1 || result.Changed != 0 {
			t.Errorf("%s: %+v, %v", outcome, result, err)
		}
	}
}

func TestPurgeLeavesATombstoneOnly(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, .9), deferred)
		m := w.pending(t, core.ObserveRequest{Content: "the content", Attributes: core.Attributes{Tags: []string{"t"}, AgentID: "a"}})
		w.clock.Advance(time.Minute)
		before := len(w.entries)
		d, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		if err != nil {
			t.Fatal(err)
		}
		w.wantEvents(t, before, "revalidate.started", "revalidate.decision", "lifecycle.transition", "purged")
		w.wantTransition(t, before+2, "revalidate_pending", "purged", `"cause":"gate"`, `"decision_id":"`+d.ID+`"`)
		_, err = w.Get(t.Context(), m.ID)
		wantReason(t, err, sdk.NotFound, "memory_purged")
		_, err = w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		wantReason(t, err, sdk.NotFound, "memory_purged")
		for key, value := range dump(t, s) {
			if strings.Contains(key+value, "the content") || strings.HasPrefix(key, "memory-session/"+m.ID) {
				t.Errorf("%q is left", key)
			}
		}
		last := w.entries[len(w.entries)-1]
		if strings.Contains(string(last.Data), core.Digest([]byte("the content"))) {
			t.Errorf("whoever guesses the content finds its digest in %s", last.Data)
		}
		for _, part := range []string{m.ID, d.ID, `"content":"hmac-sha256:`} {
			if last.Type != "agent.memory.purged" || !strings.Contains(string(last.Data), part) {
				t.Errorf("the tombstone %s %s lacks %s", last.Type, last.Data, part)
			}
		}
		list, err := w.Gate.Decisions(t.Context(), m.ID)
		if err != nil || len(list) != 1 || list[0].ID != d.ID {
			t.Errorf("decisions on it: %+v, %v", list, err)
		}
		_, err = w.Observe(t.Context(), &core.ObserveRequest{ID: m.ID, Namespace: "ns", Content: "again"})
		wantReason(t, err, sdk.Conflict, "id_taken")
	})
}

func TestDryRunDecidesAndWritesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		for _, next := range []string{verdict.NextRetain, verdict.NextPurge, verdict.NextPromote} {
			w := living(t, s, decides(next, .9), deferred)
			m := w.pending(t, core.ObserveRequest{ID: next, Namespace: next, Content: "c"})
			before := dump(t, s)
			d, err := w.Gate.Revalidate(t.Context(), m.ID, memory.RevalidateRequest{DryRun: true})
			if err != nil || d.NextAction != next || d.ID != "" {
				t.Errorf("%s: %+v, %v", next, d, err)
			}
			if diff := cmp.Diff(before, dump(t, s)); diff != "" {
				t.Errorf("%s: a dry run wrote:\n%s", next, diff)
			}
		}
	})
}

func TestWhatTheGateIsAsked(t *testing.T) {
	var asked *verdict.GateCase
	w := living(t, openPebble(t), gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) {
		asked = c
		return decides(verdict.NextRetain, .5)(c)
	}), deferred)
	m := w.pending(t, core.ObserveRequest{Content: "c"})
	half := .5
	r := memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: &half}, Notes: []string{"n"}}
	if _, err := w.Gate.Revalidate(t.Context(), m.ID, r); err != nil {
		t.Fatal(err)
	}
	if asked.Memory.ID != m.ID || asked.Turn != 3 || asked.Omega != r.Omega || len(asked.Notes) != 1 || asked.Governance.MinGateConfidence != .7 {
		t.Errorf("asked %+v", asked)
	}
}

func TestAGateThatFailsOrTalksNonsenseWritesNothing(t *testing.T) {
	broken := errors.New("broken")
	for name, gate := range map[string]gateFunc{
		"no number": decides(verdict.NextRetain, math.NaN()),
		"error":     func(*verdict.GateCase) (*verdict.GateDecision, error) { return nil, broken },
		"nonsense":  decides("destroy", 1),
	} {
		w := living(t, openPebble(t), gate, deferred)
		m := w.pending(t, core.ObserveRequest{Content: "c"})
		before := dump(t, w.store)
		_, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
		if want := map[string]string{"error": "internal", "nonsense": "decision_invalid", "no number": "decision_invalid"}[name]; sdk.ReasonOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
			t.Errorf("%s wrote:\n%s", name, diff)
		}
	}
	w := living(t, openPebble(t), nil, nil)
	_, err := w.Gate.Revalidate(t.Context(), w.pending(t, core.ObserveRequest{Content: "c"}).ID, revalidate)
	wantReason(t, err, sdk.Unavailable, "gate_missing")
}

func TestACancelledGateWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := living(t, openPebble(t), gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) {
		cancel()
		return decides(verdict.NextPurge, 1)(c)
	}), deferred)
	m := w.pending(t, core.ObserveRequest{Content: "c"})
	_, err := w.Gate.Revalidate(ctx, m.ID, revalidate)
	wantReason(t, err, sdk.Cancelled, "cancelled")
	if state := w.get(t, m.ID).State; state != core.StateRevalidatePending {
		t.Errorf("it is %s", state)
	}
}

// TestPurgeOfAReflectionLeavesNoContent purges what was pending, approved, and
// asked for with an idempotency key, and what another reflection waits for.
func TestPurgeOfAReflectionLeavesNoContent(t *testing.T) {
	const secret = "a-secret-that-is-content"
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPurge, .9), func(o *memory.Options) { o.DeferGate, o.Embedder = true, embedder{} })
		above := 0
		w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, RequireApprovalAbove: &above}
		source := w.observe(t, core.ObserveRequest{Content: "plain"})
		asked := w.reflect(t, core.ReflectRequest{SourceIDs: []string{source.ID}, Title: secret, Content: secret, IdempotencyKey: "k"})
		made, err := w.Approve(t.Context(), asked.PendingID)
		if err != nil {
			t.Fatal(err)
		}
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{made.ID}, Title: secret + " again", Content: "on " + secret})
		for turn := range int64(3) {
			w.live(t, "s", turn, made.ID, core.OutcomeFailure)
		}
		if _, err := w.Gate.Revalidate(t.Context(), made.ID, revalidate); err != nil {
			t.Fatal(err)
		}
		for key, value := range dump(t, s) {
			if strings.Contains(key+value, secret) {
				t.Errorf("%q holds content: %s", key, value)
			}
		}
		if list := w.problems(t); len(list) != 0 {
			t.Errorf("problems: %+v", list)
		}
	})
}
