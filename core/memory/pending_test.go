package memory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// postponed is a world whose namespace ns wants approvals above depth 1, with a
// pending reflection of depth 2.
func postponed(t *testing.T, s core.Store) (w *world, source string, p *core.ReflectResult) {
	t.Helper()
	w = newWorld(t, s, nil)
	above := 1
	w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, DecidedBy: "ns", RequireApprovalAbove: &above}
	source = w.chain(t, "ns", 1)
	p = w.reflect(t, core.ReflectRequest{SourceIDs: []string{source}, Title: "deep", Content: "thought", Attributes: core.Attributes{AgentID: "a"}, IdempotencyKey: "k"})
	return w, source, p
}

func TestADeepReflectionWaitsForItsApproval(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w, source, p := postponed(t, s)
		if p.Status != "pending" || p.PendingID == "" || p.ID != "" || p.Namespace != "ns" {
			t.Fatalf("result %+v", p)
		}
		if page, err := w.List(t.Context(), memory.ListFilter{Namespace: "ns"}); err != nil || len(page.Memories) != 2 {
			t.Errorf("%d memories before the approval, error %v", len(page.Memories), err)
		}
		list, err := w.Pending(t.Context(), memory.PendingFilter{Namespace: "ns"})
		if err != nil || len(list) != 1 || list[0].ID != p.PendingID || list[0].Depth != 2 || list[0].Above != 1 || list[0].Request.Content != "thought" {
			t.Fatalf("pending %+v, error %v", list, err)
		}
		if list, err := w.Pending(t.Context(), memory.PendingFilter{Namespace: "elsewhere"}); err != nil || len(list) != 0 {
			t.Errorf("pending elsewhere: %v, error %v", list, err)
		}
		again := w.reflect(t, core.ReflectRequest{SourceIDs: []string{source}, Title: "deep", Attributes: core.Attributes{AgentID: "a"}, IdempotencyKey: "k"})
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("the same key while it waits (-first +again):\n%s", diff)
		}
		r, err := w.Approve(as(t, "boss"), p.PendingID)
		want := &core.ReflectResult{ReflectionDepth: 2, ReflectsOn: []string{source}, Namespace: "ns"}
		if err == nil {
			want.ID = r.ID
		}
		if diff := cmp.Diff(want, r); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		if list, err := w.Pending(t.Context(), memory.PendingFilter{}); err != nil || len(list) != 0 {
			t.Errorf("pending after the approval: %v, error %v", list, err)
		}
		_, err = w.Approve(t.Context(), p.PendingID)
		wantReason(t, err, sdk.NotFound, "pending_not_found")
		again = w.reflect(t, core.ReflectRequest{SourceIDs: []string{source}, Title: "deep", Attributes: core.Attributes{AgentID: "a"}, IdempotencyKey: "k"})
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("the same key after the approval (-approved +again):\n%s", diff)
		}
		last := w.entries[len(w.entries)-1]
		if last.Type != "agent.memory.reflected" || !strings.Contains(string(last.Data), `"pending_id":"`+p.PendingID+`","approved_by":"boss"`) {
			t.Errorf("event %s %s", last.Type, last.Data)
		}
	})
}

func TestARejectedReflectionIsNotWritten(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w, source, p := postponed(t, s)
		if _, err := w.Reject(as(t, "boss"), p.PendingID, "a secret reason"); err != nil {
			t.Fatal(err)
		}
		for key, value := range dump(t, s) {
			if strings.Contains(value, "thought") || strings.Contains(value, "secret") {
				t.Errorf("%s still holds content", key)
			}
		}
		_, err := w.Approve(t.Context(), p.PendingID)
		wantReason(t, err, sdk.NotFound, "pending_not_found")
		again := w.reflect(t, core.ReflectRequest{SourceIDs: []string{source}, Title: "deep", Attributes: core.Attributes{AgentID: "a"}, IdempotencyKey: "k"})
		if again.Status != memory.StatusRejected || again.PendingID != p.PendingID {
			t.Errorf("the same key after the rejection: %+v", again)
		}
		if n := w.events("agent.reflection.rejected"); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

func TestAnApprovalRunsEveryStepAgain(t *testing.T) {
	approve := func(t *testing.T, change func(*world, string), code sdk.Code, reason string) *world {
		w, source, p := postponed(t, openPebble(t))
		change(w, source)
		_, err := w.Approve(t.Context(), p.PendingID[:36])
		wantReason(t, err, code, reason)
		if list, err := w.Pending(t.Context(), memory.PendingFilter{}); err != nil || len(list) != 1 {
			t.Errorf("%s: %d pending, error %v: a refused approval stays", reason, len(list), err)
		}
		return w
	}
	w := approve(t, func(w *world, _ string) {
		w.governor["ns"] = core.Governance{MaxReflectionDepth: 1, DecidedBy: "ns"}
	}, sdk.Denied, "depth_exceeded")
	if n := w.events("reflection.depth_exceeded"); n != 1 {
		t.Errorf("%d audit events", n)
	}
	approve(t, func(w *world, _ string) { w.observe(t, core.ObserveRequest{Title: "deep", Content: "c"}) }, sdk.Conflict, "title_taken")
	approve(t, func(w *world, source string) {
		must(t, w.MoveByDream(t.Context(), source, core.StateConsolidated, "keeper"))
	}, sdk.Conflict, "source_consolidated")
	approve(t, func(w *world, _ string) {
		w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, Limits: core.NamespaceLimits{MaxMemories: 1}}
	}, sdk.Denied, "namespace_full")
}

func TestAPendingReflectionIsFoundByAPrefix(t *testing.T) {
	w, _, p := postponed(t, openPebble(t))
	for _, prefix := range []string{p.PendingID, p.PendingID[:8], p.PendingID[:30]} {
		if got, err := w.FindPending(t.Context(), prefix); err != nil || got.ID != p.PendingID {
			t.Errorf("FindPending(%q): %v, error %v", prefix, got, err)
		}
	}
	for _, prefix := range []string{"", "ffffffff", "a/b/c/d/e"} {
		_, err := w.FindPending(t.Context(), prefix)
		wantReason(t, err, sdk.NotFound, "pending_not_found")
	}
	short := p.PendingID[:memory.MinPrefix-1]
	_, found := w.FindPending(t.Context(), short)
	_, approved := w.Approve(t.Context(), short)
	_, rejected := w.Reject(t.Context(), short, "")
	for _, err := range []error{found, approved, rejected} {
		wantReason(t, err, sdk.NotFound, "pending_not_found")
	}
}

// TestAReflectionKeepsWhatIsGiven, also where it waited for an approval.
func TestAReflectionKeepsWhatIsGiven(t *testing.T) {
	priority, confidence := 9, 0.25
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		source := w.observe(t, core.ObserveRequest{Content: "c"}).ID
		r := core.ReflectRequest{
			SourceIDs: []string{source}, Title: "how\tto", Content: "x<y", Kind: core.KindProcedural, Namespace: "to/at-once", Attributes: core.Attributes{AgentID: "ada", Tags: []string{"b", "a", "b"}, Priority: &priority, Confidence: &confidence, Metadata: []byte(`{"k": 2.50}`)},
		}
		at := w.reflect(t, r)
		above := 0
		w.governor["to/later"] = core.Governance{MaxReflectionDepth: 3, RequireApprovalAbove: &above}
		r.Namespace = "to/later"
		later, err := w.Approve(t.Context(), w.reflect(t, r).PendingID)
		must(t, err)
		for _, id := range []string{at.ID, later.ID} {
			m := w.get(t, id)
			if m.Title != "how\tto" || m.Content != "x<y" || m.Kind != core.KindProcedural || m.AgentID != "ada" || m.Priority != 9 ||
				m.Confidence != 0.25 || m.Importance != 0.5 || !cmp.Equal(m.Tags, []string{"b", "a"}) ||
				!strings.HasPrefix(string(m.Metadata), `{"k":2.50,"reflection_metadata":{`) || !strings.HasSuffix(string(m.Metadata), `,"agent_id":"ada"}`) {
				t.Errorf("in %s: %+v", m.Namespace, m)
			}
		}
		if w.get(t, at.ID).Namespace != "to/at-once" || w.get(t, later.ID).Namespace != "to/later" {
			t.Errorf("they are at %+v and %+v", at, later)
		}
	})
}
