package memory_test

import (
	"context"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/sdk"
)

// meddler asks other policies. The first answer after it was armed comes only when
// what was read has been written again meanwhile, so that the transaction has to run
// again.
type meddler struct {
	policypoint.ReflectPolicy
	policypoint.RetentionPolicy
	verdict.Gate
	meddle func()
	asked  int
}

func (m *meddler) answer() {
	m.asked++
	if meddle := m.meddle; meddle != nil {
		m.meddle = nil
		meddle()
	}
}

func (m *meddler) Reflect(ctx context.Context, r core.Reader, in *policypoint.ReflectInput) policypoint.Permission {
	defer m.answer()
	return m.ReflectPolicy.Reflect(ctx, r, in)
}

func (m *meddler) Retention(ctx context.Context, r core.Reader, in *policypoint.RetentionInput) policypoint.RetentionOutcome {
	defer m.answer()
	return m.RetentionPolicy.Retention(ctx, r, in)
}

func (m *meddler) Decide(ctx context.Context, r core.Reader, c *verdict.GateCase) (*verdict.GateDecision, error) {
	defer m.answer()
	return m.Gate.Decide(ctx, r, c)
}

// decidedAt counts the recorded decisions of a point.
func (g *governed) decidedAt(t *testing.T, point policypoint.Point) (n int) {
	t.Helper()
	g.written(t)
	view(t, g.store, func(r core.Reader) error {
		return journal.Read(r, journal.DecisionStream(string(point)), func(journal.Entry) error { n++; return nil })
	})
	return n
}

// TestADecisionOfATransactionThatRunsAgainIsRecordedOnce: the one that the
// transaction ended with.
func TestADecisionOfATransactionThatRunsAgainIsRecordedOnce(t *testing.T) {
	cases := []struct {
		name  string
		point policypoint.Point
		do    func(t *testing.T, g *governed) error
		// runs is how often the transaction runs, reason why it is refused in the end.
		runs   int
		code   sdk.Code
		reason string
	}{
		{"reflect", policypoint.Reflect, func(t *testing.T, g *governed) error {
			_, err := g.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{"plain"}, Title: "t", Content: "c"})
			return err
		}, 2, "", ""},
		{"refused", policypoint.Reflect, func(t *testing.T, g *governed) error {
			_, err := g.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{"plain"}, Title: "title of useful", Content: "c"})
			return err
		}, 1, sdk.Conflict, "title_taken"},
		{"feedback", policypoint.Retention, func(t *testing.T, g *governed) error {
			_, err := g.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Used: []string{"plain"}, Outcome: core.OutcomeSuccess})
			return err
		}, 2, "", ""},
		{"gate", policypoint.Gate, func(t *testing.T, g *governed) error {
			must(t, g.Move(t.Context(), "plain", core.StateRevalidatePending, journal.MemoryTransitioned{}))
			_, err := g.Gate.Revalidate(t.Context(), "plain", memory.RevalidateRequest{})
			return err
		}, 4, "", ""}, // the gate, and what the retained one scores
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, s core.Store) {
				m := &meddler{}
				g := newGoverned(t, s, func(o *memory.Options) {
					m.ReflectPolicy, m.RetentionPolicy, m.Gate = o.Reflection, o.Retention, o.Gate
					o.Reflection, o.Retention, o.Gate = m, m, m
				})
				g.observeScript(t)
				r := core.RecallRequest{Session: "s", Turn: 1, Query: "content of plain", Limit: 1}
				r.Namespace, r.Tags = "a/b", []string{"tag-plain"}
				g.recall(t, r)
				m.meddle = func() { must(t, g.Put(t.Context(), g.get(t, "plain"))) } // which was read
				wantReason(t, c.do(t, g), c.code, c.reason)
				runs := c.runs
				if _, far := s.(*postgres.Store); far && c.reason != "" {
					runs++ // an error is validated there too
				}
				if m.asked != runs {
					t.Errorf("the policy was asked %d times, want %d", m.asked, runs)
				}
				if n := g.decidedAt(t, c.point); n != 1 {
					t.Errorf("%d decisions are recorded", n)
				}
			})
		})
	}
}

// TestADryRunLeavesNoDecision: "gate run --dry-run" and "gate explain" write nothing,
// not even that they asked.
func TestADryRunLeavesNoDecision(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		g := newGoverned(t, s, nil)
		g.observeScript(t)
		must(t, g.Move(t.Context(), "plain", core.StateRevalidatePending, journal.MemoryTransitioned{}))
		_, err := g.Gate.Revalidate(t.Context(), "plain", memory.RevalidateRequest{DryRun: true})
		must(t, err)
		_, err = g.Gate.Weigh(t.Context(), "plain", memory.RevalidateRequest{})
		must(t, err)
		if n := g.decidedAt(t, policypoint.Gate); n != 0 {
			t.Errorf("%d decisions are recorded", n)
		}
	})
}
