package operation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// rival is a tenant that doesn't reach the namespaces of the other tests.
const rival = "rival"

// observeAs stores a memory of a chosen id for a caller, and returns the id that it has.
func observeAs(w *world, c core.Caller, id, namespace string) string {
	w.T.Helper()
	out, err := w.Do(c, "memory_observe", &core.ObserveRequest{ID: id, Namespace: namespace, Content: "The harbour of " + namespace + " closes at noon."})
	w.Must(err)
	return out.(*core.Memory).ID
}

// recallAs recalls in a session for a caller.
func recallAs(w *world, c core.Caller, session, namespace string) *operation.Recalled {
	w.T.Helper()
	out, err := w.Do(c, "memory_recall", &core.RecallRequest{Session: session, Query: "harbour", RecallFilter: core.RecallFilter{Namespace: namespace}})
	w.Must(err)
	return out.(*operation.Recalled)
}

// node is a workflow with one memory action.
func memoryNode(action, with string) string {
	return "nodes:\n  - {name: n, action: " + action + ", with: {" + with + "}}\n"
}

// TestObserve_TakenIDElsewhereIsFree: a caller that chooses the id of a memory which it doesn't reach
// gets the same answer as for a free id.
func TestObserve_TakenIDElsewhereIsFree(t *testing.T) {
	erase := func(w *world, id string) {
		_, err := w.Do(core.Operator("tester"), "gate_request", &operation.GateRequest{ID: id, Erase: true, Reason: "wrong"})
		w.Must(err)
	}
	owner, long := subject("owner"), strings.Repeat("x", core.MaxIDBytes)
	for _, c := range []struct {
		name   string
		id     string
		theirs func(w *world)
	}{
		{"another tenant's", "fact-1", func(w *world) { observeAs(w, owner, "fact-1", here) }},
		{"the operator's", "fact-1", func(w *world) { observed(w, "fact-1", here) }},
		{"a purged one", "fact-1", func(w *world) { observed(w, "fact-1", here); erase(w, "fact-1") }},
		{"a purged one of a tenant", "fact-1", func(w *world) { erase(w, observeAs(w, owner, "fact-1", here)) }},
		{"a generated one", "01900000-0000-7000-8000-000000000fff", func(w *world) { observed(w, "01900000-0000-7000-8000-000000000fff", here) }},
		{"an archived one's whole id", "fact-2", func(w *world) { observed(w, "fact-2", here) }},
		{"the longest", long, func(w *world) { observed(w, long, here) }},
		{"the shortest", "x", func(w *world) { observeAs(w, owner, "x", here) }},
		{"one with a mark", "fact@1", func(w *world) { observeAs(w, owner, "fact@1", here) }},
		{"in a batch", "fact-1", func(w *world) {
			_, err := w.Do(owner, "memory_observe_all", &operation.MemoryObserveAll{Items: []*core.ObserveRequest{{ID: "fact-1", Namespace: here, Content: "c"}}})
			w.Must(err)
		}},
		{"from a workflow", "fact-1", func(w *world) {
			_, err := w.Do(owner, "run_start", &operation.RunStart{Namespace: here, Workflow: memoryNode("memory.observe", "content: c, id: fact-1")})
			w.Must(err)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			busy, empty := newWorld(t), newWorld(t)
			c.theirs(busy)
			for _, other := range []struct {
				core.Caller
				namespace string
			}{{agent("rival", rival+"/**"), rival}, {agent("near", elsewhere), elsewhere}, {agent("several", "other", elsewhere+"/below/**"), elsewhere + "/below"}} {
				for name, in := range map[string]any{
					"memory_observe": &core.ObserveRequest{ID: c.id, Namespace: other.namespace, Content: "mine"},
					"memory_get":     &operation.MemoryGet{ID: c.id},
				} {
					if there, alone := answer(busy.Do(other.Caller, name, in)), answer(empty.Do(other.Caller, name, in)); there != alone {
						t.Errorf("%s is answered to %s\n%s\nand where the id is free\n%s", name, other.Subject, there, alone)
					}
				}
				batch := &operation.MemoryObserveAll{Items: []*core.ObserveRequest{{ID: c.id + ".b", Namespace: other.namespace, Content: "mine too"}}}
				if len(c.id) < core.MaxIDBytes-1 {
					if _, err := busy.Do(other.Caller, "memory_observe_all", batch); err != nil {
						t.Errorf("a batch of %s is refused: %v", other.Subject, err)
					}
				}
				got, err := busy.Do(other.Caller, "memory_get", &operation.MemoryGet{ID: c.id})
				busy.Must(err)
				if m := got.(*operation.Memory); m.Content != "mine" {
					t.Errorf("%s reads %q", other.Subject, m.Content)
				}
			}
		})
	}
}

// TestObserve_ChosenIDNamesItsMemory uses an id that two tenants chose in every request that names a
// memory: each tenant means its own.
func TestObserve_ChosenIDNamesItsMemory(t *testing.T) {
	w := newWorld(t)
	for _, mine := range []struct {
		core.Caller
		namespace string
	}{{subject("owner"), here}, {agent("rival", rival+"/**"), rival}, {agent("near", elsewhere), elsewhere}} {
		mine.Scopes = core.Scopes()
		observeAs(w, mine.Caller, "fact", mine.namespace)
		observeAs(w, mine.Caller, "other", mine.namespace)
		must := func(name string, in any) any {
			t.Helper()
			out, err := w.Do(mine.Caller, name, in)
			if err != nil {
				t.Errorf("%s for %s: %v", name, mine.Subject, err)
			}
			return out
		}
		_, err := w.Do(mine.Caller, "memory_observe", &core.ObserveRequest{ID: "fact", Namespace: mine.namespace, Content: "again"})
		w.Refused(err, sdk.Conflict, "id_taken")
		if strings.Contains(err.Error(), "fact@") {
			t.Errorf("the refusal doesn't name the id as it was chosen: %v", err)
		}
		if m := must("memory_get", &operation.MemoryGet{ID: "fact"}).(*operation.Memory); m.Namespace != mine.namespace {
			t.Errorf("%s reads a memory of %s", mine.Subject, m.Namespace)
		} else if whole := must("memory_get", &operation.MemoryGet{ID: m.ID}).(*operation.Memory); whole.ID != m.ID {
			t.Errorf("its whole id %s is read as %s", m.ID, whole.ID)
		}
		must("memory_link", &memory.LinkRequest{From: "fact", To: "other", Relation: "supports"})
		must("memory_explain", &operation.MemoryExplain{ID: "fact"})
		must("memory_lineage", &operation.MemoryLineage{ID: "fact"})
		must("memory_reflect", &core.ReflectRequest{SourceIDs: []string{"fact", "other"}, Title: "about both", Content: "Both close at noon."})
		turn := recallAs(w, mine.Caller, "s", mine.namespace)
		told := must("memory_feedback", &core.FeedbackRequest{Session: "s", Turn: turn.Turn, Outcome: core.OutcomeSuccess, Used: []string{"fact"}}).(*core.FeedbackResult)
		if told == nil || !slices.ContainsFunc(told.Items, func(i core.FeedbackItem) bool { return i.Used && strings.HasPrefix(i.ID, "fact") }) {
			t.Errorf("the feedback of %s used %+v", mine.Subject, told)
		}
		must("evidence_tool", &operation.EvidenceTool{Outcomes: operation.Outcomes{{MemoryID: "fact", Session: "s", Turn: turn.Turn, Tool: "t", OK: true, Ref: "log:1"}}})
		if e := must("gate_explain", &operation.GateExplain{ID: "fact"}).(*gate.Explanation); e == nil {
			t.Errorf("%s has no explanation", mine.Subject)
		}
		must("gate_request", &operation.GateRequest{ID: "other", Erase: true, Reason: "wrong"})
		must("memory_explain", &operation.MemoryExplain{ID: "other"})
		_, err = w.Do(mine.Caller, "memory_get", &operation.MemoryGet{ID: "other"})
		w.Refused(err, sdk.NotFound, "memory_purged")
		_, err = w.Do(mine.Caller, "memory_observe", &core.ObserveRequest{ID: "other", Namespace: mine.namespace, Content: "again"})
		w.Refused(err, sdk.Conflict, "id_taken")
	}
	if got := try[operation.Memories](w, "memory_list", &operation.MemoryList{Subtree: true}); len(got.Items) != 6 {
		t.Errorf("%d memories are left, not two of each", len(got.Items))
	}
	_, err := w.Do(core.Operator("tester"), "memory_get", &operation.MemoryGet{ID: "fact"})
	w.Refused(err, sdk.Conflict, "id_ambiguous")
	observed(w, "fact", "operators") // nobody can take an id from the operator
	if m := try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: "fact"}); m.Namespace != "operators" {
		t.Errorf("the operator reads a memory of %s", m.Namespace)
	}
	observeAs(w, subject("owner"), "lone", here)
	if m := try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: "lone"}); m.Namespace != here {
		t.Errorf("the operator reads a memory of %s", m.Namespace)
	}
	both := agent("both", "team/**", rival)
	_, err = w.Do(both, "memory_get", &operation.MemoryGet{ID: "fact"})
	w.Refused(err, sdk.Conflict, "id_ambiguous")
	if names := err.Error(); strings.Count(names, "fact@") != 3 {
		t.Errorf("it names %s", names)
	}
}

// TestObserve_EarlierIDsStay: a memory that has the chosen id itself, as the operator's have, is found
// by it, and the id is taken for those who reach the memory.
func TestObserve_EarlierIDsStay(t *testing.T) {
	w := newWorld(t)
	observed(w, "fact", here)
	mine := agent("mine", here)
	out, err := w.Do(mine, "memory_get", &operation.MemoryGet{ID: "fact"})
	w.Must(err)
	if m := out.(*operation.Memory); m.ID != "fact" {
		t.Errorf("it is %s", m.ID)
	}
	_, err = w.Do(mine, "memory_observe", &core.ObserveRequest{ID: "fact", Namespace: here, Content: "again"})
	w.Refused(err, sdk.Conflict, "id_taken")
}

// TestSession_TakenNameIsFree: to another caller, a session's name is as free as it was before, in
// every request, no matter who came first.
func TestSession_TakenNameIsFree(t *testing.T) {
	owner := subject("owner")
	for _, c := range []struct {
		name   string
		theirs func(w *world)
	}{
		{"a recall", func(w *world) { failedTurn(w, owner, "s", here) }},
		{"the operator's", func(w *world) { failedTurn(w, core.Operator("tester"), "s", here) }},
		{"a prompt", func(w *world) {
			_, err := w.Do(owner, "snapshot_build", &inject.BuildRequest{Session: "s", Namespace: here, Query: "harbour"})
			w.Must(err)
		}},
		{"a run", func(w *world) {
			_, err := w.Do(owner, "run_start", &operation.RunStart{Namespace: here, Session: "s", Workflow: memoryNode("memory.recall", "query: harbour")})
			w.Must(err)
		}},
		{"a node", func(w *world) {
			_, err := w.Do(owner, "run_start", &operation.RunStart{Namespace: here, Workflow: memoryNode("memory.recall", "query: harbour, session: s")})
			w.Must(err)
		}},
		{"two windows", func(w *world) {
			failedTurn(w, owner, "s", here)
			_, err := w.Do(owner, "session_reset", &operation.SessionReset{Session: "s"})
			w.Must(err)
		}},
		{"a high turn", func(w *world) {
			_, err := w.Do(owner, "memory_recall", &core.RecallRequest{Session: "s", Turn: 900, Query: "harbour", RecallFilter: core.RecallFilter{Namespace: here}})
			w.Must(err)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, other := range []struct {
				core.Caller
				namespace string
			}{{agent("colleague", here+"/**"), here + "/below"}, {agent("rival", rival+"/**"), rival}, {agent("all", "**"), "all"}} {
				busy, empty := newWorld(t), newWorld(t)
				for _, w := range []*world{busy, empty} {
					observed(w, "m", here)
				}
				c.theirs(busy)
				for _, call := range []struct {
					name string
					in   any
				}{
					{"session_get", &operation.SessionGet{Session: "s"}},
					{"session_reset", &operation.SessionReset{Session: "s"}},
					{"session_resume", &operation.SessionResume{Session: "s", Window: 1}},
					{"memory_feedback", &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeFailure}},
					{"snapshot_list", &operation.SnapshotList{Session: "s", Namespace: other.namespace}},
					{"evidence_tool", &operation.EvidenceTool{Outcomes: operation.Outcomes{{MemoryID: "m", Session: "s", Turn: 1, Tool: "t", OK: true, Ref: "log:1"}}}},
					{"memory_recall", &core.RecallRequest{Session: "s", Query: "nothing fits", RecallFilter: core.RecallFilter{Namespace: other.namespace}}},
					{"memory_feedback", &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess}},
					{"session_get", &operation.SessionGet{Session: "s"}},
					{"session_list", &operation.SessionList{}},
					{"session_reset", &operation.SessionReset{Session: "s"}},
				} {
					there, alone := answer(busy.Do(other.Caller, call.name, call.in)), answer(empty.Do(other.Caller, call.name, call.in))
					if there != alone {
						t.Errorf("%s is answered to %s\n%s\nand where the name is free\n%s", call.name, other.Subject, there, alone)
					}
					if strings.Contains(there, `"session":"s@`) {
						t.Errorf("%s doesn't show the name as %s chose it: %s", call.name, other.Subject, there)
					}
				}
			}
		})
	}
}

// TestSession_NameOfARunIsItsOwn: a run's session has the run's id as its name, and nobody can take
// that name before the run uses it.
func TestSession_NameOfARunIsItsOwn(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	owner, thief := subject("owner"), agent("thief", rival)
	out, err := w.Do(owner, "run_start", &operation.RunStart{Namespace: here, Workflow: memoryNode("memory.recall", "query: harbour")})
	w.Must(err)
	first := out.(*operation.RunEnded)
	recallAs(w, thief, first.ID, rival)
	stored, err := w.Host.Memories.Sessions.Head(w.Ctx, first.ID)
	w.Must(err)
	if first.Error != nil || stored == nil || stored.Owner != "owner" || stored.NextTurn != 2 {
		t.Errorf("the run's session is %+v, its error %v", stored, first.Error)
	}
	got, err := w.Do(owner, "session_get", &operation.SessionGet{Session: first.ID})
	w.Must(err)
	if s := got.(*operation.Session); s.Session.Session != first.ID || len(s.Items) != 1 || s.Items[0].Feedback == nil {
		t.Errorf("its owner reads %s", jsontext.MustEncode(s))
	}
}

// TestSession_OfSeveralOwnersIsShown: who oversees the sessions sees each with its owner, and reads
// each by the name that the list has.
func TestSession_OfSeveralOwnersIsShown(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	for _, name := range []string{"a", "b", "c"} {
		failedTurn(w, subject(name), "s", here)
	}
	failedTurn(w, core.Operator("tester"), "s", here)
	list := try[operation.Page[memory.Session]](w, "session_list", &operation.SessionList{})
	var owners []string
	for _, s := range list.Items {
		owners = append(owners, s.Owner)
		got := try[operation.Session](w, "session_get", &operation.SessionGet{Session: s.Key})
		if got.Owner != s.Owner || got.Session.Session != "s" || got.Items[0].Feedback.Session != "s" {
			t.Errorf("session s of %s is read as %s", s.Owner, jsontext.MustEncode(got))
		}
	}
	failedTurn(w, subject("a"), "only", here)
	boss := core.Caller{Subject: "boss", Scopes: core.Scopes(), Namespaces: []string{here}}
	out, err := w.Do(boss, "session_get", &operation.SessionGet{Session: "only"})
	w.Must(err)
	if got := out.(*operation.Session); got.Owner != "a" {
		t.Errorf("the only session of that name is read as %s's", got.Owner)
	}
	slices.Sort(owners)
	if !slices.Equal(owners, []string{"a", "b", "c", "operator"}) {
		t.Errorf("the owners are %v", owners)
	}
}

// TestSession_AmbiguousNameIsRefused to who oversees the sessions of several subjects, and the refusal
// names them.
func TestSession_AmbiguousNameIsRefused(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	for _, name := range []string{"a", "b"} {
		failedTurn(w, subject(name), "s", here)
	}
	_, err := w.Do(core.Operator("tester"), "session_get", &operation.SessionGet{Session: "s"})
	w.Refused(err, sdk.Conflict, "session_ambiguous")
}

// TestSession_EarlierNamesStay: a session that has the chosen name itself, as sessions had when names
// weren't kept apart by owner, is its owner's, and nobody else's.
func TestSession_EarlierNamesStay(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	mine := agent("mine", here)
	earlier := core.WithCaller(w.Ctx, mine)
	_, err := w.Host.Memories.Recall(earlier, &core.RecallRequest{Session: "s", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: here}})
	w.Must(err)
	if got := recallAs(w, mine, "s", here); got.Turn != 2 || got.Session != "s" {
		t.Errorf("it continues in turn %d of %s", got.Turn, got.Session)
	}
	if got := recallAs(w, agent("other", here), "s", here); got.Turn != 1 {
		t.Errorf("another is in turn %d", got.Turn)
	}
	moved := agent("mine", rival) // the same subject, for another tenant
	if got := recallAs(w, moved, "s", rival); got.Turn != 1 {
		t.Errorf("elsewhere it is in turn %d", got.Turn)
	}
}
