package memory_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/sdk"
)

// hashed sets the local embedder.
func hashed(o *memory.Options) { o.Embedder, o.DeferGate = embed.Hashed{}, true }

// recall asks in "ns", unless the request says otherwise.
func (w *world) recall(t *testing.T, r core.RecallRequest) *core.RecallResult {
	t.Helper()
	if r.Namespace == "" {
		r.Namespace = "ns"
	}
	result, err := w.Recall(t.Context(), &r)
	if err != nil {
		t.Fatalf("Recall(%+v): %v", r, err)
	}
	return result
}

// titles of what was recalled, in order.
func titles(r *core.RecallResult) string {
	var list []string
	for _, m := range r.Memories {
		list = append(list, m.Title)
	}
	return strings.Join(list, ", ")
}

// observeSamples stores memories to recall.
func (w *world) observeSamples(t *testing.T) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, c := range []struct{ title, content string }{
		{"uploads", "retry the upload with a longer timeout"},
		{"certificates", "the certificate of the gateway expires in March"},
		{"logs", "the disk fills when logs aren't rotated"},
	} {
		ids[c.title] = w.observe(t, core.ObserveRequest{Title: c.title, Content: c.content}).ID
	}
	return ids
}

func TestWhatIsWrittenIsRecalledAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, hashed)
		if got := w.recall(t, core.RecallRequest{Query: "upload timeout"}); got.Memories == nil || len(got.Memories) != 0 {
			t.Errorf("an empty store recalls %v", titles(got))
		}
		ids := w.observeSamples(t)
		first := func(want string, query string) {
			t.Helper()
			if got := titles(w.recall(t, core.RecallRequest{Query: query})); strings.Split(got, ", ")[0] != want {
				t.Errorf("%q recalls %q, want %q first", query, got, want)
			}
		}
		first("uploads", "uploading times out")
		first("certificates", "expired gateway certificates")
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{ids["logs"]}, Title: "rotation", Content: "rotate logs daily"})
		first("rotation", "log rotation")
		if err := w.MoveByDream(t.Context(), ids["uploads"], core.StateArchived, ""); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.recall(t, core.RecallRequest{Query: "upload"}).Memories {
			if m.Archived != (m.ID == ids["uploads"]) {
				t.Errorf("archived %t: %+v", m.Archived, m)
			}
		}
		if _, err := w.Restore(t.Context(), ids["uploads"]); err != nil {
			t.Fatal(err)
		}
		found := w.recall(t, core.RecallRequest{Query: "upload"}).Memories[0]
		if found.ID != ids["uploads"] || found.Why.LexicalRank != 1 {
			t.Errorf("after its restoration %s with %+v", found.Title, found.Why)
		}
		if err := w.Remove(t.Context(), ids["certificates"]); err != nil {
			t.Fatal(err)
		}
		if got := titles(w.recall(t, core.RecallRequest{Query: "gateway certificate"})); strings.Contains(got, "certificates") {
			t.Errorf("a purged memory is recalled: %s", got)
		}
	})
}

func TestARecallOfASessionIsATurn(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, hashed)
		ids := w.observeSamples(t)
		before := dump(t, s)
		w.recall(t, core.RecallRequest{Query: "the upload"})
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("a recall without a session wrote:\n%s", diff)
		}
		request := core.RecallRequest{Session: "s", Turn: 1, Query: "the upload to the gateway", Limit: 2}
		r := w.recall(t, request)
		m := w.get(t, ids["uploads"])
		if r.Session != "s" || r.Turn != 1 || len(r.Memories) != 2 || m.AccessCount != 1 || m.LastAccessedAt == nil || w.events("agent.memory.recalled") != 1 {
			t.Errorf("%d recalled, %d accesses, %d events", len(r.Memories), m.AccessCount, w.events("agent.memory.recalled"))
		}
		if diff := cmp.Diff(m, r.Memories[0].Memory); diff != "" {
			t.Errorf("what was returned isn't what is stored:\n%s", diff)
		}
		w.recall(t, request)
		if m := w.get(t, ids["uploads"]); m.AccessCount != 1 {
			t.Errorf("the same turn counted %d accesses", m.AccessCount)
		}
		result := w.feedback(t, "s", 1, core.OutcomeSuccess, ids["uploads"])
		if len(result.Items) != 2 || result.Items[0].Q <= 0.5 || result.Items[1].Q != 0.5 {
			t.Errorf("feedback %+v", result.Items)
		}
		again := w.recall(t, core.RecallRequest{Query: request.Query}).Memories[0]
		if again.Why.Q != .6 || again.Why.Fused != r.Memories[0].Why.Fused || again.Score <= r.Memories[0].Score {
			t.Errorf("after a success %+v, before %+v", again, r.Memories[0])
		}
	})
}

// Two memories are equally like the query; the one that helped comes first.
func TestRecallLearnsFromOutcomes(t *testing.T) {
	w := living(t, openPebble(t), nil, nil)
	for id, content := range map[string]string{"memory-a": "restart the service", "memory-b": "restart the service!"} {
		w.observe(t, core.ObserveRequest{ID: id, Content: content})
	}
	first := func(r core.RecallRequest, want string) {
		t.Helper()
		r.Query = "restart the service"
		if got := w.recall(t, r).Memories; len(got) != 2 || got[0].ID != want {
			t.Errorf("%+v comes first, want %s", got[0], want)
		}
	}
	first(core.RecallRequest{Session: "s", Turn: 1}, "memory-a")
	w.feedback(t, "s", 1, core.OutcomeSuccess, "memory-b")
	first(core.RecallRequest{Session: "s", Turn: 2}, "memory-b")
	w.feedback(t, "s", 2, core.OutcomeFailure, "memory-b")
	first(core.RecallRequest{}, "memory-a")
}

func TestRecallWidensWithTheBias(t *testing.T) {
	cases := []struct {
		name     string
		outcomes []core.Outcome
		limit    int
		want     int
	}{
		{"a new session", nil, 0, 5},
		{"one failure", []core.Outcome{core.OutcomeFailure}, 0, 5},
		{"two failures", []core.Outcome{core.OutcomeFailure, core.OutcomeFailure}, 0, 8},
		{"two successes", []core.Outcome{core.OutcomeSuccess, core.OutcomeSuccess}, 0, 5},
		{"three successes", []core.Outcome{core.OutcomeSuccess, core.OutcomeSuccess, core.OutcomeSuccess}, 0, 3},
		{"a caller's limit stands", []core.Outcome{core.OutcomeFailure, core.OutcomeFailure}, 2, 2},
		{"a limit above what is looked at", nil, 35, 35},
		{"also a larger one", []core.Outcome{core.OutcomeSuccess, core.OutcomeSuccess, core.OutcomeSuccess}, 11, 11},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, openPebble(t), hashed)
			for i := range 35 {
				w.observe(t, core.ObserveRequest{Title: "t", Content: fmt.Sprint("word ", i)})
			}
			for i, outcome := range c.outcomes {
				w.recall(t, core.RecallRequest{Session: "s", Turn: int64(i + 1), Query: "word", Limit: 1})
				w.feedback(t, "s", int64(i+1), outcome)
			}
			got := w.recall(t, core.RecallRequest{Session: "s", Turn: 9, Query: "word", Limit: c.limit})
			if len(got.Memories) != c.want {
				t.Errorf("%d memories, want %d", len(got.Memories), c.want)
			}
		})
	}
}

func TestRecallFilters(t *testing.T) {
	w := living(t, openPebble(t), nil, hashed)
	for _, r := range []core.ObserveRequest{
		{Title: "plain"}, {Title: "semantic", Kind: core.KindSemantic}, {Title: "tagged", Attributes: core.Attributes{Tags: []string{"x", "y"}}},
		{Title: "robot's", Attributes: core.Attributes{AgentID: "robot"}}, {Title: "below", Namespace: "ns/below"}, {Title: "another", Namespace: "ns2"},
	} {
		r.Content = "word " + r.Title
		w.observe(t, r)
	}
	w.pending(t, core.ObserveRequest{Title: "failed", Content: "word failed"})
	cases := []struct {
		name   string
		filter core.RecallFilter
		want   string
	}{
		{"kind", core.RecallFilter{Kinds: []core.MemoryKind{core.KindSemantic}}, "semantic"},
		{"tags", core.RecallFilter{Tags: []string{"y", "x"}}, "tagged"},
		{"agent", core.RecallFilter{AgentID: "robot"}, "robot's"},
		{"state", core.RecallFilter{States: []core.MemoryState{core.StateRevalidatePending}}, "failed"},
		{"subtree", core.RecallFilter{Subtree: true}, "plain, semantic, tagged, robot's, below, failed"},
		{"namespace", core.RecallFilter{Namespace: "ns/below"}, "below"},
		{"score", core.RecallFilter{MinScore: 0.99}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := w.recall(t, core.RecallRequest{Query: "word", RecallFilter: c.filter, Limit: 20})
			got := map[string]bool{}
			for _, title := range strings.Split(titles(r), ", ") {
				got[title] = true
			}
			want := map[string]bool{}
			for _, title := range strings.Split(c.want, ", ") {
				want[title] = true
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %q, want %q", titles(r), c.want)
			}
		})
	}
}

func TestRecallReportsAllThatIsWrong(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	cases := []struct {
		name string
		r    core.RecallRequest
		says []string
	}{
		{"blank", core.RecallRequest{Query: " \n"}, []string{"query is blank"}},
		{"not UTF-8", core.RecallRequest{Query: "a\xff"}, []string{"query isn't UTF-8"}},
		{"too long", core.RecallRequest{Query: strings.Repeat("a", 65_537)}, []string{"query has 65537 bytes"}},
		{"a turn without a session", core.RecallRequest{Query: "q", Turn: 1}, []string{"session"}},
		{"a limit", core.RecallRequest{Query: "q", Limit: 101}, []string{"limit is 101"}},
		{"a state", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{States: []core.MemoryState{core.StateArchived}}}, []string{"states"}},
		{"a kind", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{Kinds: []core.MemoryKind{"odd"}}}, []string{"kinds"}},
		{"a negative limit", core.RecallRequest{Query: "q", Limit: -1}, []string{"limit is -1"}},
		{"a minimum that is no number", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{MinScore: math.NaN()}}, []string{"min_score is NaN"}},
		{"an infinite minimum", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{MinScore: math.Inf(-1)}}, []string{"min_score is -Inf"}},
		{"a tag", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{Tags: []string{""}}}, []string{"tags"}},
		{"an agent", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{AgentID: "a\nb"}}, []string{"agent_id"}},
		{"several", core.RecallRequest{Session: "a/b", Turn: -1, Limit: -1}, []string{"session", "turn", "query", "limit"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.r.Namespace = "ns"
			_, err := w.Recall(t.Context(), &c.r)
			if sdk.CodeOf(err) != sdk.Invalid {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q doesn't say %q", err, part)
				}
			}
		})
	}
	w.recall(t, core.RecallRequest{Query: strings.Repeat("a", 65_536), Limit: 100}) // at the bounds
	_, err := w.Recall(t.Context(), &core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{Namespace: "/"}})
	wantReason(t, err, sdk.Invalid, "namespace_invalid")
}

// failing is an embedder that can be made to fail.
type failing struct {
	embed.Hashed
	err error
}

func (f *failing) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Hashed.Embed(ctx, texts)
}

func TestWithoutAnEmbedderWordsDecide(t *testing.T) {
	e := &failing{}
	w := newWorld(t, openPebble(t), func(o *memory.Options) { o.Embedder = e })
	w.observeSamples(t)
	e.err = sdk.Errorf(sdk.Unavailable, "endpoint_down", "no route")
	r := w.recall(t, core.RecallRequest{Query: "rotated logs"})
	if r.EmbeddingFailure != "endpoint_down" || titles(r) != "logs" || r.Memories[0].Why.Similarity != nil {
		t.Errorf("%q recalled, failure %q, %+v", titles(r), r.EmbeddingFailure, r.Memories)
	}
	none := newWorld(t, w.store, nil)
	r = none.recall(t, core.RecallRequest{Query: "rotated logs"})
	if r.EmbeddingFailure != "" || titles(r) != "logs" || r.Memories[0].Why.LexicalRank != 1 {
		t.Errorf("%q recalled, failure %q", titles(r), r.EmbeddingFailure)
	}
}
