package policypoint

import (
	"context"
	"math"

	"github.com/reflectory/reflectory/core"
)

// RetentionPolicy decides which state a memory is in.
type RetentionPolicy interface {
	Retention(ctx context.Context, r core.Reader, in *RetentionInput) RetentionOutcome
}

// RetentionInput is what the retention policy sees of a memory.
type RetentionInput struct {
	Namespace string
	// State is the memory's present state.
	State string
	// Turn is the namespace's turn counter. LastHitTurn has a meaning only if Hits > 0.
	Turn, CreatedTurn, LastHitTurn int64
	// AgeTurns are the turns since the described event happened, or else since the memory
	// was written.
	AgeTurns         int64
	Hits, MissStreak int64
	// RelevantTurns counts the turns in which recall returned the memory.
	RelevantTurns int64
	// Gated is whether the gate ever decided on it, and SinceGate the relevant
	// turns since then.
	Gated     bool
	SinceGate int64
	// GateRest is how many relevant turns the memory rests after a decision of the gate.
	GateRest int64
	// SinceCooled are the relevant turns since it cooled, and CoolingWait how many it
	// needs before it may be active again. They only count while it is cooling.
	SinceCooled, CoolingWait int64
	// Sessions counts the sessions that used it.
	Sessions                      int64
	Successes, Partials, Failures int64
	HitRate, Utility, Q           float64
	// TTLScore is the last score, which is kept if the policy fails.
	TTLScore float64
	// Weights and thresholds come from the namespace's governance.
	Weights core.RetentionWeights
	Facts   MemoryFacts
}

// averageLeft is the part of an average that is left after a relevant turn: it moves by a
// tenth.
const averageLeft = 0.9

// CorrectedHitRate is the hit rate without the effect of its start at 0. It is the
// average of what the relevant turns earned, from 0 to 1; newer turns count more. Before
// the first turn it is 0.
func (in *RetentionInput) CorrectedHitRate() float64 {
	if in.RelevantTurns <= 0 {
		return 0
	}
	return min(1, in.HitRate/(1-math.Pow(averageLeft, float64(in.RelevantTurns))))
}

// maxInactivityGap is the upper limit of the inactivity gap.
const maxInactivityGap = 40

// InactivityGap is the number of turns since the memory's last hit, at most 40.
func (in *RetentionInput) InactivityGap() int64 {
	since := in.CreatedTurn
	if in.Hits > 0 {
		since = in.LastHitTurn
	}
	return max(0, min(maxInactivityGap, in.Turn-since))
}

// Uses counts the turns in which the memory was used.
func (in *RetentionInput) Uses() int64 { return in.Successes + in.Partials + in.Failures }

// RetentionOutcome is the state that a memory should be in: its present state if
// nothing changes or the policy fails.
type RetentionOutcome struct {
	TTLScore float64
	State    string
	Decision Decision
}

// Word is the state that the memory should be in.
func (o RetentionOutcome) Word() string { return o.State }
