package memory

import (
	"fmt"
	"math"

	"github.com/reflectory/reflectory/core"
)

// What an explanation says of whether a memory helps.
const (
	// HelpShown is of a memory with which turns succeed more often than without it.
	HelpShown = "helps"
	// HelpNone is of a memory with which they don't, or of which no difference could be shown in as many turns as
	// are tried: it only rides along, or does harm.
	HelpNone = "rides_along"
	// HelpUnknown is of every other memory.
	HelpUnknown = "unknown"
)

// Help is whether a memory helps, for somebody who knows nothing of trials.
type Help struct {
	// Answer is helps, rides_along or unknown.
	Answer string `json:"answer"`
	// Text says why, in whole sentences.
	Text string `json:"text"`
	// Cost is about how many turns failed because they were made without it to find out, and Budget how many may.
	Cost   float64 `json:"cost,omitempty"`
	Budget float64 `json:"budget,omitempty"`
}

// helpOf says whether a memory helps.
func helpOf(m *core.Memory, effect *core.Effect, g *core.Governance) *Help {
	if effect == nil {
		return &Help{Answer: HelpUnknown, Text: untested(m, g)}
	}
	h := &Help{Answer: HelpUnknown, Cost: core.Rounded(float64(effect.Without) * max(0, effect.Estimate)), Budget: g.RegretBudget}
	text := ""
	switch effect.Verdict {
	case core.EffectHelps:
		h.Answer, text = HelpShown, "Turns succeed more often with it than without it: "+between(effect)
	case core.EffectNone:
		h.Answer, text = HelpNone, "It does harm, or at best nothing. Turns don't succeed more often with it than without it: "+between(effect)
	case core.EffectUndecided:
		text = "Turns were made without it until that had cost too much, and they don't show whether it helps: " + between(effect)
		if h.Cost <= h.Budget {
			h.Answer, text = HelpNone, fmt.Sprintf("It only rides along. No difference could be shown in %d turns, so it most likely makes little or none: %s", effect.With+effect.Without, between(effect))
		}
	default:
		text = "Some turns are made without it to find out, and they are too few to tell"
		if effect.With > 0 && effect.Without > 0 {
			text += ": " + between(effect)
		}
	}
	h.Text = fmt.Sprintf("%s. Since the experiment began, %s had it, and %d were made without it. That cost about %s (limit %g)", text,
		number(effect.With, "turn", "turns"), effect.Without, number(int64(math.Round(h.Cost)), "success", "successes"), g.RegretBudget)
	return h
}

// between is an effect in turns of 100, with its interval. That a memory helps is known before the interval, which
// looks at both sides, is above 0.
func between(e *core.Effect) string {
	ends := fmt.Sprintf("between %s and %s", turns(e.Low), turns(e.High))
	if e.Verdict == core.EffectHelps && e.Low <= 0 {
		ends = "above 0 and up to " + turns(e.High)
	}
	return fmt.Sprintf("of 100 turns with it, %s succeed than of 100 without it. The true number is, with 95 %% certainty, %s", turns(e.Estimate), ends)
}

// turns is a share as a number of turns more or fewer.
func turns(share float64) string {
	switch n := int(math.Round(100 * share)); {
	case n > 0:
		return fmt.Sprintf("%d more", n)
	case n < 0:
		return fmt.Sprintf("%d fewer", -n)
	}
	return "0 more"
}

// untested says what is known of a memory that no turn was made without.
func untested(m *core.Memory, g *core.Governance) string {
	s := &m.Signals
	switch uses := number(s.Uses(), "use", "uses"); {
	case s.Uses() == 0 && s.RelevantTurns == 0:
		return "No turn has had it yet"
	case s.Uses() == 0:
		return fmt.Sprintf("No turn has used it, of %s that had it", number(s.RelevantTurns, "turn", "turns"))
	case !s.RidesAlong():
		return fmt.Sprintf("No turn was made without it to find out. Most of its %s named no other memory, and %d succeeded: it may well help", uses, s.Successes)
	default:
		text := fmt.Sprintf("It may only ride along with others: %d of its %s named other memories too, or were assumed or inferred, so that their success may be the others'", s.Shared+s.Assumed, uses)
		if g.Experiment != core.ExperimentOn {
			text += ". With experiment on, turns that are made without it show whether it helps"
		}
		return text
	}
}
