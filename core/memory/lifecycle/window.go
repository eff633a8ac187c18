package lifecycle

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// A window is what happened to a memory lately: each of its last turns that used it or passed it over.
// What worked once and fails now sinks within ten uses; the
// signals over its whole life would need as many uses again to notice.
const (
	// windowUses and windowOffers are what a window has at most: the offers since its tenth-last use.
	windowUses, windowOffers = 10, 40
	// entryBytes is an offer in a window: a letter for its outcome, and whose turn it was.
	entryBytes = 1 + whoBytes
	whoBytes   = 5
	// othersOffers is how many offers of one other subject a window counts.
	othersOffers = 5
	// provenSuccesses is how many successes of others make one subject's failures count as one.
	provenSuccesses = 2
)

// The outcomes of offers.
const (
	offered   = 'o'
	succeeded = 's'
	partly    = 'p'
	failed    = 'f'
)

// Who is a subject as windows have it: a few letters that don't show its name.
func Who(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:whoBytes]
}

// offer adds a turn that used the memory, or passed it over, to a window.
func offer(w core.Window, t *Turn) core.Window {
	outcome := byte(offered)
	if t.Used {
		switch t.Outcome {
		case core.OutcomeSuccess:
			outcome = succeeded
		case core.OutcomePartial:
			outcome = partly
		default:
			outcome = failed
		}
	}
	return trim(string(w) + string(outcome) + Who(t.Subject))
}

// trim leaves out what a window doesn't have. Where several subjects share it, the one with the most
// gives way, so that nobody's reports push out what others know.
func trim(w string) core.Window {
	for uses := tally(w, isUse); total(uses) >= windowUses; uses = tally(w, isUse) {
		who := most(uses)
		kept := uses[who] - (total(uses) - windowUses)
		cut := 0 // where its first use is that is kept
		for i, n := len(w)-entryBytes, 0; i >= 0 && n < kept; i -= entryBytes {
			if isUse(w[i]) && w[i+1:i+entryBytes] == who {
				cut, n = i, n+1
			}
		}
		shorter := without(w, who, cut)
		if len(shorter) == len(w) {
			break
		}
		w = shorter
	}
	for len(w) > windowOffers*entryBytes {
		who := most(tally(w, func(byte) bool { return true }))
		i := 0
		for w[i+1:i+entryBytes] != who {
			i += entryBytes
		}
		w = w[:i] + w[i+entryBytes:]
	}
	return core.Window(strings.Clone(w))
}

func isUse(outcome byte) bool { return outcome != offered }

// tally counts the offers of each subject with such an outcome.
func tally(w string, such func(outcome byte) bool) map[string]int {
	counts := map[string]int{}
	for i := 0; i < len(w); i += entryBytes {
		if such(w[i]) {
			counts[w[i+1:i+entryBytes]]++
		}
	}
	return counts
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// most is the subject with the highest count; of several, the first by its letters.
func most(counts map[string]int) (who string) {
	for by, n := range counts {
		if who == "" || n > counts[who] || n == counts[who] && by < who {
			who = by
		}
	}
	return who
}

// without leaves out a subject's offers before a place.
func without(w, who string, place int) string {
	var b strings.Builder
	for i := 0; i < len(w); i += entryBytes {
		if i >= place || w[i+1:i+entryBytes] != who {
			b.WriteString(w[i : i+entryBytes])
		}
	}
	return b.String()
}

// Standing is how a memory did lately, for one subject.
type Standing struct {
	// Offers are the turns that used it or passed it over, Uses those that used it, and Failures the
	// uses that failed.
	Offers, Uses, Failures int
}

// StandingOf counts a window for a subject. Others' turns count within bounds, so that one subject's
// reports don't change the order that others see: at most five offers of each, and one failure of each
// where others used the memory twice with success.
func StandingOf(w core.Window, subject string) (s Standing) {
	who := Who(subject)
	offers, failures, successes := map[string]int{}, map[string]int{}, map[string]int{}
	all := 0
	for i := len(w) - entryBytes; i >= 0; i -= entryBytes {
		by := string(w[i+1 : i+entryBytes])
		if by != who && offers[by] == othersOffers {
			continue
		}
		offers[by]++
		s.Offers++
		switch w[i] {
		case offered:
			continue
		case failed:
			failures[by]++
		case succeeded:
			successes[by]++
			all++
		}
		s.Uses++
	}
	for by, n := range failures {
		if by != who && all-successes[by] >= provenSuccesses {
			s.Uses -= n - 1
			s.Offers -= n - 1
			n = 1
		}
		s.Failures += n
	}
	return s
}

// leastFactor is the lowest failure factor, for a memory whose uses all failed.
const leastFactor = 0.1

// FailureFactor is the factor of a memory's score for its uses that failed. Adding two uses softens
// the effect of one or two failures.
func (s Standing) FailureFactor() float64 {
	return max(leastFactor, 1-float64(s.Failures)/float64(s.Uses+2))
}

// leastUse is the lowest use factor, for a memory that is always passed over.
const leastUse = 0.5

// UseFactor is the factor of a memory's score for the turns that passed it over. Adding two to both
// softens the effect of the first ones.
func (s Standing) UseFactor() float64 {
	return leastUse + float64((1-leastUse)*float64(s.Uses+2))/float64(s.Offers+2)
}
