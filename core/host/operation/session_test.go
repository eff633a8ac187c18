package operation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
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

// subject is a caller with a name that reaches this namespace.
func subject(name string) core.Caller {
	return core.Caller{Subject: name, Scopes: core.Scopes(), Namespaces: []string{here}}
}

// agent is a caller with a name that reaches these namespaces, and doesn't operate the host.
func agent(name string, namespaces ...string) core.Caller {
	return core.Caller{Subject: name, Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite, core.ScopeRun}, Namespaces: namespaces}
}

// TestSession_BelongsToItsSubject makes others ask for a session in every way: they get the
// answer for a session that doesn't exist, and the session isn't changed.
func TestSession_BelongsToItsSubject(t *testing.T) {
	busy, empty := newWorld(t), newWorld(t)
	for _, w := range []*world{busy, empty} {
		observed(w, "own-memory", here)
	}
	owner := subject("owner")
	failedTurn(busy, owner, "s1", here)
	failedTurn(busy, owner, "s1", here)
	_, err := busy.Do(owner, "session_reset", &operation.SessionReset{Session: "s1"})
	busy.Must(err)
	for _, other := range []core.Caller{agent("one", here), agent("stranger", elsewhere+"/**"), agent("all", "**")} {
		for name, in := range map[string]any{
			"session_get":     &operation.SessionGet{Session: "s1"},
			"session_reset":   &operation.SessionReset{Session: "s1"},
			"session_resume":  &operation.SessionResume{Session: "s1", Window: 1},
			"memory_feedback": &core.FeedbackRequest{Session: "s1", Turn: 2, Outcome: core.OutcomeSuccess, Source: "user"},
		} {
			there, alone := answer(busy.Do(other, name, in)), answer(empty.Do(other, name, in))
			if there != alone || !strings.Contains(there, "_not_found") {
				t.Errorf("%s is answered to %s\n%s\nand without the session\n%s", name, other.Subject, there, alone)
			}
		}
		out, err := busy.Do(other, "session_list", &operation.SessionList{})
		busy.Must(err)
		if list := out.(*operation.Page[memory.Session]); len(list.Items) != 0 {
			t.Errorf("%s is listed %+v", other.Subject, list.Items)
		}
	}
	if got := failedTurn(busy, owner, "s1", here); got.Turn != 3 || got.Session != "s1" {
		t.Errorf("the owner is in turn %d of session %s, not 3 of s1", got.Turn, got.Session)
	}
}

// TestSession_HasANamespace: a recall that names none searches where the session began.
func TestSession_HasANamespace(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	owner := subject("owner")
	failedTurn(w, owner, "s1", here)
	out, err := w.Do(owner, "memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour"})
	w.Must(err)
	if got := out.(*operation.Recalled); len(got.Memories) != 1 {
		t.Errorf("it recalled %+v", got)
	}
	_, err = w.Do(owner, "memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: elsewhere}})
	w.Refused(err, sdk.Denied, "namespace_denied")
	owner.Namespaces = []string{elsewhere}
	_, err = w.Do(owner, "session_get", &operation.SessionGet{Session: "s1"})
	w.Refused(err, sdk.NotFound, "session_not_found")
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
	_, err := w.Do(stranger(), "memory_recall", &core.RecallRequest{Session: "s1", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: elsewhere}})
	w.Must(err)
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
		t.Errorf("the gate uses %+v", n)
	}
}
