package operation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// observed stores a memory of an id in a namespace.
func observed(w *world, id, namespace string) {
	w.T.Helper()
	_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{ID: id, Namespace: namespace, Content: "The harbour closes at noon."})
	w.Must(err)
}

// failedTurn recalls in a session for a caller, and says that the turn failed.
func failedTurn(w *world, c core.Caller, session, namespace string) *operation.Recalled {
	w.T.Helper()
	out, err := w.Do(c, "memory_recall", &core.RecallRequest{Session: session, Query: "harbour", RecallFilter: core.RecallFilter{Namespace: namespace}})
	w.Must(err)
	recalled := out.(*operation.Recalled)
	_, err = w.Do(c, "memory_feedback", &core.FeedbackRequest{Session: session, Turn: recalled.Turn, Outcome: core.OutcomeFailure})
	w.Must(err)
	return recalled
}

// TestASessionTellsNothingOfTurnsElsewhere has a caller recall in a session whose name others
// use elsewhere, and in a host where nobody does: every answer is the same bytes. The
// others' turns go on as if nothing had been.
func TestASessionTellsNothingOfTurnsElsewhere(t *testing.T) {
	busy, empty := newWorld(t), newWorld(t)
	for _, w := range []*world{busy, empty} {
		observed(w, "own-memory", here)
	}
	observed(busy, "foreign-memory", elsewhere)
	for _, other := range []core.Caller{stranger(), core.Operator("")} {
		for turn := range 3 {
			if got := failedTurn(busy, other, "s1", elsewhere); got.Turn != int64(turn+1) {
				t.Fatalf("%s is in turn %d, not %d", other.Subject, got.Turn, turn+1)
			}
		}
	}
	one := core.Caller{Subject: "one", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{here}}
	in := core.RecallFilter{Namespace: here}
	for i, c := range []struct {
		name string
		in   any
	}{
		{"memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: in}},
		{"memory_recall", &core.RecallRequest{Session: "s1", Turn: 2, Query: "harbour", RecallFilter: in}},
		{"memory_recall", &core.RecallRequest{Session: "s1", Turn: 1, Query: "harbour", RecallFilter: in}}, // out of order
		{"memory_recall", &core.RecallRequest{Session: "no session", Query: "harbour", RecallFilter: in}},
		{"memory_feedback", &core.FeedbackRequest{Session: "s1", Turn: 2, Outcome: core.OutcomeSuccess, Used: []string{"foreign-memory"}}},
		{"memory_feedback", &core.FeedbackRequest{Session: "s1", Turn: 2, Outcome: core.OutcomeSuccess, Used: []string{"own-memory"}}},
		{"memory_recall", &core.RecallRequest{Session: "s1", Turn: 2, Query: "harbour", RecallFilter: in}}, // closed
		{"memory_feedback", &core.FeedbackRequest{Session: "s1", Turn: 3, Outcome: core.OutcomeFailure}},
		{"memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: in}},
	} {
		there, alone := answer(busy.Do(one, c.name, c.in)), answer(empty.Do(one, c.name, c.in))
		if there != alone {
			t.Errorf("call %d, %s, is answered\n%s\nand where nobody else is\n%s", i, c.name, there, alone)
		}
		if strings.HasPrefix(there, `{"Out":{"session":"s1@`) || strings.HasPrefix(there, `{"Out":null`) && strings.Contains(there, "s1@") {
			t.Errorf("call %d, %s, shows the mark: %s", i, c.name, there)
		}
	}
	for _, other := range []core.Caller{stranger(), core.Operator("")} {
		if got := failedTurn(busy, other, "s1", elsewhere); got.Turn != 4 || got.Session != "s1" {
			t.Errorf("%s is in turn %d of session %s, not 4 of s1", other.Subject, got.Turn, got.Session)
		}
	}
}

// TestATurnElsewhereTakesNoFeedback asks for one as if it had been made by the caller: what it
// was offered stays as it is, and the refusal is the one of a turn that there isn't.
func TestATurnElsewhereTakesNoFeedback(t *testing.T) {
	w, empty := newWorld(t), newWorld(t)
	for _, w := range []*world{w, empty} {
		observed(w, "own-memory", here)
	}
	observed(w, "foreign-memory", elsewhere)
	one := core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{here}}
	for _, other := range []core.Caller{stranger(), core.Operator("")} {
		_, err := w.Do(other, "memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: elsewhere}})
		w.Must(err)
	}
	for _, in := range []*core.FeedbackRequest{
		{Outcome: core.OutcomeFailure},
		{Outcome: core.OutcomeFailure, Used: []string{"own-memory"}},
		{Outcome: core.OutcomeFailure, Used: []string{"foreign-memory"}},
		{Outcome: core.OutcomeFailure, Assumed: []string{"foreign-memory"}},
		{Outcome: "splendid", Source: "hearsay"},
	} {
		in.Session, in.Turn = "s1", 1
		out, err := w.Do(one, "memory_feedback", in)
		if there, absent := answer(out, err), answer(empty.Do(one, "memory_feedback", in)); there != absent {
			t.Errorf("%+v is answered\n%s\nand where there is no turn\n%s", in, there, absent)
		}
		if in.Outcome == core.OutcomeFailure {
			w.Refused(err, sdk.NotFound, "turn_not_found")
		}
	}
	got := try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: "foreign-memory"})
	if got.Signals.Failures != 0 || got.Signals.RelevantTurns != 0 {
		t.Errorf("its signals are %+v", got.Signals)
	}
}

// TestEvidenceIsOfTheCallersSessions has outcomes of tools in turns of a session of the
// caller's: they count as of turns that used the memory.
func TestEvidenceIsOfTheCallersSessions(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	one := core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{here}}
	var outcomes operation.Outcomes
	for turn := int64(1); turn <= 3; turn++ {
		_, err := w.Do(one, "memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: here}})
		w.Must(err)
		_, err = w.Do(one, "memory_feedback", &core.FeedbackRequest{Session: "s1", Turn: turn, Outcome: core.OutcomeSuccess, Used: []string{"m"}})
		w.Must(err)
		outcomes = append(outcomes, core.ToolOutcome{MemoryID: "m", Session: "s1", Turn: turn, Tool: "t", OK: true, Ref: fmt.Sprint("log:", turn)})
	}
	_, err := w.Do(one, "evidence_tool", &operation.EvidenceTool{Outcomes: outcomes})
	w.Must(err)
	out, err := w.Do(one, "gate_explain", &operation.GateExplain{ID: "m"})
	w.Must(err)
	if n := out.(*gate.Explanation).Decision.Numbers; n.Good != 3 {
		t.Errorf("the gate goes by %+v", n)
	}
}
