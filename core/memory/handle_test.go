package memory_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestFeedback_TakesHandles(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	port, retry, colour := w.billingNotes(t)
	find := func(query string, turn int64) map[string]string {
		result, err := w.Recall(t.Context(), &core.RecallRequest{Session: "s", Turn: turn, Query: query, RecallFilter: core.RecallFilter{Namespace: "ns"}})
		if err != nil {
			t.Fatal(err)
		}
		handles := map[string]string{}
		for i, m := range result.Memories {
			if turn == 0 && m.Handle != core.Handle(i) {
				t.Errorf("result %d has handle %q", i, m.Handle)
			}
			handles[m.ID] = m.Handle
		}
		return handles
	}
	first := find("port of the replica", 0)
	again := find("billing import stalls", 1)
	for id, handle := range first {
		if other, both := again[id]; both && other != handle {
			t.Errorf("%s is %s and %s in one turn", id, handle, other)
		}
	}
	result, err := w.Feedback(t.Context(), &core.FeedbackRequest{
		Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{first[port], retry},
		ToolOutcomes: []core.ToolOutcome{{MemoryID: again[retry], Tool: "psql", OK: true, Ref: "1"}},
	})
	if err != nil || !hasUse(result, port, false) || !hasUse(result, retry, false) || hasUse(result, colour, false) {
		t.Errorf("%+v, %v", result, err)
	}
	if m, err := w.Recall(t.Context(), &core.RecallRequest{Query: "port", RecallFilter: core.RecallFilter{Namespace: "ns"}}); err != nil || m.Memories[0].Handle != "" {
		t.Errorf("a recall without a turn: %+v, %v", m, err)
	}
}

func TestFeedback_RefusesWhatNoHandleNames(t *testing.T) {
	for _, used := range []string{"m0", "m3", "m01", "m-1", "M1", "m1 ", "m99999999999999999999", "m", "1"} {
		w := living(t, empty(t), nil, nil)
		a, b := w.observe(t, core.ObserveRequest{Content: "a"}).ID, w.observe(t, core.ObserveRequest{Content: "b"}).ID
		w.offer(t, "s", 1, a, b)
		_, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{used}})
		wantReason(t, err, sdk.Invalid, "not_recalled")
	}
}

// An id that looks like a handle names its memory.
func TestFeedback_AnIDComesBeforeAHandle(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	ids := []string{w.observe(t, core.ObserveRequest{ID: "m2", Content: "a"}).ID, w.observe(t, core.ObserveRequest{Content: "b"}).ID}
	w.offer(t, "s", 1, ids...)
	result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{"m2"}})
	if err != nil || !hasUse(result, ids[0], false) && slices.Contains(ids, "m2") {
		t.Errorf("%+v, %v", result, err)
	}
}
