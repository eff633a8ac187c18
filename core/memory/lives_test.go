package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// whole returns memories with the default policies and the gate that the host
// has.
func whole(t *testing.T, s core.Store, change func(*memory.Options)) *world {
	t.Helper()
	return newWorld(t, s, func(o *memory.Options) {
		o.Retention, o.Gate, o.Evidence = defaults(), gate.New(defaults()), gate.Evidence{}
		if change != nil {
			change(o)
		}
	})
}

// play takes a memory through turns: S, F and P are uses with success, failure
// and partial success, - is an offer without use, and . a turn of others. It
// returns at which relevant turns the memory became pending.
func (w *world) play(t *testing.T, id, turns string) (pending []int64) {
	t.Helper()
	other := w.observe(t, core.ObserveRequest{Content: "another memory"})
	outcomes := map[rune]core.Outcome{'S': core.OutcomeSuccess, 'F': core.OutcomeFailure, 'P': core.OutcomePartial, '-': ""}
	for i, c := range turns {
		if c == '.' {
			w.live(t, "others", int64(i), other.ID, core.OutcomePartial)
			continue
		}
		result := w.live(t, "one", int64(i), id, outcomes[c])
		if item := result.Items[0]; item.Before != item.After && item.After == core.StateRevalidatePending {
			pending = append(pending, w.get(t, id).Signals.RelevantTurns)
		}
	}
	if _, err := w.Gate.Sweep(t.Context(), "ns", nil); err != nil {
		t.Fatal(err)
	}
	return pending
}

// TestLives is the table of what use leads to, through the whole engine. What is
// never used, and without evidence, is retained by the gate each time, and rests for
// twice as long.
func TestLives(t *testing.T) {
	again := strings.Repeat
	cases := []struct {
		name, turns string
		state       core.MemoryState
		pending     []int64
	}{
		{"never used", again("-", 27), core.StateCooling, []int64{6, 16}},
		{"never used, among others", again("-.", 6), core.StateCooling, []int64{6}},
		{"always failing", again("F", 24), core.StateCooling, []int64{3, 13}},
		{"success at 1 of 2 offers", again("-S", 25), core.StateActive, nil},
		{"success at 1 of 3 offers", again("--S", 17), core.StateActive, nil},
		{"20 successes, then 500 turns of others", again("S", 20) + again(".", 500), core.StateActive, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := whole(t, openPebble(t), nil)
			m := w.observe(t, core.ObserveRequest{Content: "the memory"})
			pending := w.play(t, m.ID, c.turns)
			if state := w.get(t, m.ID).State; state != c.state || fmt.Sprint(pending) != fmt.Sprint(c.pending) {
				t.Errorf("it is %s and was pending at %v, want %s and %v", state, pending, c.state, c.pending)
			}
		})
	}
}

// prove records evidence on a memory: a workflow's graph, in which it is reached
// or not, and the notes of what is known besides.
func (w *world) prove(t *testing.T, id string, reachable bool) memory.RevalidateRequest {
	t.Helper()
	dag := &core.WorkflowDAG{
		Workflow: "w", Entry: []string{"a"}, Exits: []string{"c"}, Edges: [][2]string{{"a", "b"}, {"b", "c"}},
		Memories: map[string][]string{id: {"b"}},
	}
	known := 1.0
	if !reachable {
		dag.Memories[id], known = []string{"lost"}, 0
	}
	writer := journal.Writer{Store: w.store, Clock: w.clock}
	err := writer.Update(t.Context(), func(tx *journal.Tx) error {
		_, err := gate.Evidence{}.RecordDAG(tx, dag)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: &known, CodebaseVerification: &known, RuntimeUtilityTrend: &known}}
}

// tool gives a turn's feedback with the outcome of one tool.
func (w *world) tool(t *testing.T, session string, turn int64, id string, o core.ToolOutcome) *core.FeedbackResult {
	t.Helper()
	w.offer(t, session, turn, id)
	o.Tool = "test"
	result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: session, Turn: turn, Used: []string{id}, ToolOutcomes: []core.ToolOutcome{o}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestWhatHelpsInSeveralSessionsBecomesKnowledge(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := whole(t, s, deferred)
		m := w.observe(t, core.ObserveRequest{Title: "Retry", Content: "retry with backoff"})
		for turn := range int64(12) {
			w.tool(t, fmt.Sprint("s", turn%2), turn, m.ID, core.ToolOutcome{OK: true, Recovered: true})
		}
		request := w.prove(t, m.ID, true)
		d, err := w.Gate.Revalidate(t.Context(), m.ID, request)
		if err != nil || d.NextAction != verdict.NextPromote {
			t.Fatalf("decided %+v, %v", d, err)
		}
		k, err := w.Knowledge.Get(t.Context(), w.get(t, m.ID).PromotedTo)
		if err != nil || k.DecisionID != d.ID || len(d.ReactRefs) == 0 || len(d.GraphRefs) == 0 {
			t.Errorf("knowledge %+v of decision %+v, %v", k, d, err)
		}
	})
}

// TestFailuresPurgeOnlyWithEvidence lets a memory fail until it may be purged:
// two failing turns never do, and three do with evidence of both kinds.
func TestFailuresPurgeOnlyWithEvidence(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := whole(t, s, deferred)
		fail := func(id string, turns int64) {
			for turn := range turns {
				w.tool(t, "s-"+id, turn, id, core.ToolOutcome{})
			}
		}
		twice := w.observe(t, core.ObserveRequest{Content: "fails twice"})
		fail(twice.ID, 2)
		_, err := w.Gate.Revalidate(t.Context(), twice.ID, w.prove(t, twice.ID, false))
		wantReason(t, err, sdk.Conflict, "state_conflict")
		if g := w.get(t, twice.ID); g.State != core.StateOpen {
			t.Errorf("two failing turns made it %s", g.State)
		}

		unproven := w.observe(t, core.ObserveRequest{Content: "fails without a graph"})
		fail(unproven.ID, 3)
		d, err := w.Gate.Revalidate(t.Context(), unproven.ID, revalidate)
		if err != nil || d.NextAction != verdict.NextRetain || w.get(t, unproven.ID).State != core.StateCooling {
			t.Errorf("without evidence: %+v, %v", d, err)
		}

		useless := w.observe(t, core.ObserveRequest{Content: "fails, and nothing leads to it"})
		fail(useless.ID, 3)
		d, err = w.Gate.Revalidate(t.Context(), useless.ID, w.prove(t, useless.ID, false))
		if err != nil || d.NextAction != verdict.NextPurge || d.Confidence < .7 {
			t.Fatalf("with evidence: %+v, %v", d, err)
		}
		_, err = w.Get(t.Context(), useless.ID)
		wantReason(t, err, sdk.NotFound, "memory_purged")
	})
}
