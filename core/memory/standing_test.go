package memory_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

// TestRecall_SaysHowAMemoryDid to its caller, in the words of a prompt.
func TestRecall_SaysHowAMemoryDid(t *testing.T) {
	const success, failure, partial = core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial
	for name, c := range map[string]struct {
		uses []core.Outcome
		want string
	}{
		"unused":            {nil, "new"},
		"passed over":       {[]core.Outcome{""}, "new"},
		"a success":         {[]core.Outcome{success}, "proven 1 of 1"},
		"a partial success": {[]core.Outcome{partial}, "proven 1 of 1"},
		"a failure":         {[]core.Outcome{failure}, "failed 1 of 1"},
		"half":              {[]core.Outcome{failure, success}, "proven 1 of 2"},
		"more failures":     {[]core.Outcome{failure, success, failure}, "failed 2 of 3"},
		"mostly well":       {[]core.Outcome{success, "", success, failure, success, success}, "proven 4 of 5"},
		"its last ten": {
			[]core.Outcome{failure, success, success, success, success, success, success, success, success, success, success}, "proven 10 of 10",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := living(t, empty(t), nil, nil)
			id := w.observe(t, core.ObserveRequest{Content: "The ferry leaves from pier 4"}).ID
			for i, outcome := range c.uses {
				w.live(t, "s", int64(i+1), id, outcome)
			}
			if r := w.recall(t, core.RecallRequest{Query: "ferry"}); len(r.Memories) != 1 || r.Memories[0].Record != c.want {
				t.Errorf("it is described as %+v", r.Memories)
			}
		})
	}
}

// TestRecall_NamesWhatContradictsAMemory by its handle in the turn.
func TestRecall_NamesWhatContradictsAMemory(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	old, now := w.observe(t, core.ObserveRequest{Content: "The ferry leaves from pier 4"}).ID, w.observe(t, core.ObserveRequest{Content: "The ferry leaves from pier 9"}).ID
	_, err := w.Link(t.Context(), &memory.LinkRequest{From: now, Relation: core.RelationContradicts, To: old})
	must(t, err)
	r := w.recall(t, core.RecallRequest{Query: "ferry pier", Session: "s", Turn: 1})
	handles := map[string]string{}
	for _, m := range r.Memories {
		handles[m.ID] = m.Handle
	}
	for _, m := range r.Memories {
		want := "new"
		if m.ID == old {
			want = "contradicted by " + handles[now]
		}
		if m.Record != want {
			t.Errorf("%s is described as %q, want %q", m.ID, m.Record, want)
		}
	}
}

// TestRecall_KnowsFamiliesAndQuestions of what it returns.
func TestRecall_KnowsFamiliesAndQuestions(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	say := func(content string) string {
		return w.observe(t, core.ObserveRequest{Content: content, Attributes: core.Attributes{Metadata: []byte(`{"source":"talk"}`)}}).ID
	}
	question := say("Where did you move to in spring?")
	answer := say("To Berlin, near the park.")
	say("It rained all day.")
	insight, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{answer}, Title: "home", Content: "Home is Berlin now."})
	must(t, err)
	seen := map[string]core.Recalled{}
	for _, m := range w.recall(t, core.RecallRequest{Query: "Berlin", Limit: 9}).Memories {
		seen[m.ID] = m
	}
	if got := seen[insight.ID]; !slices.Equal(got.About, []string{answer}) || got.Question != "" {
		t.Errorf("the insight is %+v", got)
	}
	if got := seen[answer]; got.Question != question || len(got.About) > 0 {
		t.Errorf("the answer is %+v", got)
	}
	// A question that was put another way since isn't shown as the present one.
	w.link(t, w.observe(t, core.ObserveRequest{Content: "Where did you move in spring or summer?"}).ID, core.RelationSupersedes, question)
	for _, all := range []bool{false, true} {
		request := core.RecallRequest{Query: "Berlin", Limit: 9}
		request.IncludeSuperseded = all
		for _, m := range w.recall(t, request).Memories {
			if m.ID == answer && (m.Question != "") != all {
				t.Errorf("with superseded ones %t, the question is %q", all, m.Question)
			}
		}
	}
}
