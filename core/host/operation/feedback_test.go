package operation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// TestFeedback_MayLeadToAPurge: a caller without the scope to erase says how turns went, and
// the gate by itself purges what always fails. The answer says what was purged, and, of what
// was derived from it, only what the caller reaches.
func TestFeedback_MayLeadToAPurge(t *testing.T) {
	w := newWorld(t)
	w.Config.DeferGate = false
	w.Reopen()
	id := w.Memory()
	graph := w.Graph(id)
	_, err := w.Host.Evidence.RecordDAG(w.Ctx, &graph)
	w.Must(err)
	derive := func(namespace string) string {
		r := w.Reflection(id)
		r.Namespace, r.Title = namespace, "of "+namespace
		made, err := w.Host.Memories.Reflect(w.Ctx, r)
		w.Must(err)
		return made.ID
	}
	mine, other := derive(here), derive(elsewhere)
	writer := core.Caller{Subject: "writer", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{here}}
	_, err = w.Do(writer, "gate_request", &operation.GateRequest{ID: id, Erase: true, Reason: "it is wrong"})
	w.Refused(err, "denied", "scope_denied")
	for turn := range 80 {
		in := w.Recall(id, fmt.Sprint("talk-", turn%2))
		out, err := w.Do(writer, "memory_recall", in)
		w.Must(err)
		recalled := out.(*operation.Recalled)
		f := &core.FeedbackRequest{Session: in.Session, Turn: recalled.Turn, Outcome: core.OutcomeFailure, Used: []string{id}}
		f.ToolOutcomes = []core.ToolOutcome{{MemoryID: id, Tool: "calendar", Ref: fmt.Sprint("call-", turn)}}
		f.ToolOutcomes[0].Session, f.ToolOutcomes[0].Turn = in.Session, recalled.Turn
		out, err = w.Do(writer, "memory_feedback", f)
		w.Must(err)
		purged := out.(*core.FeedbackResult).Purged
		if len(purged) == 0 {
			continue
		}
		if purged[0].MemoryID != id || !slices.Equal(purged[0].Reflections, []string{mine}) || slices.Contains(purged[0].Reflections, other) {
			t.Errorf("the writer hears of %+v", purged)
		}
		return
	}
	t.Error("what always fails was never purged")
}
