package memory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
)

// graph lets a memory do all the work of a workflow, or none of it.
func graph(id string, reached bool) *core.WorkflowDAG {
	node := "lost"
	if reached {
		node = "b"
	}
	return &core.WorkflowDAG{
		Workflow: "of-" + id, Entry: []string{"a"}, Exits: []string{"c"}, Edges: [][2]string{{"a", "b"}, {"b", "c"}},
		Memories: map[string][]string{id: {node}},
	}
}

// observeScript stores the memories of the script, by what happens to them.
func (g *governed) observeScript(t *testing.T) {
	t.Helper()
	for _, id := range []string{"useless", "useful", "plain"} {
		g.observeNamed(t, id)
	}
}

// observeNamed stores a memory whose texts all name it.
func (g *governed) observeNamed(t *testing.T, id string) {
	t.Helper()
	g.observe(t, core.ObserveRequest{
		ID: id, Namespace: "a/b", Title: "title of " + id, Content: "content of " + id, Attributes: core.Attributes{Tags: []string{"tag-" + id}, AgentID: "alice", Metadata: []byte(`{"of":"` + id + `"}`)}, IdempotencyKey: "key-" + id,
	})
}

// use takes a memory through turns of a session, each with the outcome of a tool.
func (g *governed) use(t *testing.T, id, session string, turns int64, tool core.ToolOutcome) (last *core.FeedbackResult) {
	t.Helper()
	for turn := int64(1); turn <= turns; turn++ {
		g.clock.Advance(time.Minute)
		tool.Tool, tool.Ref = "test", fmt.Sprint("log:", turn)
		r := core.RecallRequest{Session: session, Turn: turn, Query: "content of " + id, Limit: 1}
		r.Namespace, r.Tags = "a/b", []string{"tag-" + id}
		last = g.turn(t, r, core.FeedbackRequest{Used: []string{id}, ToolOutcomes: []core.ToolOutcome{tool}, AgentID: "alice"})
	}
	return last
}

// purge has the gate purge "useless".
func (g *governed) purge(t *testing.T) {
	t.Helper()
	if _, err := g.evidence.RecordDAG(t.Context(), graph("useless", false)); err != nil {
		t.Fatal(err)
	}
	done := g.use(t, "useless", "failing", 3, core.ToolOutcome{})
	if len(done.Revalidate) != 1 {
		t.Fatalf("the third failure led to %+v", done.Revalidate)
	}
}

// promote makes the gate promote a memory, and returns its entry.
func (g *governed) promote(t *testing.T, id string) *core.Knowledge {
	t.Helper()
	if _, err := g.evidence.RecordDAG(t.Context(), graph(id, true)); err != nil {
		t.Fatal(err)
	}
	g.use(t, id, id+"-1", 8, core.ToolOutcome{OK: true, Recovered: true})
	done := g.use(t, id, id+"-2", 1, core.ToolOutcome{OK: true, Recovered: true})
	if len(done.Revalidate) != 1 {
		t.Fatalf("success in a second session led to %+v", done.Revalidate)
	}
	p, err := g.Knowledge.Promotion(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	k, err := g.Knowledge.Get(t.Context(), p.KnowledgeID)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// script is a little of everything that is done with memories.
func (g *governed) script(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	g.set(t, "*", "max_reflection_depth=2")
	g.set(t, "a", "require_approval_above_depth=1", "limits.max_memories=50")
	g.observeScript(t)
	g.observeScript(t) // the same requests again
	first := g.reflect(t, core.ReflectRequest{SourceIDs: []string{"useless", "plain"}, Title: "first", Content: "what both say", IdempotencyKey: "r"})
	asked := g.reflect(t, core.ReflectRequest{SourceIDs: []string{first.ID}, Title: "second", Content: "on the first"})
	other := g.reflect(t, core.ReflectRequest{SourceIDs: []string{first.ID}, Title: "third", Content: "on the first too"})
	second, err := g.Approve(ctx, asked.PendingID)
	must(t, err)
	_, err = g.Reject(ctx, other.PendingID, "no")
	must(t, err)
	_, err = g.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{second.ID}, Title: "too deep", Content: "c"})
	wantReason(t, err, "denied", "depth_exceeded")
	_, err = g.Link(ctx, &memory.LinkRequest{From: "plain", Relation: "contradicts", To: "useless", Metadata: []byte(`{"b":1,"a":2}`)})
	must(t, err)
	must(t, g.MoveByDream(ctx, "plain", core.StateArchived, ""))
	_, err = g.Restore(ctx, "plain")
	must(t, err)
	_, err = g.evidence.RecordTools(ctx, []core.ToolOutcome{{MemoryID: "plain", Session: "x", Turn: 1, Tool: "make", Ref: "r"}})
	must(t, err)
	g.purge(t)
	g.promote(t, "useful")
	_, err = g.Gate.Sweep(ctx, "a/b", nil)
	must(t, err)
	_, err = g.settings.Unset(ctx, "a", "limits.max_memories")
	must(t, err)
	g.written(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheSameScriptExportsTheSame runs everything twice on each engine, in new
// programs, and compares what "store export" writes byte for byte.
func TestTheSameScriptExportsTheSame(t *testing.T) {
	play := func(t *testing.T, s core.Store) string {
		g := newGoverned(t, s, nil)
		g.script(t)
		g.sound(t)
		return g.export(t)
	}
	want := play(t, empty(t))
	for _, prefix := range []string{"memory", "link", "turn", "gate-decision", "knowledge", "promotion", "evidence-dag", "governance", "decision", "memory-purged"} {
		if !strings.Contains(want, `"key":"`+prefix+"/") {
			t.Errorf("the script makes nothing below %s/", prefix)
		}
	}
	for range coretest.Cases(1, 2) {
		onEngines(t, func(t *testing.T, s core.Store) {
			if diff := cmp.Diff(want, play(t, s)); diff != "" {
				t.Errorf("the exports differ (-first +second):\n%s", diff)
			}
		})
	}
}

// TestNothingOfAPurgedMemoryIsLeft scans all that the store holds, the policies'
// decisions too, for what a purged reflection said.
func TestNothingOfAPurgedMemoryIsLeft(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		g := newGoverned(t, s, nil)
		g.set(t, "a", "require_approval_above_depth=0")
		g.observe(t, core.ObserveRequest{ID: "source", Namespace: "a/b", Content: "what it is made of"})
		asked := g.reflect(t, core.ReflectRequest{
			SourceIDs: []string{"source"}, Title: "secret title", Content: "secret content", Attributes: core.Attributes{Tags: []string{"secret-tag"}, Metadata: []byte(`{"m":"secret metadata"}`)}, IdempotencyKey: "k",
		})
		made, err := g.Approve(t.Context(), asked.PendingID)
		must(t, err)
		_, err = g.evidence.RecordDAG(t.Context(), graph(made.ID, false))
		must(t, err)
		above := g.reflect(t, core.ReflectRequest{SourceIDs: []string{made.ID}, Title: "above", Content: "what follows from it"})
		top, err := g.Approve(t.Context(), above.PendingID)
		must(t, err)
		var last *core.FeedbackResult
		for turn := int64(1); turn <= 3; turn++ {
			r := core.RecallRequest{Session: "s", Turn: turn, Query: "secret content"}
			r.Namespace, r.Tags = "a/b", []string{"secret-tag"}
			last = g.turn(t, r, core.FeedbackRequest{Used: []string{made.ID}, ToolOutcomes: []core.ToolOutcome{{Tool: "test"}}})
		}
		_, err = g.Get(t.Context(), made.ID)
		wantReason(t, err, "not_found", "memory_purged")
		want := []core.GivenTo{{MemoryID: made.ID, Runs: []string{}, Reflections: []string{top.ID}}}
		if copied, ok := s.(core.ScrubberWithCopies); ok {
			want[0].RetainedIn = copied.RetainedIn()
		}
		if diff := cmp.Diff(want, last.Purged); diff != "" {
			t.Errorf("the answer says who was given it (-want +got):\n%s", diff)
		}
		g.written(t)
		g.lacks(t, "secret")
		g.sound(t)
		r := core.RecallRequest{Query: "secret content"}
		r.Namespace = "a/b"
		for _, found := range g.recall(t, r).Memories {
			if found.ID == made.ID {
				t.Error("it is still recalled")
			}
		}
	})
}

// TestTheNamespacesSettingsDecide takes memories through turns under weights and thresholds
// that aren't the defaults.
func TestTheNamespacesSettingsDecide(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.set(t, "fast", "retention.w_hit=1", "retention.w_utility=0", "retention.w_miss=0.1", "retention.w_stale=0.01",
		"retention.active_threshold=0.2", "retention.revalidate_threshold=-5", "retention.hysteresis=0.3")
	g.set(t, "slow", "retention.revalidate_threshold=-1")
	g.set(t, "kind", "retention.active_threshold=0.01", "retention.revalidate_threshold=0")
	for _, c := range []struct{ namespace, turns, states string }{
		// 1, then .4737 − .1 − .01, then .2989 − .2 − .02, and then .5028 and more: back up it takes .5, and 10 turns
		{"fast", "S--SSSSSSSSSS", "active active" + strings.Repeat(" cooling", 10) + " active"},
		{"slow", "------", "open open open open cooling cooling"}, // by default the gate's at the sixth
		{"kind", "FFF", "active active active"},                   // the gate retains at .038, which is cooling by default
	} {
		id := g.observe(t, core.ObserveRequest{Namespace: c.namespace, Content: "c"}).ID
		var states []string
		for i, how := range c.turns {
			g.live(t, c.namespace, int64(i), id, map[rune]core.Outcome{'S': core.OutcomeSuccess, 'F': core.OutcomeFailure}[how])
			states = append(states, string(g.get(t, id).State))
		}
		if got := strings.Join(states, " "); got != c.states {
			t.Errorf("%s: %s, want %s", c.namespace, got, c.states)
		}
	}
	g.written(t)
}

// TestTheClockAloneChangesNothing lets 10,000 hours pass over memories in every
// state that a policy looks at; the same calls in no time leave the same states.
func TestTheClockAloneChangesNothing(t *testing.T) {
	lives := func(idle time.Duration) map[string]string {
		g := newGoverned(t, empty(t), nil)
		g.observeScript(t)
		g.purge(t)
		g.use(t, "useful", "s1", 5, core.ToolOutcome{OK: true})
		for range 2 {
			g.clock.Advance(idle)
			_, err := g.Gate.Sweep(context.Background(), "a/b", nil)
			must(t, err)
		}
		g.use(t, "plain", "s3", 2, core.ToolOutcome{})
		states := map[string]string{}
		for _, id := range []string{"useful", "plain"} {
			m := g.get(t, id)
			states[id] = fmt.Sprintf("%s %+v", m.State, m.Signals)
		}
		g.written(t)
		return states
	}
	if diff := cmp.Diff(lives(0), lives(5000*time.Hour)); diff != "" {
		t.Errorf("10,000 idle hours (-none +idle):\n%s", diff)
	}
}
