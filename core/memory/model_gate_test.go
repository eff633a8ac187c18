package memory_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// graph records a workflow's graph that does or doesn't lead to a memory.
func (l *lives) graph() lifeOp {
	m := l.some(func(m *life) bool { return m.s.RelevantTurns > 1 })
	if m == nil {
		return l.recall()
	}
	reached := m.id[len(m.id)-1]%2 == 0
	return lifeOp{"graph", func(t *testing.T, g *governed) lifeAnswer {
		_, err := g.evidence.RecordDAG(t.Context(), graph(m.id, reached))
		return lifeAnswer{Reason: sdk.ReasonOf(err)}
	}, func(a *lifeAnswer) (string, string) {
		had := m.dag
		if m.dag = (dagOf{known: true}); reached { // on b of a → b → c
			m.dag = dagOf{known: true, reachable: true, dependency: 1, downstream: 1.0 / 3}
		}
		m.news = m.news || m.dag != had
		return a.Reason, a.Reason
	}}
}

func (l *lives) sweep() lifeOp {
	namespace := l.namespace()
	return lifeOp{"sweep", func(t *testing.T, g *governed) lifeAnswer {
		result, err := g.Gate.Sweep(t.Context(), namespace, nil)
		return lifeAnswer{Reason: sdk.ReasonOf(err), Sweep: result}
	}, func(a *lifeAnswer) (string, string) {
		evaluated, moved := 0, map[core.MemoryState]int{}
		for _, m := range l.all {
			if m.namespace != namespace || !m.state.Live() || m.state == core.StateRevalidatePending {
				continue
			}
			evaluated++
			before := m.state
			if m.retention(l.counters[namespace]); m.state != before {
				moved[m.state]++
			}
		}
		return a.Reason, unless(a.Reason == "" && a.Sweep.Evaluated == evaluated && fmt.Sprint(a.Sweep.Transitions) == fmt.Sprint(moved),
			"%s %+v, want %d evaluated and %v", a.Reason, a.Sweep, evaluated, moved)
	}}
}

// dream archives or consolidates what may be.
func (l *lives) dream() lifeOp {
	m, to := l.any(), oneOf(l.r, core.StateArchived, core.StateConsolidated)
	if m == nil {
		return l.recall()
	}
	return lifeOp{"dream", func(t *testing.T, g *governed) lifeAnswer {
		return lifeAnswer{Reason: sdk.ReasonOf(g.MoveByDream(t.Context(), m.id, to, "keeper"))}
	}, func(a *lifeAnswer) (string, string) {
		switch m.state {
		case core.StateOpen, core.StateActive, core.StateCooling:
			m.state = to
			return string(to), a.Reason
		}
		return "refused", unless(a.Reason != "", "a memory that is %s became %s", m.state, to)
	}}
}

func (l *lives) restore() lifeOp {
	m := l.some(func(m *life) bool { return m.state == core.StateArchived || m.state == core.StateConsolidated })
	if m == nil {
		return l.dream()
	}
	return lifeOp{"restore", func(t *testing.T, g *governed) lifeAnswer {
		back, err := g.Restore(t.Context(), m.id)
		return lifeAnswer{Reason: sdk.ReasonOf(err), Memory: back}
	}, func(a *lifeAnswer) (string, string) {
		m.state = core.StateActive
		return "active", a.Reason
	}}
}

// gate asks the gate, about something that waits for it as a rule.
func (l *lives) gate() lifeOp {
	waits := func(m *life) bool { return m.state == core.StateRevalidatePending }
	// The gate is asked when there is much evidence, as a rule.
	m := l.some(func(m *life) bool { return waits(m) && !m.s.Gated && m.dag.known && m.s.RelevantTurns > 8 })
	if m == nil && l.r.IntN(4) == 0 {
		m = l.some(func(m *life) bool { return waits(m) && (m.s.Gated || l.r.IntN(4) == 0) })
	}
	if m == nil || l.r.IntN(10) == 0 {
		m = l.any()
	}
	if m == nil {
		return l.recall()
	}
	var omega *float64
	if l.r.IntN(4) > 0 {
		x := float64(1 - m.id[len(m.id)-1]%2)
		omega = &x
	}
	request := memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: omega, CodebaseVerification: omega, RuntimeUtilityTrend: omega}}
	return lifeOp{"gate", func(t *testing.T, g *governed) lifeAnswer {
		d, err := g.Gate.Revalidate(t.Context(), m.id, request)
		if d != nil && d.GivenTo != nil {
			d.GivenTo.RetainedIn = nil // which depends on the engine
		}
		reason := sdk.ReasonOf(err)
		if reason == "purge_held" { // it is done, but merging the tables took too long on a busy machine
			reason = ""
		}
		return lifeAnswer{Reason: reason, Decision: d}
	}, func(a *lifeAnswer) (string, string) {
		switch m.state {
		case core.StateRevalidatePending:
		case core.StatePurged:
			return "memory_purged", unless(a.Reason == "memory_purged", "%s", a.Reason)
		default:
			return "state_conflict", unless(a.Reason == "state_conflict", "%s", a.Reason)
		}
		next, confidence := m.decide(omegaOf{omega, omega, omega}, l.counters[m.namespace])
		return next, unless(a.Reason == "" && a.Decision.NextAction == next && math.Abs(a.Decision.Confidence-confidence) < 1e-8,
			"%s %+v of %+v, want %s with %v", a.Reason, a.Decision, m.s, next, confidence)
	}}
}
