package lifecycle

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// RetentionInput is what the retention policy gets to see of a memory, at a turn of its
// namespace, with the namespace's weights.
func RetentionInput(m *core.Memory, number int64, weights core.RetentionWeights) *policypoint.RetentionInput {
	s := &m.Signals
	return &policypoint.RetentionInput{
		Namespace: m.Namespace, State: string(m.State),
		Turn: number, CreatedTurn: m.CreatedTurn, LastHitTurn: s.LastHitTurn, AgeTurns: m.AgeTurns(number),
		Hits: s.HitCount, MissStreak: s.MissStreak, RelevantTurns: s.RelevantTurns,
		Gated: s.Gated, SinceGate: s.RelevantTurns - s.GatedAt, GateRest: Wait(s.GateRest), Sessions: s.Sessions,
		SinceCooled: s.RelevantTurns - s.CooledAt, CoolingWait: Wait(s.CoolingWait), Facts: policypoint.FactsOf(m),
		Successes: s.Successes, Partials: s.Partials, Failures: s.Failures,
		HitRate: s.HitRate, Utility: s.Utility, Q: s.Q, TTLScore: s.TTLScore,
		Weights: compared(weights),
	}
}

// compared rounds the thresholds for comparisons. A policy rounds its score itself.
func compared(w core.RetentionWeights) core.RetentionWeights {
	w.Active, w.Revalidate, w.Hysteresis = core.Rounded(w.Active), core.Rounded(w.Revalidate), core.Rounded(w.Hysteresis)
	return w
}

// Evaluated reports whether the retention policy is asked about a memory in this state. A
// memory that waits for the gate gets a new score, but keeps its state.
func Evaluated(s core.MemoryState) bool { return s.Live() }
