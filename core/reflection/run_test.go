package reflection_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

// learned fills a namespace with three memories: m3, m2 and m1 of a reflection there.
func learned(b *bench) (oldest, middle, newest *core.Memory) {
	b.Helper()
	return b.observe("ns", "The build broke: a cache was stale", 0.3), b.observe("ns", "The build broke again: a cache was stale", 0.5), b.observe("ns", "Tests pass after the cache is cleared", 0.6)
}

const twoInsights = `{
	"insights": [
		{"content": "Stale caches break the build.", "importance": 9, "sources": ["m3", "m2", "m2", "m99"]},
		{"content": "Clear caches first.", "sources": ["m1"]},
		{"content": "  ", "sources": ["m1"]},
		{"content": "Out of nowhere", "sources": ["m7"]}],
	"procedures": [
		{"title": "Fix a stale build", "steps": ["Clear the cache", " ", "Build again", "Run the tests"], "importance": 99, "sources": ["m1", "m2"]},
		{"title": "Too short", "steps": ["One", "Two"], "sources": ["m1"]}]
}`

func TestRun_WritesWhatCitesItsSources(t *testing.T) {
	b := newBench(t)
	oldest, middle, newest := learned(b)
	g := &generator{questions: []string{"What breaks the build?"}, answers: []string{twoInsights}, usage: sdk.Usage{TokensIn: 10, TokensOut: 1}}
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns"})

	ids := func(list ...*core.Memory) (ids []string) {
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return ids
	}
	got := *done.Result
	for i := range got.Insights {
		got.Insights[i].MemoryID = ""
	}
	got.Procedures[0].MemoryID = ""
	question := "What breaks the build?"
	want := reflection.Result{
		InsightsCreated: 2, ProceduresCreated: 1, MemoriesAnalyzed: 3, Questions: []string{question}, Dropped: 3,
		Refused: map[string]int{}, Usage: sdk.Usage{TokensIn: 20, TokensOut: 2},
		Insights: []reflection.Insight{
			{Content: "Stale caches break the build.", Question: question, Importance: 0.7, Sources: ids(oldest, middle)},
			{Content: "Clear caches first.", Question: question, Importance: 0.7, Sources: ids(newest)},
		},
		Procedures: []reflection.Procedure{{
			Title: "Fix a stale build", Steps: []string{"Clear the cache", "Build again", "Run the tests"}, Question: question, Importance: 0.8, Sources: ids(newest, middle),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	written := b.written("ns")
	m := written["Fix a stale build\n1. Clear the cache\n2. Build again\n3. Run the tests"]
	if len(written) != 3 || m == nil || m.Kind != core.KindProcedural || m.Title != "Fix a stale build" || m.ReflectionDepth != 1 || m.Importance != 0.8 {
		t.Errorf("%+v", written)
	}
	if d := b.due("ns"); d.Observations != 0 || d.Importance != 0 || d.Hours != 0 {
		t.Errorf("afterwards %+v", d)
	}
	if p := b.problems(); len(p) > 0 {
		t.Error(p)
	}
	ask := g.asked[1]
	if ask.Max != 5 || ask.Question != question || len(ask.Memories) != 3 || !slices.ContainsFunc(ask.Memories, func(m reflection.Given) bool { return m.ID == "m1" && m.Content == newest.Content }) {
		t.Errorf("asked %+v", ask)
	}
}

func TestRun_SkipsWhatIsTooLittleOrTheSame(t *testing.T) {
	b := newBench(t)
	g := &generator{answers: []string{`{"insights": []}`}}
	b.observe("ns", "one", 0.5)
	b.observe("ns", "two", 0.5)
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns"})
	if done.Skipped != "insufficient observations (2 found, need at least 3)" || len(g.asked) > 0 || done.MemoriesAnalyzed != 2 {
		t.Errorf("%+v", done.Result)
	}
	if d := b.due("ns"); d.Observations != 2 || d.Hours != 0 {
		t.Errorf("a skipped reflection takes nothing and moves the hours: %+v", d)
	}
	b.clock.Advance(24 * time.Hour)
	if d := b.due("ns"); d.Due || d.Reason != "no observations since the last reflection" {
		t.Errorf("%+v", d)
	}
	b.observe("ns", "three", 0.5)
	if d := b.due("ns"); !d.Due {
		t.Errorf("%+v", d)
	}
	done = b.complete("job-2", g, reflection.Request{Namespace: "ns", Focus: "numbers"})
	if done.Skipped != "" || done.MemoriesAnalyzed != 3 || done.Questions[0] != "numbers" {
		t.Errorf("%+v", done.Result)
	}
	// The memories of the next one are those that came since.
	done = b.complete("job-3", g, reflection.Request{Namespace: "ns", Force: true})
	if done.Skipped != "insufficient observations (0 found, need at least 3)" {
		t.Errorf("%+v", done.Result)
	}
}

func TestRun_ReflectsOnTheSameMemoriesOnceADay(t *testing.T) {
	b := newBench(t)
	learned(b)
	g := &generator{answers: []string{`{"insights": []}`}}
	first, err := b.run("job-1", &steps{}, g, reflection.Request{Namespace: "ns"}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Another one chose the same memories before the first had completed.
	var second steps
	b.take(first, "ns")
	rewind(b)
	for _, force := range []bool{false, true} {
		second = steps{}
		done, err := b.run("job-2", &second, g, reflection.Request{Namespace: "ns", Force: force}).Do(t.Context())
		if err != nil || (done.Skipped == "same sources") == force {
			t.Errorf("force %v: %+v, %v", force, done.Result, err)
		}
	}
	b.clock.Advance(24 * time.Hour)
	if done, err := b.run("job-3", &steps{}, g, reflection.Request{Namespace: "ns"}).Do(t.Context()); err != nil || done.Skipped != "" {
		t.Errorf("after a day: %+v, %v", done.Result, err)
	}
}

// rewind makes the next reflection begin where the last one did.
func rewind(b *bench) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx core.Tx) error {
		s, err := reflection.ReadState(tx, "ns")
		if err != nil {
			return err
		}
		s.Since = nil
		return tx.Put([]byte("reflection-state/ns"), jsontext.MustEncode(s))
	})
	if err != nil {
		b.Fatal(err)
	}
}

func TestRun_ChoosesTheNewestAndTheMostImportant(t *testing.T) {
	b := newBench(t)
	var important []string
	for i := range 260 {
		importance := 0.5
		if i < 30 {
			importance = 0.9
		}
		m := b.observe("ns", fmt.Sprintf("memory %d", i), importance)
		if i < 30 {
			important = append(important, m.ID)
		}
	}
	g := &generator{answers: []string{`{"insights": []}`}}
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns"})
	if done.MemoriesAnalyzed != 200 || len(done.Memories) != 200 {
		t.Fatalf("%d memories", done.MemoriesAnalyzed)
	}
	for _, id := range important {
		if !slices.Contains(done.Memories, id) {
			t.Fatal("an important one is left out")
		}
	}
	// The 20 other most important ones are the newest, as are the 150 that fill it up.
	if g.asked[0].Memories[0].Content != "memory 259" || g.asked[0].Memories[169].Content != "memory 90" || g.asked[0].Memories[170].Content != "memory 29" {
		t.Errorf("%s, %s, %s", g.asked[0].Memories[0].Content, g.asked[0].Memories[169].Content, g.asked[0].Memories[170].Content)
	}
}

func TestRun_SharesTheQuota(t *testing.T) {
	b := newBench(t)
	learned(b)
	many := func(prefix string) string {
		var items []string
		for i := range 6 {
			items = append(items, fmt.Sprintf(`{"content": "%s fact %d", "sources": ["m1"]}`, prefix, i))
		}
		return `{"insights": [` + strings.Join(items, ",") + `]}`
	}
	g := &generator{questions: []string{"a?", "b?", "c?", "d?"}, answers: []string{many("a"), many("b"), many("c")}}
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns"})
	var asked []int
	for _, ask := range g.asked[1:] {
		asked = append(asked, ask.Max)
	}
	if diff := cmp.Diff([]int{2, 2, 1}, asked); diff != "" || done.InsightsCreated != 5 || done.Dropped != 13 || len(done.Questions) != 3 {
		t.Errorf("%v, %+v", asked, done.Result)
	}
	// If nothing is left, nothing is asked.
	b.observe("ns", "four", 1)
	b.observe("ns", "five", 1)
	b.observe("ns", "six", 1)
	g = &generator{questions: []string{"a?", "b?"}, answers: []string{many("x")}}
	if done := b.complete("job-2", g, reflection.Request{Namespace: "ns", MaxInsights: 1}); done.InsightsCreated != 1 || len(g.asked) != 2 {
		t.Errorf("%d asked, %+v", len(g.asked), done.Result)
	}
}

func TestRun_WritesNothingThatIsKnown(t *testing.T) {
	b := newBench(t)
	learned(b)
	b.observe("ns", "Tokens expire after thirty seconds", 0.5)
	g := &generator{answers: []string{`{"insights": [
		{"content": "The tokens expire after 30 s.", "sources": ["m1"]},
		{"content": "Tokens expire after 30 min", "sources": ["m1"]},
		{"content": "the token expires after 30 minutes", "sources": ["m1"]},
		{"content": "The build needs approvals", "sources": ["m1"]}]}`}}
	run := b.run("job-1", &steps{}, g, reflection.Request{Namespace: "ns"})
	run.Judge = judge(func(a, _ string) bool { return strings.Contains(a, "approvals") })
	done, err := run.Do(t.Context())
	if err != nil || done.Known != 3 || done.InsightsCreated != 1 || b.written("ns")["Tokens expire after 30 min"] == nil {
		t.Errorf("%+v, %v", done.Result, err)
	}
}

type judge func(a, b string) bool

func (j judge) Same(_ context.Context, a, b string) (bool, error) { return j(a, b), nil }

func TestRun_CountsRefusals(t *testing.T) {
	b := newBench(t)
	learned(b)
	b.set("ns", "max_reflection_depth=0")
	g := &generator{answers: []string{`{"insights": [{"content": "one", "sources": ["m1"]}, {"content": "two", "sources": ["m1"]}]}`}}
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns"})
	if diff := cmp.Diff(map[string]int{"depth_exceeded": 2}, done.Refused); diff != "" || done.InsightsCreated != 0 {
		t.Errorf("%+v", done.Result)
	}
	b.set("ns", "max_reflection_depth=3", "require_approval_above_depth=0")
	rewind(b)
	done = b.complete("job-2", g, reflection.Request{Namespace: "ns", Force: true})
	if done.Pending != 2 || done.InsightsCreated != 0 || len(b.written("ns")) > 0 {
		t.Errorf("%+v", done.Result)
	}
}

func TestRun_FindsAnotherTitle(t *testing.T) {
	b := newBench(t)
	learned(b)
	g := &generator{answers: []string{`{"insights": [
		{"title": "Caches", "content": "one", "sources": ["m1"]},
		{"title": "Caches", "content": "two", "sources": ["m1"]},
		{"title": "Caches", "content": "three", "sources": ["m1"]}]}`}}
	b.complete("job-1", g, reflection.Request{Namespace: "ns"})
	written := b.written("ns")
	if written["one"].Title != "Caches" || written["two"].Title != "Caches (2)" || written["three"].Title != "Caches (3)" {
		t.Errorf("%+v", written)
	}
}

func TestRun_AsksOnceMoreForWhatItCantRead(t *testing.T) {
	b := newBench(t)
	learned(b)
	g := &generator{answers: []string{`"I think that"`, "\"```json\\n{\\\"insights\\\": [{\\\"content\\\": \\\"one\\\", \\\"sources\\\": [\\\"m1\\\"]}]}\\n```\""}}
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns"})
	if done.InsightsCreated != 1 || done.Unparseable != nil || g.asked[1].Fault != "" || g.asked[2].Fault == "" {
		t.Errorf("%+v, %+v", done.Result, g.asked)
	}
	rewind(b)
	long := `"` + strings.Repeat("é", 300) + `"`
	g = &generator{answers: []string{long}}
	done, err := b.run("job-2", &steps{}, g, reflection.Request{Namespace: "ns", Force: true}).Do(t.Context())
	if sdk.ReasonOf(err) != "unparseable_output" || done.Unparseable == nil || len([]rune(done.Unparseable.Begins)) != 200 || done.Unparseable.Digest != core.Digest([]byte(long)) || len(g.asked) != 3 {
		t.Errorf("%+v, %v", done.Result, err)
	}
}

func TestRun_EndsAtItsBudget(t *testing.T) {
	b := newBench(t)
	learned(b)
	g := &generator{questions: []string{"a?", "b?", "c?"}, answers: []string{`{"insights": [{"content": "one", "sources": ["m1"]}]}`}, usage: sdk.Usage{TokensIn: 5, TokensOut: 5, CostUSD: 0.1}}
	run := b.run("job-1", &steps{}, g, reflection.Request{Namespace: "ns"})
	run.MaxTokens = 20
	done, err := run.Do(t.Context())
	if err != nil || !done.BudgetReached || done.InsightsCreated != 1 || len(g.asked) != 2 || done.Usage.TokensIn != 10 {
		t.Errorf("%+v, %v", done.Result, err)
	}
	rewind(b)
	run = b.run("job-2", &steps{}, g, reflection.Request{Namespace: "ns", DryRun: true})
	run.MaxCostUSD = 0.05
	if done, err := run.Do(t.Context()); err != nil || !done.BudgetReached {
		t.Errorf("%+v, %v", done.Result, err)
	}
}

func TestRun_DryRunWritesNothing(t *testing.T) {
	b := newBench(t)
	learned(b)
	before := *b.due("ns")
	g := &generator{answers: []string{twoInsights}}
	done := b.complete("job-1", g, reflection.Request{Namespace: "ns", DryRun: true})
	if !done.DryRun || done.InsightsCreated != 2 || done.Insights[0].MemoryID != "" || len(b.written("ns")) > 0 {
		t.Errorf("%+v", done.Result)
	}
	if after := *b.due("ns"); after.Observations != before.Observations || after.Importance != before.Importance {
		t.Errorf("%+v, before %+v", after, before)
	}
}

func TestRun_NeedsAGenerator(t *testing.T) {
	b := newBench(t)
	learned(b)
	if _, err := b.run("job-1", &steps{}, nil, reflection.Request{Namespace: "ns"}).Do(t.Context()); sdk.ReasonOf(err) != "no_generator" {
		t.Error(err)
	}
}

// failing fails at the n-th write, after it was made.
type failing struct {
	reflection.Writer
	failAt int
}

func (f *failing) Reflect(ctx context.Context, r *core.ReflectRequest) (*core.ReflectResult, error) {
	made, err := f.Writer.Reflect(ctx, r)
	if f.failAt--; f.failAt == 0 && err == nil {
		return nil, sdk.Errorf(sdk.Unavailable, "crashed", "the process ended")
	}
	return made, err
}

// Wherever a reflection is cut off, the next attempt asks nothing again and writes nothing
// twice, and has the same result.
func TestRun_GoesOnAfterACrash(t *testing.T) {
	questions := []string{"a?", "b?"}
	answers := []string{twoInsights, `{"insights": [{"content": "Clear the caches first!", "sources": ["m1"]}, {"content": "More", "sources": ["m2"]}]}`}
	for at := 1; ; at++ {
		b := newBench(t)
		learned(b)
		g := &generator{questions: questions, answers: slices.Clone(answers)}
		kept := &steps{failAt: at}
		first := b.run("job-1", kept, g, reflection.Request{Namespace: "ns"})
		first.Write = &failing{b.memories, at - 3}
		if at > 3 {
			kept.failAt = 0
		}
		_, err := first.Do(t.Context())
		crashed := sdk.ReasonOf(err) == "crashed"
		if err != nil && !crashed {
			t.Fatal(err)
		}
		b.clock.Advance(time.Hour)
		done, err := b.run("job-1", kept, g, reflection.Request{Namespace: "ns"}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.take(done, "ns")
		if len(b.written("ns")) != 4 || done.InsightsCreated != 3 || done.ProceduresCreated != 1 || done.Known != 1 || len(g.asked) != 3 {
			t.Errorf("cut off at %d: %d written, %d asked, %+v", at, len(b.written("ns")), len(g.asked), done.Result)
		}
		if !crashed {
			break
		}
	}
}
