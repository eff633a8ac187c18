package lifecycle

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// A window is what happened to a memory lately: the last turns of each subject that used it or passed it over.
// What worked once and fails now sinks within ten uses; the
// signals over its whole life would need as many uses again to notice.
const (
	// windowUses and windowOffers are what a window has at most: of each subject the offers since its
	// tenth-last use, and 40 in all.
	windowUses, windowOffers = 10, 40
	// entryBytes is an offer in a window: a letter for its outcome, and whose turn it was.
	entryBytes = 1 + whoBytes
	whoBytes   = 5
	// othersOffers is how many offers of one other subject a window counts.
	othersOffers = 5
	// provenSuccesses is how many successes of others bound what one subject's turns count.
	provenSuccesses = 2
)

// The outcomes of offers. A window begins with who wrote the memory, if that is known.
const (
	written   = 'w'
	offered   = 'o'
	succeeded = 's'
	partly    = 'p'
	failure   = 'f'
)

// Who is a subject as windows have it: a few letters that don't show its name.
func Who(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:whoBytes]
}

// Written is the window of a new memory, with the subject that wrote it; "" is none.
func Written(subject string) core.Window {
	if subject == "" {
		return ""
	}
	return core.Window(string(rune(written)) + Who(subject))
}

// parts are a window's author, as an entry or "", and its offers.
func parts(w core.Window) (author, offers string) {
	if len(w) > 0 && w[0] == written {
		return string(w[:entryBytes]), string(w[entryBytes:])
	}
	return "", string(w)
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
			outcome = failure
		}
	}
	author, offers := parts(w)
	return core.Window(author + trim(offers+string(outcome)+Who(t.Subject)))
}

// trim leaves out what a window doesn't have: of each subject what is before its tenth-last use, and then
// of the subject that has the most, so that nobody's reports push out what others know.
func trim(w string) string {
	for who, uses := range tally(w, isUse) {
		cut, n := 0, 0 // where its first use is that is kept
		for i := len(w) - entryBytes; i >= 0 && uses >= windowUses && n < windowUses; i -= entryBytes {
			if isUse(w[i]) && w[i+1:i+entryBytes] == who {
				cut, n = i, n+1
			}
		}
		w = without(w, who, cut)
	}
	for len(w) > windowOffers*entryBytes {
		who := most(tally(w, func(byte) bool { return true }))
		i := 0
		for w[i+1:i+entryBytes] != who {
			i += entryBytes
		}
		w = w[:i] + w[i+entryBytes:]
	}
	return w
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
	// Q is what the uses earned: from .5, each moves it a fifth of the way to its reward.
	Q float64
}

// StandingOf counts a window for a subject. Others' turns count within bounds, so that one subject's
// reports don't change the order in which others find what has proved itself. The author's own uses count
// nothing. Once others than a subject used the memory twice with success, the subject's turns count
// nothing to others: that it fails by now, each finds out by itself, and [Fallen] by all. Of other
// subjects' turns the last five each count.
func StandingOf(w core.Window, subject string) Standing {
	return standing(w, Who(subject), initial, func(string) bool { return true })
}

// OwnStandingOf counts a window for a subject whose needs may be others' opposite: once it used the memory
// itself, only its own turns count, and what others' uses earned is where its own begin.
func OwnStandingOf(w core.Window, subject string) Standing {
	who, shared := Who(subject), StandingOf(w, subject)
	if own := standing(w, who, shared.Q, func(by string) bool { return by == who }); own.Uses > 0 {
		return own
	}
	return shared
}

// AloneStandingOf counts a window's turns of one subject. What no report of others may change, such as which
// other memories are near, goes by it.
func AloneStandingOf(w core.Window, subject string) Standing {
	who := Who(subject)
	return standing(w, who, initial, func(by string) bool { return by == who })
}

// standing counts the turns of some subjects, from a q on.
func standing(w core.Window, who string, q float64, of func(by string) bool) (s Standing) {
	author, entries := parts(w)
	if entries == "" {
		return Standing{Q: q}
	}
	var counted [windowOffers + 1]bool
	successes, all := map[string]int{}, 0
	for i := 0; i < len(entries); i += entryBytes {
		by := entries[i+1 : i+entryBytes]
		if by != who && isUse(entries[i]) && author != "" && by == author[1:] {
			continue
		}
		counted[i/entryBytes] = by == who || all-successes[by] < provenSuccesses
		if entries[i] == succeeded {
			successes[by]++
			all++
		}
	}
	share, offers := 1.0, map[string]int{}
	for i := len(entries) - entryBytes; i >= 0; i -= entryBytes {
		by := entries[i+1 : i+entryBytes]
		if !of(by) || !counted[i/entryBytes] || by != who && offers[by] == othersOffers {
			continue
		}
		offers[by]++
		s.Offers++
		if !isUse(entries[i]) {
			continue
		}
		s.Uses++
		switch entries[i] {
		case failure:
			s.Failures++
		case partly:
			s.Q += float64(creditRate * share * .5)
		default:
			s.Q += creditRate * share
		}
		share *= 1 - creditRate
	}
	s.Q = core.Rounded(s.Q + float64(q*share))
	return s
}

// What makes knowledge fall: so many uses in a row that failed, the newest of them, or fewer with so many
// offers since that passed it over.
const (
	fallUses, fallUsesPassed = 3, 2
	fallPassed               = 5
)

// Fallen reports whether what became knowledge fails by now: failed counts its last uses that failed, and
// passed the offers since the last use. Each subject's count within the bounds of [StandingOf].
func Fallen(w core.Window) (failed, passed int, fallen bool) {
	_, entries := parts(w)
	offers, failures, successes := map[string]int{}, map[string]int{}, tally(entries, func(outcome byte) bool { return outcome == succeeded })
	all := total(successes)
	for i := len(entries) - entryBytes; i >= 0; i -= entryBytes {
		by := entries[i+1 : i+entryBytes]
		if entries[i] == offered {
			if offers[by]++; failed == 0 && offers[by] <= othersOffers {
				passed++
			}
			continue
		}
		if entries[i] != failure {
			break
		}
		if failures[by]++; failures[by] == 1 || all-successes[by] < provenSuccesses {
			failed++
		}
	}
	return failed, passed, failed >= fallUses || failed >= fallUsesPassed && passed >= fallPassed
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
