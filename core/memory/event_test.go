package memory_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// told are the data of the entries of a type.
func (w *world) told(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	for _, e := range w.entries {
		if e.Type != name {
			continue
		}
		data := map[string]any{}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		list = append(list, data)
	}
	return list
}

// TestEventsTellWhatTheGateDid checks the fields of its events with their values, for
// each decision: a gate that takes 5 ms decides on a memory that failed three times.
func TestEventsTellWhatTheGateDid(t *testing.T) {
	cases := []struct {
		next  string
		after core.MemoryState
		event string // which of the memory's end
	}{
		{verdict.NextRetain, core.StateCooling, ""},
		{verdict.NextPurge, core.StatePurged, "agent.memory.purged"},
		{verdict.NextPromote, core.StatePromoted, "agent.memory.promoted"},
	}
	for _, c := range cases {
		t.Run(c.next, func(t *testing.T) {
			clock := &coretest.Clock{}
			slow := gateFunc(func(in *verdict.GateCase) (*verdict.GateDecision, error) {
				clock.Advance(5 * time.Millisecond)
				return decides(c.next, .9)(in)
			})
			w := living(t, openPebble(t), slow, func(o *memory.Options) { o.DeferGate, o.Clock = true, clock })
			m := w.pending(t, core.ObserveRequest{ID: "m", Content: "c"})
			d, err := w.Gate.Revalidate(as(t, "ada"), "m", memory.RevalidateRequest{Turn: core.TurnRef{Session: "failing-m", Turn: 2}})
			if err != nil {
				t.Fatal(err)
			}
			ttl := m.Signals.TTLScore
			started := []map[string]any{{
				"memory_id": "m", "state_before": "revalidate_pending", "state_after": "revalidate_pending", "ttl_score": ttl,
				"session_id": "failing-m", "turn_id": 2.0, "agent_id": "ada",
			}}
			if diff := cmp.Diff(started, w.told(t, "agent.memory.revalidate.started")); diff != "" {
				t.Errorf("started:\n%s", diff)
			}
			want := map[string]any{
				"memory_id": "m", "decision_id": d.ID, "decision.verdict": d.Verdict, "decision.confidence": .9,
				"state_before": "revalidate_pending", "state_after": string(c.after), "ttl_score": ttl, "session_id": "failing-m", "turn_id": 2.0,
			}
			events := []string{"agent.memory.revalidate.decision", "agent.memory.lifecycle.transition"}
			if c.event != "" {
				events = append(events, c.event)
			}
			for _, name := range events {
				list := w.told(t, name)
				got := list[len(list)-1]
				if want["ttl_score"] = ttl; name == "agent.memory.lifecycle.transition" && c.next == verdict.NextRetain {
					want["ttl_score"] = w.get(t, "m").Signals.TTLScore // the one of now
				}
				for field, value := range want {
					if got[field] != value {
						t.Errorf("%s has %s %v, want %v", name, field, got[field], value)
					}
				}
			}
			if got := w.told(t, "agent.memory.revalidate.decision")[0]["latency_ms"]; got != 5.0 {
				t.Errorf("the gate took %v ms, want 5", got)
			}
		})
	}
}

// TestReflectionRecorded_HasNoNull: a turn without a snapshot has no blocks of any category,
// whatever its outcome and however often it was reported.
func TestReflectionRecorded_HasNoNull(t *testing.T) {
	memories := map[string]bool{"a memory": true, "no memory": false}
	for with, observe := range memories {
		for _, outcome := range []core.Outcome{core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial} {
			for _, source := range []string{"text", "tool"} {
				t.Run(with+"/"+string(outcome)+"/"+source, func(t *testing.T) {
					w := living(t, empty(t), nil, nil)
					if observe {
						w.observe(t, core.ObserveRequest{Content: "build the harbour"})
					}
					if _, err := w.recallIn(t, "a", 0, "build"); err != nil {
						t.Fatal(err)
					}
					for _, by := range []string{source, "user"} { // the second replaces the first
						if _, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "a", Turn: 1, Outcome: outcome, Source: by}); err != nil {
							t.Fatal(err)
						}
					}
					list := w.told(t, "agent.reflection.recorded")
					if len(list) != 2 {
						t.Fatalf("%d events", len(list))
					}
					for _, e := range list {
						for field, value := range e {
							if value == nil {
								t.Errorf("%s is null", field)
							}
						}
						if categories, is := e["categories"].(map[string]any); !is || len(categories) != 0 {
							t.Errorf("categories are %v", e["categories"])
						}
					}
				})
			}
		}
	}
}

// slow is an embedder that takes 3 ms.
type slow struct {
	embed.Hashed
	clock *coretest.Clock
}

func (s slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.clock.Advance(3 * time.Millisecond)
	return s.Hashed.Embed(ctx, texts)
}

// slowEvidence takes 2 ms to keep anything.
type slowEvidence struct{ clock *coretest.Clock }

func (s slowEvidence) RecordTools(*journal.Tx, string, []core.ToolOutcome) (int, error) {
	s.clock.Advance(2 * time.Millisecond)
	return 0, nil
}

func (slowEvidence) Used(*journal.Tx, string, string, core.TurnRef, bool) error { return nil }

// TestEventsOfATurnTellItsNumbersAndHowLongItTook checks the whole data of both
// events of a turn.
func TestEventsOfATurnTellItsNumbersAndHowLongItTook(t *testing.T) {
	clock := &coretest.Clock{}
	w := living(t, openPebble(t), nil, func(o *memory.Options) {
		o.Clock, o.Embedder, o.Evidence = clock, slow{clock: clock}, slowEvidence{clock}
	})
	for _, id := range []string{"a", "b"} {
		w.observe(t, core.ObserveRequest{ID: id, Content: "word " + id})
	}
	w.recall(t, core.RecallRequest{Session: "s", Turn: 4, Query: "word"})
	_, err := w.Feedback(t.Context(), &core.FeedbackRequest{
		Session: "s", Turn: 4, Outcome: core.OutcomeSuccess, Source: "user", Used: []string{"a"}, AgentID: "ada",
		ToolOutcomes: []core.ToolOutcome{{Tool: "test"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	recalled := []map[string]any{{"session_id": "s", "turn_id": 4.0, "memory_ids": []any{"a", "b"}, "latency_ms": 3.0}}
	if diff := cmp.Diff(recalled, w.told(t, "agent.memory.recalled")); diff != "" {
		t.Errorf("recalled:\n%s", diff)
	}
	item := func(id string, used bool, reward float64, after string) map[string]any {
		s := w.get(t, id).Signals
		return map[string]any{
			"id": id, "used": used, "reward": reward, "q_value": s.Q, "ttl_score": s.TTLScore, "state_before": "open", "state_after": after,
		}
	}
	used := item("a", true, 1, "active")
	used["weight"] = .98125 // the first, at its score
	evolved := []map[string]any{{
		"session_id": "s", "turn_id": 4.0, "turn": 1.0, "outcome": "success", "source": "user", "agent_id": "ada", "bias": .15, "feedbacks": 1.0, "formula": 4.0,
		"items": []any{used, item("b", false, 0, "open")}, "latency_ms": 2.0,
	}}
	if diff := cmp.Diff(evolved, w.told(t, "agent.memory.evolution.applied")); diff != "" {
		t.Errorf("evolved:\n%s", diff)
	}
}

// TestEachOperationIsOneCommit counts the commits of the engine.
func TestEachOperationIsOneCommit(t *testing.T) {
	s := openPebble(t)
	next := verdict.NextRetain
	w := living(t, s, gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) { return decides(next, .9)(c) }), deferred)
	one := func(what string, do func()) {
		t.Helper()
		before := s.(*pebble.Store).Commits()
		if do(); s.(*pebble.Store).Commits() != before+1 {
			t.Errorf("%s is %d commits", what, s.(*pebble.Store).Commits()-before)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		one("observe", func() {
			w.observe(t, core.ObserveRequest{ID: id, Content: "word " + id, Attributes: core.Attributes{Tags: []string{"x", "y"}}})
		})
	}
	one("reflect", func() { w.reflect(t, core.ReflectRequest{SourceIDs: []string{"a", "b"}}) })
	for turn := int64(1); turn <= 3; turn++ {
		one("recall", func() { w.recall(t, core.RecallRequest{Session: "s", Turn: turn, Query: "word"}) })
		one("feedback", func() { w.feedback(t, "s", turn, core.OutcomeFailure, "a", "b", "c") })
	}
	for id, action := range map[string]string{"a": verdict.NextRetain, "b": verdict.NextPurge, "c": verdict.NextPromote} {
		next = action
		one(action, func() {
			if _, err := w.Gate.Revalidate(t.Context(), id, revalidate); err != nil {
				t.Error(err)
			}
		})
	}
}
