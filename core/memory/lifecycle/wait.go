package lifecycle

import "github.com/reflectory/reflectory/core"

// How long a memory waits before it may move again, in relevant turns. Both waits are
// doubled where nothing has changed, so that a pattern of use in which nothing does
// doesn't move a memory to and fro, or before the gate, for ever.
const (
	waitTurns    = 10  // at first
	maxWaitTurns = 160 // at most
	relapseTurns = 50  // that cools again within these cooled too early
)

// Wait is a stored wait: the first one where none is stored.
func Wait(stored int64) int64 { return max(waitTurns, stored) }

// Moved returns the signals of a memory that came from one of the states open, active
// and cooling into another. What cools waits before it can be active again: 10 turns,
// doubled each time it cools again within 50 turns of coming back.
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

// Rested reports whether a memory may come to the gate: it never did, or has rested
// since the last decision.
func Rested(s *core.Signals) bool { return !s.Gated || s.RelevantTurns-s.GatedAt >= Wait(s.GateRest) }

// Decision is what a decision of the gate leaves in a memory's signals.
type Decision struct {
	// Utility is what the evidence came to, Evidence a digest that names it, and Fresh
	// whether any came since the decision before.
	Utility  float64
	Evidence string
	Fresh    bool
}

// Decided returns the signals after a decision of the gate. The memory rests for 10
// turns, doubled where no evidence came since the decision before.
func Decided(s core.Signals, d Decision) core.Signals {
	s.GateRest = nextWait(s.GateRest, s.Gated && !d.Fresh)
	s.Gated, s.GatedAt, s.GateEvidence = true, s.RelevantTurns, d.Evidence
	s.Revalidation = &d.Utility
	return s
}

// Retained returns the signals after a decision to retain at a turn of the namespace,
// except the score, which the retention policy gives.
func Retained(s core.Signals, number int64, d Decision) core.Signals {
	s.MissStreak, s.LastHitTurn = 0, number
	return Decided(s, d)
}

// AfterRetain is the state that a retain leads to: the one before, and for an open
// memory, or one of which that isn't known, by its score.
func AfterRetain(before core.MemoryState, score float64, weights core.RetentionWeights) core.MemoryState {
	switch {
	case before == core.StateActive || before == core.StateCooling:
		return before
	case core.Rounded(score) < core.Rounded(weights.Active):
		return core.StateCooling
	}
	return core.StateActive
}
