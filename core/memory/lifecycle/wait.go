package lifecycle

import "github.com/reflectory/reflectory/core"

// How long a memory waits before its state may change again, in relevant turns. The
// wait of cooling is doubled if the memory cools again soon, the gate's if there is no new
// evidence, so that a steady pattern of use doesn't move a memory back and forth, or before
// the gate, for ever.
const (
	waitTurns    = 10  // at first
	maxWaitTurns = 160 // at most
	relapseTurns = 50  // cooling again within this time doubles the wait
)

// Wait is a stored wait, or the first one if none is stored.
func Wait(stored int64) int64 { return max(waitTurns, stored) }

// Moved returns the signals of a memory that changed between the states open, active and
// cooling. A memory that cools must wait before it can be active again: 10 turns, doubled
// each time it cools again within 50 turns of becoming active.
func Moved(s core.Signals, before, after core.MemoryState) core.Signals {
	switch {
	case after == core.StateCooling && before != core.StateCooling:
		relapsed := s.WarmedAt > 0 && s.RelevantTurns-s.WarmedAt <= relapseTurns
		s.CoolingWait = nextWait(s.CoolingWait, relapsed)
		s.CooledAt = s.RelevantTurns
	case after == core.StateActive && before == core.StateCooling:
		s.WarmedAt = s.RelevantTurns
	}
	return s
}

func nextWait(stored int64, double bool) int64 {
	if !double {
		return waitTurns
	}
	return min(maxWaitTurns, 2*Wait(stored))
}

// Rested reports whether a memory may come before the gate: it never did, or its wait
// since the last decision is over.
func Rested(s *core.Signals) bool { return !s.Gated || s.RelevantTurns-s.GatedAt >= Wait(s.GateRest) }

// Decision is the effect of a decision of the gate on a memory's signals.
type Decision struct {
	// Utility is the total of the evidence, Evidence a digest that identifies it, and
	// Fresh whether there is new evidence since the previous decision.
	Utility  float64
	Evidence string
	Fresh    bool
}

// Decided returns the signals after a decision of the gate. The memory rests for 10
// turns, doubled if there was no new evidence since the previous decision.
func Decided(s core.Signals, d Decision) core.Signals {
	s.GateRest = nextWait(s.GateRest, s.Gated && !d.Fresh)
	s.Gated, s.GatedAt, s.GateEvidence = true, s.RelevantTurns, d.Evidence
	s.Revalidation = &d.Utility
	return s
}

// Retained returns the signals after a decision to retain, at a turn of the namespace.
// The score is left to the retention policy.
func Retained(s core.Signals, number int64, d Decision) core.Signals {
	s.MissStreak, s.LastHitTurn = 0, number
	return Decided(s, d)
}

// AfterRetain is the state after a decision to retain: the state before; for a memory
// that was open, or whose earlier state isn't known, the state that its score gives.
func AfterRetain(before core.MemoryState, score float64, weights core.RetentionWeights) core.MemoryState {
	switch {
	case before == core.StateActive || before == core.StateCooling:
		return before
	case core.Rounded(score) < core.Rounded(weights.Active):
		return core.StateCooling
	}
	return core.StateActive
}
