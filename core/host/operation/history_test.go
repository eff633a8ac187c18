package operation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// TestLineage_GoesBothWaysWithinReach: what a memory comes from and what was made from it,
// with nothing of namespaces that the caller doesn't reach.
func TestLineage_GoesBothWaysWithinReach(t *testing.T) {
	w := newWorld(t)
	root := w.Memory()
	derive := func(namespace string, sources ...string) string {
		r := w.Reflection(sources...)
		r.Namespace, r.Title = namespace, "from "+strings.Join(sources, " ")
		made, err := w.Host.Memories.Reflect(w.Ctx, r)
		w.Must(err)
		return made.ID
	}
	child := derive(here, root)
	grandchild := derive(here, child, root)
	hidden := derive(elsewhere, child)
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here}}
	shown := func(c core.Caller, id string, depth int) string {
		out, err := w.Do(c, "memory_lineage", &operation.MemoryLineage{ID: id, Depth: depth})
		w.Must(err)
		l := out.(*memory.Lineage)
		names := map[string]string{root: "root", child: "child", grandchild: "grandchild", hidden: "hidden"}
		var text []string
		for _, n := range l.Nodes {
			text = append(text, fmt.Sprintf("%s%+d", names[n.ID], n.Distance))
		}
		return fmt.Sprintf("%s links %d truncated %t", strings.Join(text, " "), len(l.Links), l.Truncated)
	}
	for _, c := range []struct{ got, want string }{
		{shown(me, child, 0), "child+0 root+1 grandchild-1 links 2 truncated false"},
		{shown(core.Operator(""), root, 0), "root+0 child-1 grandchild-1 hidden-2 links 4 truncated false"},
		{shown(core.Operator(""), root, 1), "root+0 child-1 grandchild-1 links 3 truncated true"},
		{shown(me, grandchild, 6), "grandchild+0 child+1 root+1 links 3 truncated false"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	if text := w.Answer(w.Do(me, "memory_lineage", &operation.MemoryLineage{ID: root})); strings.Contains(text, hidden) {
		t.Errorf("a memory elsewhere is shown: %s", text)
	}
	_, err := w.Do(me, "memory_lineage", &operation.MemoryLineage{ID: root, Depth: memory.MaxLineageDepth + 1})
	w.Refused(err, sdk.Invalid, "depth_invalid")
	_, err = w.Host.Memories.Gate.Erase(w.Ctx, root, memory.EraseRequest{Reason: "it is wrong"})
	w.Must(err)
	if got := shown(me, child, 0); got != "child+0 grandchild-1 links 2 truncated false" {
		t.Errorf("of what was purged: %s", got)
	}
}

// TestLineage_IsBounded: more was made from the memory than a lineage has room for.
func TestLineage_IsBounded(t *testing.T) {
	w := newWorld(t)
	root := w.Memory()
	for i := range memory.MaxLineageNodes + 5 {
		r := w.Reflection(root)
		r.Title = fmt.Sprint("reflection ", i)
		_, err := w.Host.Memories.Reflect(w.Ctx, r)
		w.Must(err)
	}
	l := try[memory.Lineage](w, "memory_lineage", &operation.MemoryLineage{ID: root})
	if len(l.Nodes) != memory.MaxLineageNodes || !l.Truncated || len(l.Links) != memory.MaxLineageNodes-1 {
		t.Errorf("%d memories, %d links, truncated %t", len(l.Nodes), len(l.Links), l.Truncated)
	}
}

// TestHistory_HasAllPages, also of a memory that was purged.
func TestHistory_HasAllPages(t *testing.T) {
	w := newWorld(t)
	id := w.Taught(core.OutcomeSuccess, 2)
	_, err := w.Host.Memories.Gate.Erase(w.Ctx, id, memory.EraseRequest{Reason: "it is wrong"})
	w.Must(err)
	whole := try[operation.Page[journal.Entry]](w, "memory_history", &operation.MemoryHistory{ID: id})
	if n := len(whole.Items); n < 4 || whole.NextPageToken != "" || whole.Items[0].Type != "agent.memory.observed" {
		t.Fatalf("%d entries, the first is %s", n, whole.Items[0].Type)
	}
	var got []journal.Entry
	for in := (&operation.MemoryHistory{ID: id, Paging: operation.Paging{Limit: 2}}); ; {
		page := try[operation.Page[journal.Entry]](w, "memory_history", in)
		got = append(got, page.Items...)
		if in.PageToken = page.NextPageToken; in.PageToken == "" {
			break
		}
	}
	if w.Answer(got, nil) != w.Answer(whole.Items, nil) {
		t.Errorf("in pages it has %d entries of %d", len(got), len(whole.Items))
	}
	explained := try[memory.Explanation](w, "memory_explain", &operation.MemoryExplain{ID: id})
	if w.Answer(explained.History, nil) != w.Answer(whole.Items, nil) {
		t.Error("the explanation has another history")
	}
}

// TestSession_IsTheCallersOwn: a session shows its turns to the caller that had them, and to
// nobody else.
func TestSession_IsTheCallersOwn(t *testing.T) {
	w := newWorld(t)
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here}}
	id := w.Memory()
	for range 3 {
		out, err := w.Do(me, "memory_recall", w.Recall(id, "talk"))
		w.Must(err)
		_, err = w.Do(me, "memory_feedback", &core.FeedbackRequest{
			Session: "talk", Turn: out.(*operation.Recalled).Turn, Outcome: core.OutcomeSuccess, Used: []string{id},
		})
		w.Must(err)
	}
	in := &operation.SessionGet{Session: "talk", Paging: operation.Paging{Limit: 2}}
	out, err := w.Do(me, "session_get", in)
	w.Must(err)
	s := out.(*operation.Session)
	if s.Session.Session != "talk" || s.Feedbacks != 3 || s.NextTurn != 4 || s.Bias <= 0 || len(s.Items) != 2 {
		t.Errorf("%+v", s.Session)
	}
	if turn := s.Items[1]; turn.Turn != 2 || turn.Namespace != here || fmt.Sprint(turn.Memories) != "["+id+"]" || turn.Feedback.Outcome != core.OutcomeSuccess || turn.Feedback.Session != "talk" {
		t.Errorf("the second turn is %+v", turn)
	}
	in.PageToken = s.NextPageToken
	out, err = w.Do(me, "session_get", in)
	w.Must(err)
	if rest := out.(*operation.Session); len(rest.Items) != 1 || rest.Items[0].Turn != 3 || rest.NextPageToken != "" {
		t.Errorf("the rest is %+v", rest.Items)
	}
	for _, c := range []core.Caller{agent("one", "**"), stranger()} {
		_, err := w.Do(c, "session_get", &operation.SessionGet{Session: "talk"})
		w.Refused(err, sdk.NotFound, "session_not_found")
	}
}

// TestDecisions_AreOfWhereTheCallerReaches: listed by what they decided, in pages, and shown
// with what they were decided on.
func TestDecisions_AreOfWhereTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	_, err := w.Host.Memories.Reflect(w.Ctx, w.Reflection(w.Memory()))
	w.Must(err)
	id := w.Decision()
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here}}
	list := func(c core.Caller, in operation.DecisionList) (all []operation.Decided) {
		t.Helper()
		for {
			out, err := w.Do(c, "decision_list", &in)
			w.Must(err)
			page := out.(*operation.Page[operation.Decided])
			all = append(all, page.Items...)
			if in.PageToken = page.NextPageToken; in.PageToken == "" {
				return all
			}
		}
	}
	all := list(me, operation.DecisionList{})
	if len(all) == 0 || w.Answer(list(me, operation.DecisionList{Paging: operation.Paging{Limit: 1}}), nil) != w.Answer(all, nil) {
		t.Fatalf("%d decisions, and other ones page by page", len(all))
	}
	back := list(me, operation.DecisionList{Newest: true, Paging: operation.Paging{Limit: 2}})
	if slices.Reverse(back); w.Answer(back, nil) != w.Answer(all, nil) {
		t.Errorf("the newest first: %+v, want %+v from the end", back, all)
	}
	for _, d := range all {
		if d.Namespace != here || d.Point == "" || d.File == "" {
			t.Errorf("%+v is listed", d)
		}
	}
	moved := list(me, operation.DecisionList{Point: policypoint.Retention, Outcome: "state=revalidate_pending"})
	if len(moved) == 0 || len(moved) == len(all) {
		t.Errorf("%d of %d moved a memory before the gate", len(moved), len(all))
	}
	for _, d := range moved {
		if d.Point != policypoint.Retention || d.Output["state"] != "revalidate_pending" {
			t.Errorf("%+v is listed", d)
		}
	}
	if n := len(list(stranger(), operation.DecisionList{})); n != 0 {
		t.Errorf("a stranger is shown %d", n)
	}
	if n := len(list(me, operation.DecisionList{Since: all[0].At.Add(time.Hour)})); n != 0 {
		t.Errorf("%d are of the future", n)
	}
	out, err := w.Do(me, "decision_get", &operation.DecisionGet{ID: id})
	w.Must(err)
	if d := out.(*operation.Decision); d.ID != id || len(d.Inputs) == 0 || d.Rule == "" {
		t.Errorf("%+v", d)
	}
	_, err = w.Do(me, "decision_get", &operation.DecisionGet{ID: id[:len(id)-2]})
	w.Refused(err, sdk.NotFound, "decision_not_found")
	for in, reason := range map[*operation.DecisionList]string{
		{Point: "gates"}: "point_invalid", {Outcome: "allow"}: "outcome_invalid", {Namespace: here, Paging: operation.Paging{Limit: -1}}: "limit_invalid",
	} {
		_, err := w.Do(me, "decision_list", in)
		w.Refused(err, sdk.Invalid, reason)
	}
}

// TestAudit_ShowsEntriesOfSomeTypes, back from the newest and on from a number: page by page
// all of them, and no others.
func TestAudit_ShowsEntriesOfSomeTypes(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.Memory()
		w.Govern()
		_, err := w.Host.Governance.Unset(w.Ctx, here)
		w.Must(err)
	}
	stream := journal.NamespaceStream(here)
	for _, from := range []uint64{0, 1} {
		var seqs []uint64
		for in := (&operation.AuditEntries{Stream: stream, From: from, Types: []string{"agent.memory.observed"}, Paging: operation.Paging{Limit: 2}}); ; {
			page := try[operation.StreamEntries](w, "audit_entries", in)
			for _, e := range page.Items {
				if e.Type != "agent.memory.observed" {
					t.Errorf("entry %d is %s", e.Seq, e.Type)
				}
				seqs = append(seqs, e.Seq)
			}
			if in.PageToken = page.NextPageToken; in.PageToken == "" {
				break
			}
		}
		if len(seqs) != 3 {
			t.Errorf("from %d there are %v", from, seqs)
		}
	}
	_, err := w.Do(core.Operator(""), "audit_entries", &operation.AuditEntries{Stream: stream, Types: []string{"agent.memory.observd"}})
	w.Refused(err, sdk.Invalid, "types_invalid")
	if hint := sdk.AsError(err).Hint; !strings.Contains(hint, "agent.memory.observed") {
		t.Errorf("the hint is %q", hint)
	}
}
