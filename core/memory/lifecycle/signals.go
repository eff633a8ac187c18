package lifecycle

import (
	"slices"

	"github.com/reflectory/reflectory/core"
)

// The constants of the signals. Turns are counted only if they are relevant to the
// memory.
const (
	averageRate = 0.1 // how far a reward moves hit rate and utility
	creditRate  = 0.2 // how far a reward moves q at most
	initial     = 0.5 // utility and q before the first use
	recentTurns = 20  // turns that are remembered, for the gate's recurrence
)

// Formula is the version of this package's arithmetic, as events name it.
const Formula = 4

// WindowFormula is the first version that keeps windows.
const WindowFormula = 3

// PassedFormula is the first version whose windows have, of the turns that didn't use the memory, those
// alone that passed it over.
const PassedFormula = 4

// Initial are the signals of a new memory.
func Initial() core.Signals { return core.Signals{Utility: initial, Q: initial} }

// Turn is a turn in which a recall returned the memory.
type Turn struct {
	core.TurnRef
	// Number is the turn counter of the memory's namespace, including this turn.
	Number  int64
	Outcome core.Outcome
	// Used is whether the memory was used, and Assumed whether that was assumed because
	// the feedback named no memories.
	Used, Assumed bool
	// Shared is whether the use was named together with others.
	Shared bool
	// PassedOver is whether it wasn't used although it was as near to the query as what was. An offer
	// to a question that others answer better shows nothing about the memory.
	PassedOver bool
	// FirstOfSession is whether this is the session's first use of the memory, and
	// FirstNamed whether it is the first use that the session names.
	FirstOfSession, FirstNamed bool
	// Subject is whose turn it was.
	Subject string
	// NoWindow is whether the turn is from before there were windows.
	NoWindow bool
	// Weight is the share of the credit that the memory's rank in the recall earns.
	Weight float64
}

// Reward is what the memory earns in the turn: 0 if it wasn't used.
func (t *Turn) Reward() float64 {
	if !t.Used {
		return 0
	}
	return Reward(t.Outcome)
}

// Reward is what a use earns: success 1, partial .5, failure 0.
func Reward(o core.Outcome) float64 {
	switch o {
	case core.OutcomeSuccess:
		return 1
	case core.OutcomePartial:
		return 0.5
	}
	return 0
}

// After returns the signals after a relevant turn. It doesn't change its arguments.
func After(s core.Signals, t *Turn) core.Signals {
	s = remember(s, t)
	if !t.NoWindow && (t.Used || t.PassedOver) {
		s.Window = offer(s.Window, t)
	}
	s.RelevantTurns++
	s.HitRate = toward(s.HitRate, t.Reward(), averageRate)
	if !t.Used {
		s.MissStreak++
		return s
	}
	s.HitCount++
	s.LastHitTurn = t.Number
	if t.FirstOfSession {
		s.Sessions++
		s.AssumedSessions++
	}
	if t.FirstNamed {
		s.AssumedSessions--
	}
	s.Utility = toward(s.Utility, t.Reward(), averageRate)
	s.Q = toward(s.Q, t.Reward(), creditRate*t.Weight)
	s = count(s, t.Outcome)
	if t.Shared {
		s.Shared++
	}
	if t.Assumed {
		s.Assumed++
		if s.LastOutcomeError {
			s.AssumedFailures++
		}
	}
	return s
}

// count counts a use by its outcome. A success or a partial success ends a streak of
// misses, and a failure lengthens it.
func count(s core.Signals, o core.Outcome) core.Signals {
	s.LastOutcomeError = false
	switch o {
	case core.OutcomeSuccess:
		s.Successes++
		s.MissStreak = 0
	case core.OutcomePartial:
		s.Partials++
		s.MissStreak = 0
	default:
		s.Failures++
		s.MissStreak++
		s.LastOutcomeError = true
	}
	return s
}

// remember adds a turn to the last turns that used the memory, or, before its first use,
// to the last turns that recalled it.
func remember(s core.Signals, t *Turn) core.Signals {
	switch {
	case !t.Used && s.Uses() == 0:
		s.Recent = last(s.Recent, t.TurnRef)
	case t.Used:
		s.RecentUses, s.Recent = last(s.RecentUses, t.TurnRef), nil
	}
	return s
}

// last adds a turn to a list, which keeps the last 20.
func last(recent []core.TurnRef, t core.TurnRef) []core.TurnRef {
	recent = append(slices.Clone(recent), t)
	return recent[max(0, len(recent)-recentTurns):]
}

// toward moves a value a share of the way to a goal. The conversion keeps the compiler
// from fusing the two operations into one instruction, which only some machines have and
// which rounds differently.
func toward(value, goal, share float64) float64 {
	return value + float64(share*(goal-value))
}
