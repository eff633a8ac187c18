package lifecycle

import (
	"slices"

	"github.com/reflectory/reflectory/core"
)

// The numbers of signals. Where turns are counted, they are turns that are relevant to
// the memory.
const (
	averageRate = 0.1 // how far a reward moves hit rate and utility
	creditRate  = 0.2 // how far a reward moves q at most
	initial     = 0.5 // utility and q before the first use
	recentTurns = 20  // turns that are remembered: the gate's recurrence looks back on them

	// earlyRate is how far a reward moved hit rate and utility in early stores, whose
	// events are still replayed.
	earlyRate = 0.2
)

// Formula names the arithmetic of this package in events. Those of early stores name
// none: there averages moved faster, and cooling and rests weren't counted.
const Formula = 2

// Initial are the signals of a new memory.
func Initial() core.Signals { return core.Signals{Utility: initial, Q: initial} }

// Turn is a turn that is relevant to a memory: recall returned it there.
type Turn struct {
	core.TurnRef
	// Number is the turn counter of the memory's namespace, this turn included.
	Number  int64
	Outcome core.Outcome
	// Used is whether the memory was used, Assumed whether nobody named that use.
	Used, Assumed bool
	// FirstOfSession is whether the session didn't use it before, FirstNamed whether
	// the session didn't name a use of it before, and does now.
	FirstOfSession, FirstNamed bool
	// Weight is the share of the credit that its place in the recall gives it.
	Weight float64
	// Early is whether an early store's arithmetic counted the turn.
	Early bool
}

// Reward is what the memory earns in the turn: nothing where it wasn't used.
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

// After returns the signals after a relevant turn. What it was given isn't
// changed.
func After(s core.Signals, t *Turn) core.Signals {
	rate := averageRate
	if t.Early {
		rate = earlyRate
	}
	s = remember(s, t)
	s.RelevantTurns++
	s.HitRate = toward(s.HitRate, t.Reward(), rate)
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
	s.Utility = toward(s.Utility, t.Reward(), rate)
	s.Q = toward(s.Q, t.Reward(), creditRate*t.Weight)
	s = count(s, t.Outcome)
	if t.Assumed {
		s.Assumed++
		if s.LastOutcomeError {
			s.AssumedFailures++
		}
	}
	return s
}

// count counts a use by its outcome. A success, at least in part, ends a streak
// of misses, and a failure adds to it.
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

// remember adds a turn to the last ones that used the memory, or, before its first
// use, to the last ones that offered it. An early store remembered all that were relevant.
func remember(s core.Signals, t *Turn) core.Signals {
	switch {
	case t.Early, !t.Used && s.Uses() == 0:
		s.Recent = last(s.Recent, t.TurnRef)
	case t.Used:
		s.RecentUses, s.Recent = last(s.RecentUses, t.TurnRef), nil
	}
	return s
}

// last adds a turn to the last ones, of which 20 are kept.
func last(recent []core.TurnRef, t core.TurnRef) []core.TurnRef {
	recent = append(slices.Clone(recent), t)
	return recent[max(0, len(recent)-recentTurns):]
}

// toward moves a value a share of the way to a goal. The conversion keeps the
// compiler from fusing the two operations, which not every machine can.
func toward(value, goal, share float64) float64 {
	return value + float64(share*(goal-value))
}
