package memory_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// gateFunc is a [verdict.Gate] made of a function.
type gateFunc func(c *verdict.GateCase) (*verdict.GateDecision, error)

// Decide implements [verdict.Gate].
func (g gateFunc) Decide(_ context.Context, _ core.Reader, c *verdict.GateCase) (*verdict.GateDecision, error) {
	return g(c)
}

// decides is a gate that always decides the same, by evidence of that strength.
func decides(next string, confidence float64) gateFunc {
	given := map[string]string{
		verdict.NextRetain: policypoint.VerdictRetain, verdict.NextPurge: policypoint.VerdictObsolete, verdict.NextPromote: policypoint.VerdictPromote,
	}[next]
	return func(c *verdict.GateCase) (*verdict.GateDecision, error) {
		return &verdict.GateDecision{
			Verdict: given, NextAction: next, Confidence: confidence, Reason: "told to", Numbers: verdict.GateNumbers{Utility: confidence},
		}, nil
	}
}

// defaults are the default policies, which take a while to compile.
var defaults = sync.OnceValue(func() *policy.Policies { return policy.New(policy.AllPoints(), policy.Options{}) })

// living returns memories under the default policies, with a gate.
func living(t *testing.T, s core.Store, gate verdict.Gate, change func(*memory.Options)) *world {
	t.Helper()
	return newWorld(t, s, func(o *memory.Options) {
		o.Retention, o.Gate = defaults(), gate
		if change != nil {
			change(o)
		}
	})
}

// recalled are results of a recall, the best first.
func (w *world) recalled(t *testing.T, ids ...string) []core.Recalled {
	t.Helper()
	results := make([]core.Recalled, len(ids))
	for i, id := range ids {
		results[i] = core.Recalled{Memory: w.get(t, id), Rank: i, Score: 1 - float64(i)/10}
	}
	return results
}

// offer records that a turn's recall returned memories.
func (w *world) offer(t *testing.T, session string, turn int64, ids ...string) {
	t.Helper()
	if err := w.RecordTurn(t.Context(), session, turn, w.recalled(t, ids...)); err != nil {
		t.Fatal(err)
	}
}

// feedback gives a turn's feedback, which must be taken.
func (w *world) feedback(t *testing.T, session string, turn int64, outcome core.Outcome, used ...string) *core.FeedbackResult {
	t.Helper()
	result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: session, Turn: turn, Outcome: outcome, Used: used})
	if err != nil {
		t.Fatalf("feedback of turn %d: %v", turn, err)
	}
	return result
}

// live offers a memory in one turn, and reports it as used with an outcome, or
// not used for "".
func (w *world) live(t *testing.T, session string, turn int64, id string, outcome core.Outcome) *core.FeedbackResult {
	t.Helper()
	w.offer(t, session, turn, id)
	if outcome == "" {
		return w.feedback(t, session, turn, core.OutcomeSuccess)
	}
	return w.feedback(t, session, turn, outcome, id)
}

// get returns a memory that must be there.
func (w *world) get(t *testing.T, id string) *core.Memory {
	t.Helper()
	m, err := w.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pending returns a memory that failed three times and waits for the gate.
func (w *world) pending(t *testing.T, r core.ObserveRequest) *core.Memory {
	t.Helper()
	m := w.observe(t, r)
	for turn := range int64(3) {
		w.live(t, "failing-"+m.ID, turn, m.ID, core.OutcomeFailure)
	}
	m = w.get(t, m.ID)
	if m.State != core.StateRevalidatePending {
		t.Fatalf("after three failures it is %s", m.State)
	}
	return m
}

// wantEvents fails unless the entries from one on are of these types.
func (w *world) wantEvents(t *testing.T, from int, types ...string) {
	t.Helper()
	var got []string
	for _, e := range w.entries[from:] {
		got = append(got, strings.TrimPrefix(e.Type, "agent.memory."))
	}
	if diff := cmp.Diff(types, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// wantTransition fails unless an entry reports a transition, and has these parts.
func (w *world) wantTransition(t *testing.T, at int, before, after string, parts ...string) {
	t.Helper()
	e := w.entries[at]
	for _, part := range append(parts, `"state_before":"`+before+`"`, `"state_after":"`+after+`"`) {
		if e.Type != "agent.memory.lifecycle.transition" || !strings.Contains(string(e.Data), part) {
			t.Errorf("%s isn't in %s %s", part, e.Type, e.Data)
		}
	}
}

// last is where the newest event of a type is.
func (w *world) last(t *testing.T, event string) int {
	t.Helper()
	for i := range slices.Backward(w.entries) {
		if w.entries[i].Type == event {
			return i
		}
	}
	t.Fatalf("there is no %s", event)
	return 0
}

// deferred leaves the gate to the test.
func deferred(o *memory.Options) { o.DeferGate = true }
