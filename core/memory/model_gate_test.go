package memory_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// tool keeps the outcome of a tool in the model.
func (m *life) tool(turn core.TurnRef, o core.ToolOutcome) {
	m.recorded[turn] = true
	m.refs[fmt.Sprint(turn)] = true
	if !o.OK {
		m.toolFailures++
	}
	if o.Recovered {
		m.recovered++
	}
}

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
		if m.graph = "lost"; reached {
			m.graph = "reached"
		}
		return a.Reason, a.Reason
	}}
}

func (l *lives) sweep() lifeOp {
	namespace := l.namespace()
	return lifeOp{"sweep", func(t *testing.T, g *governed) lifeAnswer {
		result, err := g.Sweep(t.Context(), namespace, "me")
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
		return lifeAnswer{Reason: sdk.ReasonOf(g.Dream(t.Context(), m.id, to, "keeper"))}
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
		back, err := g.Restore(t.Context(), m.id, "me")
		return lifeAnswer{Reason: sdk.ReasonOf(err), Memory: back}
	}, func(a *lifeAnswer) (string, string) {
		m.state = core.StateActive
		return "active", a.Reason
	}}
}

// gate asks the gate, about something that waits for it as a rule.
func (l *lives) gate() lifeOp {
	waits := func(m *life) bool { return m.state == core.StateRevalidatePending }
	// A retain bars a promotion from then on, since its confidence is below .6. So
	// the gate is asked when there is much evidence, as a rule.
	m := l.some(func(m *life) bool { return waits(m) && !m.s.Gated && m.graph != "" && m.s.RelevantTurns > 8 })
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
	request := memory.RevalidateRequest{Omega: core.OmegaFactors{UpstreamStatus: omega, CodebaseVerification: omega, RuntimeUtilityTrend: omega}}
	return lifeOp{"gate", func(t *testing.T, g *governed) lifeAnswer {
		d, err := g.Revalidate(t.Context(), m.id, request)
		return lifeAnswer{Reason: sdk.ReasonOf(err), Decision: d}
	}, func(a *lifeAnswer) (string, string) {
		switch m.state {
		case core.StateRevalidatePending:
		case core.StatePurged:
			return "memory_purged", unless(a.Reason == "memory_purged", "%s", a.Reason)
		default:
			return "state_conflict", unless(a.Reason == "state_conflict", "%s", a.Reason)
		}
		next, confidence := m.verdict(core.OrHalf(omega))
		m.decided(next, confidence, l.counters[m.namespace])
		return next, unless(a.Reason == "" && a.Decision.NextAction == next && math.Abs(a.Decision.Confidence-confidence) < 1e-8,
			"%s %+v of %+v, want %s with %v", a.Reason, a.Decision, m.s, next, confidence)
	}}
}

// verdict is the default policy of the gate and the engine's conditions, by spec
// 3.5.
func (m *life) verdict(omega float64) (next string, confidence float64) {
	s, react, graph := &m.s, m.react(), map[string]float64{"": .5, "lost": 0, "reached": .4 + .35*1 + .25/3}[m.graph]
	uses, rate := float64(s.Uses()), 0.0
	if uses > 0 {
		rate = float64(s.Failures) / uses
	}
	good, bad := float64(s.Successes), float64(s.Failures)
	ttl := .45*uses/(uses+3) + .35*(1-rate) + .2*(good+1)/(good+bad+2)
	utility := .32*react + .23*graph + .25*omega + .2*s.Q
	retain := min(.85, .42+.6*min(math.Abs(.78-utility), math.Abs(utility-.32)))
	refs := m.graph != "" && (len(m.refs) > 0 || uses == 0)
	sure := func(c float64) float64 { return min(1, max(0, c)) }
	switch {
	case uses >= 3 && utility >= .78 && rate <= .25 && ttl >= .5:
		c := sure(.55 + 1.8*(utility-.78) + .8*(.25-rate))
		if c >= .7 && refs && s.Sessions >= 2 && (s.Revalidation == nil || *s.Revalidation >= .6) {
			return core.NextPromote, c
		}
	case uses >= 2 && utility <= .32 && rate >= .7 && (ttl <= .45 || uses >= 10):
		if c := sure(.55 + 1.8*(.32-utility) + .8*(rate-.7)); c >= .7 && refs && s.Failures >= 3 {
			return core.NextPurge, c
		}
	case uses == 0 && s.RelevantTurns >= 10 && utility <= .32 && m.graph == "lost":
		if c := sure(.75 + 1.8*(.32-utility)); c >= .7 && refs {
			return core.NextPurge, c
		}
	}
	return core.NextRetain, retain
}

// react is the lane of the tools' outcomes.
func (m *life) react() float64 {
	n := 0
	for _, turn := range m.s.Recent {
		if m.recorded[turn] {
			n++
		}
	}
	recurrence := 0.0
	if turns := min(20, m.s.RelevantTurns); turns > 0 {
		recurrence = float64(n) / float64(turns)
	}
	return float64(m.recovered+1) / float64(m.recovered+m.toolFailures+2) * (.4 + .6*recurrence)
}

// decided applies a decision to the model.
func (m *life) decided(next string, confidence float64, number int64) {
	m.s.Gated, m.s.GatedAt = true, m.s.RelevantTurns
	switch next {
	case core.NextPurge:
		m.state = core.StatePurged
	case core.NextPromote:
		m.state = core.StatePromoted
	default:
		m.s.MissStreak, m.s.LastHitTurn, m.s.Revalidation = 0, number, &confidence
		if m.state = core.StateActive; m.s.TTLScore < .35 {
			m.state = core.StateCooling
		}
	}
}
