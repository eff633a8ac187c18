package memory_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/policypoint"
)

// TestRecallReturnsWhatCanBeRecalled has a memory in each state.
func TestRecallReturnsWhatCanBeRecalled(t *testing.T) {
	w := living(t, openPebble(t), nil, hashed)
	for _, state := range core.MemoryStates() {
		if state == core.StatePurged {
			continue // nothing is left of it
		}
		m := w.observe(t, core.ObserveRequest{Title: string(state), Content: "word " + string(state)})
		m.State = state
		if err := w.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	fresh := newWorld(t, w.store, hashed)
	for name, w := range map[string]*world{"kept in step": w, "read from the store": fresh} {
		got := strings.Split(titles(w.recall(t, core.RecallRequest{Query: "word", Limit: 10})), ", ")
		if slices.Sort(got); strings.Join(got, " ") != "active cooling open promoted revalidate_pending" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// eager sends every memory to the gate, with a score that each use changes.
type eager struct{}

func (eager) Retention(_ context.Context, _ core.Reader, in *policypoint.RetentionInput) policypoint.RetentionOutcome {
	return policypoint.RetentionOutcome{State: string(core.StateRevalidatePending), TTLScore: float64(in.Uses())}
}

// TestFeedbackMovesAPromotedMemoryButNotItsState uses a policy that wants every memory
// before the gate again.
func TestFeedbackMovesAPromotedMemoryButNotItsState(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, func(o *memory.Options) {
			o.Gate, o.Embedder = decides(verdict.NextPromote, .9), embed.Hashed{}
			o.Retention = eager{}
		})
		before := w.observe(t, core.ObserveRequest{Content: "word"})
		w.live(t, "s", 1, before.ID, core.OutcomeSuccess)
		before = w.get(t, before.ID)
		for turn := range int64(2) { // a third would make it fall
			w.live(t, "s", 2+turn, before.ID, core.OutcomeFailure)
		}
		r := w.recall(t, core.RecallRequest{Query: "word"})
		if len(r.Memories) != 1 {
			t.Fatalf("recalled %+v", r)
		}
		m := r.Memories[0]
		if before.State != core.StatePromoted || m.State != core.StatePromoted || m.KnowledgeID != before.PromotedTo || m.KnowledgeID == "" {
			t.Errorf("it was %s and is %s, with knowledge %q", before.State, m.State, m.KnowledgeID)
		}
		if m.Signals.Failures != 2 || m.Signals.HitCount != 3 || m.Signals.Q >= before.Signals.Q || m.FailureRate == nil || *m.FailureRate != 2./3 {
			t.Errorf("after two failures: %+v, failure rate %v", m.Signals, m.FailureRate)
		}
		if n := w.events("agent.memory.lifecycle.refused"); n != 0 || m.Signals.TTLScore != before.Signals.TTLScore {
			t.Errorf("the policy was asked: %d refusals, score %v after %v", n, m.Signals.TTLScore, before.Signals.TTLScore)
		}
	})
}

// meanwhile is a clock that does something once, when it is asked after it was
// armed: in the middle of a recall.
type meanwhile struct {
	coretest.Clock
	embed.Hashed
	do func()
	// armed is set when the query is embedded, before the search.
	armed bool
}

func (m *meanwhile) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.armed = m.do != nil
	return m.Hashed.Embed(ctx, texts)
}

func (m *meanwhile) Now() time.Time {
	if m.armed {
		m.armed = false
		m.do()
	}
	return m.Clock.Now()
}

// TestWhatGoesWhileItIsRecalledIsLeftOut takes memories away between the search and
// its record.
func TestWhatGoesWhileItIsRecalledIsLeftOut(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		m := &meanwhile{}
		w := living(t, s, nil, func(o *memory.Options) { o.Embedder, o.Clock = m, m })
		ids := map[string]string{}
		for _, title := range []string{"a", "b", "c", "d"} {
			ids[title] = w.observe(t, core.ObserveRequest{Title: title, Content: "word " + title}).ID
		}
		m.do = func() {
			if err := errors.Join(w.Remove(t.Context(), ids["a"]), w.MoveByDream(t.Context(), ids["c"], core.StateArchived, "")); err != nil {
				t.Error(err)
			}
		}
		r := w.recall(t, core.RecallRequest{Session: "s", Turn: 1, Query: "word"})
		if got := titles(r); got != "d, b" || r.Memories[1].Rank != 1 {
			t.Errorf("recalled %q: %+v", got, r.Memories)
		}
		m.do = nil
		if result := w.feedback(t, "s", 1, core.OutcomeSuccess, ids["d"]); len(result.Items) != 2 {
			t.Errorf("the turn has %+v", result.Items)
		}
	})
}
