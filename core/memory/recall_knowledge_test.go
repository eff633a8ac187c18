package memory_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func (w *world) known(t *testing.T, query string) []memory.RecalledKnowledge {
	t.Helper()
	found, err := w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Namespace: "ns", Query: query})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestKnowledgeIsRecalledByItself(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextPromote, .9), func(o *memory.Options) {
			hashed(o)
			o.Summarizer = summarizer(func(m *core.Memory) (string, error) { return "gist of " + m.Title, nil })
		})
		if got := w.known(t, "pool"); len(got) != 0 {
			t.Errorf("an empty store knows %+v", got)
		}
		w.observe(t, core.ObserveRequest{Title: "not promoted", Content: "pool the threads"})
		memory1, pools := w.promoted(t, core.ObserveRequest{Title: "pools", Content: "pool the connections"})
		_, newer := w.promoted(t, core.ObserveRequest{Title: "newer", Content: "pool connections by host"})
		found := w.known(t, "connection pool")
		if len(found) != 2 || found[0].Rank != 0 || found[1].Rank != 1 || found[0].Score != found[0].Why.Fused || found[0].Why.LexicalRank != 1 {
			t.Fatalf("%+v", found)
		}
		if got := w.known(t, "gist"); len(got) != 2 || got[0].Why.LexicalRank != 1 {
			t.Errorf("by their patterns: %+v", got)
		}
		filtered := func(q memory.KnowledgeQuery) int {
			t.Helper()
			q.Query = "connection pool"
			list, err := w.Knowledge.Recall(t.Context(), &q)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		w.promoted(t, core.ObserveRequest{Namespace: "ns/sub", Content: "pool below"})
		second := found[1].Score
		for i, c := range []struct {
			q    memory.KnowledgeQuery
			want int
		}{
			{memory.KnowledgeQuery{Namespace: "ns"}, 2}, {memory.KnowledgeQuery{Namespace: "ns", Subtree: true}, 3},
			{memory.KnowledgeQuery{Namespace: "ns", Subtree: true, Limit: 1}, 1}, {memory.KnowledgeQuery{Namespace: "other"}, 0},
			{memory.KnowledgeQuery{Namespace: "ns", MinScore: second}, 2}, {memory.KnowledgeQuery{Namespace: "ns", MinScore: second + 1e-6}, 1},
		} {
			if got := filtered(c.q); got != c.want {
				t.Errorf("query %d finds %d, want %d", i, got, c.want)
			}
		}
		all := w.recall(t, core.RecallRequest{Query: "pool", Limit: 10}).Memories
		if !slices.ContainsFunc(all, func(m core.Recalled) bool { return m.ID == memory1.ID && m.KnowledgeID == pools.ID }) {
			t.Errorf("a promoted memory isn't recalled with its knowledge: %+v", all)
		}
		if err := w.Knowledge.Supersede(t.Context(), pools.ID, newer.ID); err != nil {
			t.Fatal(err)
		}
		now := w.known(t, "connection pool")
		if len(now) != 1 || now[0].Knowledge.ID != newer.ID {
			t.Errorf("after the superseding: %+v", now)
		}
		fresh := living(t, s, nil, hashed)
		if diff := cmp.Diff(now, fresh.known(t, "connection pool")); diff != "" {
			t.Errorf("a reopened store:\n%s", diff)
		}
	})
}

func TestRecallKnowledgeRefuses(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	_, err := w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Namespace: "ns"})
	wantReason(t, err, sdk.Invalid, "query_invalid")
	_, err = w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Namespace: "", Query: "q"})
	wantReason(t, err, sdk.Invalid, "namespace_invalid")
	for _, least := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err = w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Namespace: "ns", Query: "q", MinScore: least})
		wantReason(t, err, sdk.Invalid, "min_score_invalid")
	}
	for limit, reason := range map[int]string{-1: "limit_invalid", 101: "limit_invalid", 100: ""} {
		_, err = w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Namespace: "ns", Query: "q", Limit: limit})
		if sdk.ReasonOf(err) != reason {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// runs are the namespaces of runs.
type runs map[string]string

func (r runs) RunNamespace(_ context.Context, id string) (string, error) { return r[id], nil }

func TestPluginsRecallInTheirRunsNamespace(t *testing.T) {
	w := living(t, openPebble(t), nil, func(o *memory.Options) {
		hashed(o)
		o.DepthBoost = 1.2
	})
	w.observe(t, core.ObserveRequest{Title: "a", Content: "word one", Attributes: core.Attributes{Tags: []string{"x"}}, Kind: core.KindSemantic})
	w.observe(t, core.ObserveRequest{Title: "b", Content: "word two"})
	w.observe(t, core.ObserveRequest{Title: "c", Content: "word", Namespace: "secret"})
	p := memory.Recaller{Memories: w.Memories, Runs: runs{"run": "ns"}}
	before := dump(t, w.store)
	r, err := p.Recall(t.Context(), "run", &sdk.RecallRequest{Query: "word"})
	if err != nil || len(r.Memories) != 2 || r.Memories[0].Namespace != "ns" || r.Memories[1].Namespace != "ns" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, q := range []sdk.RecallRequest{{Kinds: []string{"semantic"}}, {Tags: []string{"x"}}, {Limit: 1}} {
		q.Query = "a word"
		r, err = p.Recall(t.Context(), "run", &q)
		if err != nil || len(r.Memories) != 1 || r.Memories[0].Title != "a" || r.Memories[0].Score <= 0 || r.Memories[0].Score > 1 {
			t.Errorf("%+v: %+v, %v", q, r, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
		t.Errorf("plugins' recalls wrote:\n%s", diff)
	}
	// A reflection's score is raised above 1, which plugins don't see.
	w.reflect(t, core.ReflectRequest{SourceIDs: []string{r.Memories[0].ID}, Title: "d", Content: "word", Attributes: core.Attributes{Tags: []string{"deep"}}})
	r, err = p.Recall(t.Context(), "run", &sdk.RecallRequest{Query: "d\nword", Tags: []string{"deep"}})
	if err != nil || len(r.Memories) != 1 || r.Memories[0].Score != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, run := range []string{"", "another"} {
		_, err = p.Recall(t.Context(), run, &sdk.RecallRequest{Query: "word"})
		wantReason(t, err, sdk.Denied, "run_without_namespace")
	}
	_, err = p.Recall(t.Context(), "run", &sdk.RecallRequest{})
	wantReason(t, err, sdk.Invalid, "query_invalid")
}
