package lifecycle

import (
	"slices"

	"github.com/reflectory/reflectory/core"
)

// TakeOver returns the signals of a memory into which another was merged: the uses of both
// count as its own, so that a bad text that was observed again keeps its record. Q and
// utility are averaged by uses; one without uses counts nothing. users are the sessions that
// used either, and whether one of their uses was named. It doesn't change its arguments.
func TakeOver(s, victim core.Signals, users map[string]bool) core.Signals {
	own, taken := float64(s.Uses()), float64(victim.Uses())
	if taken > 0 {
		s.Q = average(s.Q, own, victim.Q, taken)
		s.Utility = average(s.Utility, own, victim.Utility, taken)
	}
	if own == 0 && taken > 0 {
		s.LastOutcomeError = victim.LastOutcomeError
	}
	s.HitCount += victim.HitCount
	s.Successes += victim.Successes
	s.Partials += victim.Partials
	s.Failures += victim.Failures
	s.Assumed += victim.Assumed
	s.AssumedFailures += victim.AssumedFailures
	s.Shared += victim.Shared
	s.Sessions, s.AssumedSessions = int64(len(users)), 0
	for _, named := range users {
		if !named {
			s.AssumedSessions++
		}
	}
	uses := slices.Concat(victim.RecentUses, s.RecentUses)
	s.RecentUses = uses[max(0, len(uses)-recentTurns):]
	_, before := parts(victim.Window)
	author, since := parts(s.Window)
	s.Window = core.Window(author + trim(before+since))
	if len(s.RecentUses) > 0 {
		s.Recent = nil
	}
	return s
}

// average is the mean of two values by their weights. The conversions keep the compiler
// from fusing operations, which rounds differently.
func average(a, weightA, b, weightB float64) float64 {
	return (float64(a*weightA) + float64(b*weightB)) / (weightA + weightB)
}
