package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// act is something that a caller does.
type act func(ctx context.Context) error

// changing are all operations that write: what leads to one, and the events that say
// that it was done.
var changing = []struct {
	name   string
	events string
	ready  func(t *testing.T, g *governed) act
}{
	{"Observe", "agent.memory.observed", func(_ *testing.T, g *governed) act {
		return func(ctx context.Context) error {
			_, err := g.Observe(ctx, &core.ObserveRequest{Namespace: "ns", Content: "c"})
			return err
		}
	}},
	{"ObserveAll", "agent.memory.observed", func(_ *testing.T, g *governed) act {
		return func(ctx context.Context) error {
			_, _, err := g.ObserveAll(ctx, []*core.ObserveRequest{{Namespace: "ns", Content: "c"}, {Namespace: "ns", Content: "d"}})
			return err
		}
	}},
	{"Reflect", "agent.memory.reflected", func(t *testing.T, g *governed) act { return reflects(t, g) }},
	{"Reflect", "agent.reflection.pending", func(t *testing.T, g *governed) act {
		g.set(t, "a/b", "require_approval_above_depth=0")
		return reflects(t, g)
	}},
	{"Reflect", "reflection.depth_exceeded", func(t *testing.T, g *governed) act {
		g.set(t, "a/b", "max_reflection_depth=0")
		refused := reflects(t, g)
		return func(ctx context.Context) error {
			if err := refused(ctx); sdk.ReasonOf(err) != "depth_exceeded" {
				return err
			}
			return nil
		}
	}},
	{"Approve", "agent.memory.reflected", func(t *testing.T, g *governed) act {
		id := waits(t, g)
		return func(ctx context.Context) error { _, err := g.Approve(ctx, id); return err }
	}},
	{"Reject", "agent.reflection.rejected", func(t *testing.T, g *governed) act {
		id := waits(t, g)
		return func(ctx context.Context) error { _, err := g.Reject(ctx, id, "no"); return err }
	}},
	{"Link", "agent.memory.linked", func(t *testing.T, g *governed) act {
		g.observeScript(t)
		return func(ctx context.Context) error {
			_, err := g.Link(ctx, &memory.LinkRequest{From: "plain", Relation: "contradicts", To: "useless"})
			return err
		}
	}},
	{"Recall", "agent.memory.recalled", func(t *testing.T, g *governed) act {
		g.observeScript(t)
		return func(ctx context.Context) error { return recalls(ctx, g) }
	}},
	{"Feedback", "agent.evidence.tool_recorded agent.memory.evolution.applied", func(t *testing.T, g *governed) act {
		g.observeScript(t)
		return func(ctx context.Context) error {
			if err := recalls(ctx, g); err != nil { // a turn belongs to its session's owner
				return err
			}
			return feeds(ctx, g, "")
		}
	}},
	{"Dream", "agent.memory.rewritten agent.dream.completed", func(t *testing.T, g *governed) act {
		g.dated(t)
		return func(ctx context.Context) error {
			_, err := g.Dreams.Run(ctx, memory.DreamRequest{Namespace: "ns", Mode: memory.Always}, nil)
			return err
		}
	}},
	{"StoreDream", "agent.records.written", func(t *testing.T, g *governed) act {
		plan := g.dated(t)
		return func(ctx context.Context) error { _, err := g.Dreams.Store(ctx, plan, memory.Always); return err }
	}},
	{"ApplyDream", "agent.memory.rewritten agent.dream.completed", func(t *testing.T, g *governed) act {
		run, err := g.Dreams.Store(t.Context(), g.dated(t), memory.Always)
		must(t, err)
		return func(ctx context.Context) error { _, err := g.Dreams.Apply(ctx, run.ID, nil); return err }
	}},
	{"UndoDream", "agent.memory.rewritten agent.dream.undone", func(t *testing.T, g *governed) act {
		run, err := g.Dreams.Store(t.Context(), g.dated(t), memory.Always)
		must(t, err)
		_, err = g.Dreams.Apply(t.Context(), run.ID, nil)
		must(t, err)
		return func(ctx context.Context) error { _, err := g.Dreams.Undo(ctx, run.ID, 0); return err }
	}},
	{"BeginTurn", "agent.records.written", func(_ *testing.T, g *governed) act {
		return func(ctx context.Context) error {
			return g.Sessions.BeginTurn(ctx, core.TurnRef{Session: "s", Turn: 1}, "ns")
		}
	}},
	{"ResetSession", "agent.session.window_entered", func(t *testing.T, g *governed) act {
		g.observeScript(t)
		return func(ctx context.Context) error {
			if err := recalls(ctx, g); err != nil {
				return err
			}
			_, err := g.Sessions.Reset(ctx, "s")
			return err
		}
	}},
	{"ResumeSession", "agent.session.window_entered", func(t *testing.T, g *governed) act {
		g.observeScript(t)
		return func(ctx context.Context) error {
			if err := recalls(ctx, g); err != nil {
				return err
			}
			if _, err := g.Sessions.Reset(ctx, "s"); err != nil {
				return err
			}
			_, err := g.Sessions.Resume(ctx, "s", 1)
			return err
		}
	}},
	{"SummarizeWindow", "agent.session.window_summarized", func(_ *testing.T, g *governed) act {
		return func(ctx context.Context) error {
			if err := g.Sessions.BeginTurn(ctx, core.TurnRef{Session: "s", Turn: 1}, "ns"); err != nil {
				return err
			}
			if _, err := g.Feedback(ctx, &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Summary: "one"}); err != nil {
				return err
			}
			said := []memory.TurnSummary{{Turn: 1, Text: "one"}}
			_, err := g.Memories.Sessions.SummarizeWindow(ctx, &memory.SummarizedWindow{
				Session: "s", Window: 1, WindowSummary: memory.WindowSummary{Through: 1, Turns: memory.DigestOfTurns(said), Text: "All of it."},
			})
			return err
		}
	}},
	{"Sweep", "agent.memory.swept agent.memory.lifecycle.transition", func(t *testing.T, g *governed) act {
		idle := g.observe(t, core.ObserveRequest{Content: "idle"})
		g.live(t, "s", 1, idle.ID, core.OutcomeSuccess)
		g.live(t, "s", 2, idle.ID, "")
		g.live(t, "s", 3, idle.ID, "")
		g.turnsOfOthers(t, "others", 20)
		return func(ctx context.Context) error { _, err := g.Gate.Sweep(ctx, "ns", nil); return err }
	}},
	{"Sweep", "agent.memory.revalidate.started agent.memory.purged", func(t *testing.T, g *governed) act {
		m, _ := newGoverned(t, g.store, deferred).failing(t)
		_, err := g.evidence.RecordDAG(t.Context(), graph(m.ID, false))
		must(t, err)
		return func(ctx context.Context) error { _, err := g.Gate.Sweep(ctx, "ns", nil); return err }
	}},
	{"Restore", "agent.memory.lifecycle.transition", func(t *testing.T, g *governed) act {
		g.observeInState(t, "m", core.StateArchived)
		return func(ctx context.Context) error { _, err := g.Restore(ctx, "m"); return err }
	}},
	{"Reembed", "agent.memory.reembedded", func(t *testing.T, g *governed) act {
		g.observeNamed(t, "m")
		w := newWorld(t, g.store, func(o *memory.Options) { o.Embedder = &other{} })
		return func(ctx context.Context) error { _, err := w.Vectors.Reembed(ctx, "a/b", nil); return err }
	}},
	{"Supersede", "agent.knowledge.superseded", func(t *testing.T, g *governed) act {
		g.observeNamed(t, "older")
		g.observeNamed(t, "newer")
		older, newer := g.promote(t, "older"), g.promote(t, "newer")
		return func(ctx context.Context) error { return g.Knowledge.Supersede(ctx, older.ID, newer.ID) }
	}},
	{"Revalidate", "agent.memory.purged", func(t *testing.T, g *governed) act { return revalidates(t, g, core.StatePurged) }},
	{"Revalidate", "agent.memory.promoted", func(t *testing.T, g *governed) act { return revalidates(t, g, core.StatePromoted) }},
	{"Erase", "agent.memory.purged", func(t *testing.T, g *governed) act {
		g.observeNamed(t, "m")
		return func(ctx context.Context) error {
			_, err := g.Gate.Erase(ctx, "m", memory.EraseRequest{Reason: "asked"})
			return err
		}
	}},
	{"RecordTools", "agent.evidence.tool_recorded", func(t *testing.T, g *governed) act {
		g.observeNamed(t, "m")
		return func(ctx context.Context) error {
			_, err := g.evidence.RecordTools(ctx, []core.ToolOutcome{{MemoryID: "m", Session: "x", Turn: 1, Tool: "make"}})
			return err
		}
	}},
	{"RecordOmega", "agent.evidence.omega_recorded", func(t *testing.T, g *governed) act {
		g.observeNamed(t, "m")
		return func(ctx context.Context) error {
			half := .5
			_, err := g.evidence.RecordOmega(ctx, &gate.OmegaEvidence{MemoryID: "m", OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: &half}})
			return err
		}
	}},
	{"RecordDAG", "agent.evidence.dag_recorded", func(t *testing.T, g *governed) act {
		return func(ctx context.Context) error { _, err := g.evidence.RecordDAG(ctx, graph("m", true)); return err }
	}},
	{"AddDAG", "agent.evidence.dag_recorded", func(t *testing.T, g *governed) act {
		return func(ctx context.Context) error { return g.evidence.AddDAG(ctx, graph("m", true)) }
	}},
	{"Set", "agent.governance.changed", func(t *testing.T, g *governed) act {
		return func(ctx context.Context) error {
			_, err := g.settings.Set(ctx, "a", "max_reflection_depth=1")
			return err
		}
	}},
	{"SetIf", "agent.governance.changed", func(t *testing.T, g *governed) act {
		return func(ctx context.Context) error {
			_, err := g.settings.SetIf(ctx, "a", "", "max_reflection_depth=1")
			return err
		}
	}},
	{"UnsetIf", "agent.governance.changed", func(t *testing.T, g *governed) act {
		g.set(t, "a", "max_reflection_depth=1")
		return func(ctx context.Context) error {
			_, err := g.settings.UnsetIf(ctx, "a", "", "max_reflection_depth")
			return err
		}
	}},
	{"Unset", "agent.governance.changed", func(t *testing.T, g *governed) act {
		g.set(t, "a", "max_reflection_depth=1")
		return func(ctx context.Context) error {
			_, err := g.settings.Unset(ctx, "a", "max_reflection_depth")
			return err
		}
	}},
	{"Replace", "agent.governance.changed", func(t *testing.T, g *governed) act {
		g.set(t, "a", "max_reflection_depth=1")
		record, err := g.settings.Get(t.Context(), "a")
		must(t, err)
		_, err = g.settings.Unset(t.Context(), "a")
		must(t, err)
		return func(ctx context.Context) error { return g.settings.Replace(ctx, "a", record) }
	}},
	{"Unset", "agent.governance.changed", func(t *testing.T, g *governed) act {
		g.set(t, "a", "max_reflection_depth=1")
		return func(ctx context.Context) error { _, err := g.settings.Unset(ctx, "a"); return err }
	}},
}

func reflects(t *testing.T, g *governed) act {
	t.Helper()
	g.observeScript(t)
	return func(ctx context.Context) error {
		_, err := g.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{"useless", "plain"}, Title: "first", Content: "what both say"})
		return err
	}
}

// waits is the id of a reflection that waits for an approval.
func waits(t *testing.T, g *governed) string {
	t.Helper()
	g.set(t, "a/b", "require_approval_above_depth=0")
	g.observeNamed(t, "plain")
	return g.reflect(t, core.ReflectRequest{SourceIDs: []string{"plain"}, Title: "first", Content: "c"}).PendingID
}

func recalls(ctx context.Context, g *governed) error {
	_, err := g.Recall(ctx, &core.RecallRequest{Session: "s", Turn: 1, Query: "content", RecallFilter: core.RecallFilter{Namespace: "a/b"}})
	return err
}

func feeds(ctx context.Context, g *governed, agent string) error {
	_, err := g.Feedback(ctx, &core.FeedbackRequest{
		Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{"plain"}, AgentID: agent,
		ToolOutcomes: []core.ToolOutcome{{MemoryID: "plain", Tool: "make", OK: true}},
	})
	return err
}

// revalidates makes the gate decide on a memory that waits for it.
func revalidates(t *testing.T, g *governed, to core.MemoryState) act {
	t.Helper()
	g = newGoverned(t, g.store, deferred)
	m, request := g.failing(t)
	if to == core.StatePromoted {
		m, request = g.helping(t, "helps")
	}
	return func(ctx context.Context) error { _, err := g.Gate.Revalidate(ctx, m.ID, request); return err }
}

// dated observes what a pass would date, and returns the pass's plan.
func (g *governed) dated(t *testing.T) *dream.Plan {
	t.Helper()
	_, err := g.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: "We met yesterday"})
	must(t, err)
	run, err := g.Dreams.Plan(t.Context(), memory.DreamRequest{Namespace: "ns", Mode: memory.Always})
	must(t, err)
	return run.Plan
}

// heads are the numbers of the newest entries of all streams.
func heads(t *testing.T, s core.Store) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	view(t, s, func(r core.Reader) error {
		return journal.Streams(r, func(h journal.StreamHead) (bool, error) { all[h.Stream] = h.Seq; return true, nil })
	})
	return all
}

// since are the entries that came after heads were read.
func since(t *testing.T, s core.Store, before map[string]uint64) (list []journal.Entry) {
	t.Helper()
	view(t, s, func(r core.Reader) error {
		for stream := range heads(t, s) {
			err := journal.ReadFrom(r, stream, before[stream]+1, func(e journal.Entry) (bool, error) {
				list = append(list, e)
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list
}

// namesAgents reports whether events of a type have an agent_id.
func namesAgents(event string) bool {
	return slices.ContainsFunc(journal.Catalogue(), func(i journal.EventInfo) bool {
		return i.Type == event && slices.ContainsFunc(i.Fields, func(f journal.FieldInfo) bool { return f.Name == "agent_id" })
	})
}

// wantBy fails unless all entries have a subject, and those that name an agent an
// agent_id.
func wantBy(t *testing.T, entries []journal.Entry, subject, agent string) {
	t.Helper()
	for _, e := range entries {
		var data struct {
			Agent    string `json:"agent_id"`
			Pending  string `json:"pending_id"`
			Approver string `json:"approved_by"`
		}
		must(t, json.Unmarshal(e.Data, &data))
		if e.Is(journal.MemoryReflected{}) && data.Pending != "" {
			data.Agent = data.Approver // the memory is its maker's
		}
		if e.Subject != subject || namesAgents(e.Type) && data.Agent != agent {
			t.Errorf("%s of subject %q: %s\nwant subject %q and agent_id %q", e.Type, e.Subject, e.Data, subject, agent)
		}
	}
}

// TestCaller_IsInEveryEvent: whatever is done, its events have the subject and the label
// that came with the context. Without a caller it is done all the same, by nobody.
func TestCaller_IsInEveryEvent(t *testing.T) {
	for _, caller := range []core.Caller{{Subject: "ada@example.org", Label: "ada"}, {}} {
		for _, c := range changing {
			t.Run(c.name+" "+c.events+" by "+caller.Label, func(t *testing.T) {
				g := newGoverned(t, empty(t), unwatched)
				do := c.ready(t, g)
				before := heads(t, g.store)
				must(t, do(core.WithCaller(t.Context(), caller)))
				done := since(t, g.store, before)
				wantBy(t, done, caller.Subject, caller.Label)
				for event := range strings.FieldsSeq(c.events) {
					if !slices.ContainsFunc(done, func(e journal.Entry) bool { return e.Type == event }) {
						t.Errorf("there is no %s", event)
					}
				}
				g.sound(t)
			})
		}
	}
}

// TestCaller_NoChangeIsLeftOut: a method that takes a context is in the table, or reads.
func TestCaller_NoChangeIsLeftOut(t *testing.T) {
	reads := strings.Fields(`Namespaces Decision Decisions Explain Find Knowledge FindKnowledge ListKnowledge Links List Pending
		FindPending Promotion RecallKnowledge SessionHead SessionContext Session Sessions Lineage Get Chosen ChosenLinked Bias Turn TurnNamespaces Weigh Check Proven History Rebuild
		Counts Purged Each GateWaiting Infer FeedbackInferred RecallAmong Reflected Sources States Contradictions DreamDue DreamRuns DreamTexts FindDream GetDream PlanDream`)
	tests := strings.Fields("RecordTurn MoveByDream Put Remove Move") // export_lifecycle_test.go
	g := newGoverned(t, empty(t), nil)
	for _, part := range []any{g.Memories, g.evidence, g.settings} {
		of := reflect.TypeOf(part)
		for i := range of.NumMethod() {
			m := of.Method(i)
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() || slices.Contains(reads, m.Name) || slices.Contains(tests, m.Name) {
				continue
			}
			if !slices.ContainsFunc(changing, func(c struct {
				name   string
				events string
				ready  func(t *testing.T, g *governed) act
			}) bool {
				return c.name == m.Name
			}) {
				t.Errorf("%s.%s: add it to the table, or to what reads", of, m.Name)
			}
		}
	}
}

// TestCaller_AgentOfARequestIsData: it is whose memory, or turn, it is, and the subject
// stays who was authorised.
func TestCaller_AgentOfARequestIsData(t *testing.T) {
	g := newGoverned(t, empty(t), unwatched)
	g.observeScript(t)
	g.set(t, "a/b", "require_approval_above_depth=1")
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	before := heads(t, g.store)
	m, err := g.Observe(ctx, &core.ObserveRequest{Namespace: "ns", Content: "c", Attributes: core.Attributes{AgentID: "bob"}})
	must(t, err)
	_, err = g.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{m.ID}, Title: "t", Content: "c", Attributes: core.Attributes{AgentID: "bob"}})
	must(t, err)
	must(t, recalls(ctx, g))
	must(t, feeds(ctx, g, "bob"))
	wantBy(t, since(t, g.store, before), core.OperatorSubject, "bob")
	if m.AgentID != "bob" {
		t.Errorf("the memory is %s's", m.AgentID)
	}
}

// TestCaller_ApprovesForTheMaker: what was made for one agent stays that agent's when
// another approves it, even if the maker's name came with the context.
func TestCaller_ApprovesForTheMaker(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.set(t, "a/b", "require_approval_above_depth=0")
	g.observeNamed(t, "plain")
	waiting, err := g.Reflect(as(t, "maker"), &core.ReflectRequest{SourceIDs: []string{"plain"}, Title: "t", Content: "c", IdempotencyKey: "k"})
	must(t, err)
	made, err := g.Approve(as(t, "boss"), waiting.PendingID)
	must(t, err)
	if m := g.get(t, made.ID); m.AgentID != "maker" {
		t.Errorf("it is %s's", m.AgentID)
	}
	events := g.told(t, "agent.memory.reflected")
	if last := events[len(events)-1]; last["agent_id"] != "maker" || last["approved_by"] != "boss" {
		t.Errorf("the event says %v", last)
	}
	again, err := g.Reflect(as(t, "maker"), &core.ReflectRequest{SourceIDs: []string{"plain"}, Title: "t", Content: "c", IdempotencyKey: "k"})
	if err != nil || again.ID != made.ID {
		t.Errorf("the same request again came to %+v, %v", again, err)
	}
}

// TestCaller_ManyAtOnceDoNotCross: one repository serves all of them.
func TestCaller_ManyAtOnceDoNotCross(t *testing.T) {
	g := newGoverned(t, empty(t), unwatched)
	before := heads(t, g.store)
	var all sync.WaitGroup
	for _, name := range []string{"ada", "bob", "cyd"} {
		ctx := core.WithCaller(t.Context(), core.Caller{Subject: "subject-" + name, Label: name})
		all.Go(func() {
			for i := range 20 {
				m, err := g.Observe(ctx, &core.ObserveRequest{Namespace: "ns", Content: fmt.Sprint(name, i)})
				if err == nil {
					_, err = g.Gate.Erase(ctx, m.ID, memory.EraseRequest{Reason: "asked"})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	named := 0
	for _, e := range since(t, g.store, before) {
		var data struct {
			Agent string `json:"agent_id"`
		}
		must(t, json.Unmarshal(e.Data, &data))
		if !strings.HasPrefix(e.Subject, "subject-") || data.Agent != "" && e.Subject != "subject-"+data.Agent {
			t.Errorf("%s of %s: %s", e.Type, e.Subject, e.Data)
		}
		if data.Agent != "" {
			named++
		}
	}
	if named < 3*20*2 {
		t.Errorf("%d events name an agent", named)
	}
}
