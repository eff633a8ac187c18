package inject

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject/tokenizer"
	"github.com/reflectory/reflectory/sdk"
)

// A budget bounds characters, or tokens, or both. With both, a category's share is a share of each,
// and a block has to fit both.

// size is how much of a budget a payload takes.
type size struct{ chars, tokens int }

// measure counts the tokens of payloads: with the policy's vocabulary, or by estimate if it is nil.
type measure struct{ vocabulary *tokenizer.Tokenizer }

// unlimited is more than all payloads together.
var unlimited = size{math.MaxInt / 8, math.MaxInt / 8}

// charsPerToken is the number of characters that [Chars4] counts as a token.
const charsPerToken = 4

// minCut is the smallest room into which a block is cut instead of being dropped, in characters.
const minCut = 32

// ellipsis is at the end of a text that was cut. It counts as a character.
const ellipsis = "…"

// measureOf is the measure of a policy. Without a limit on tokens, no vocabulary is looked up.
func measureOf(p *Policy) measure {
	if p.MaxTokens == 0 {
		return measure{}
	}
	return measure{tokenizer.Named(p.Tokenizer)}
}

// size returns the size of a payload of so many characters.
func (m measure) size(payload string, chars int) size {
	if m.vocabulary != nil {
		return size{chars, m.vocabulary.Count(payload)}
	}
	return size{chars, (chars + charsPerToken - 1) / charsPerToken}
}

func (s size) plus(t size) size      { return size{s.chars + t.chars, s.tokens + t.tokens} }
func (s size) minus(t size) size     { return size{s.chars - t.chars, s.tokens - t.tokens} }
func (s size) within(most size) bool { return s.chars <= most.chars && s.tokens <= most.tokens }

// room is how many characters fit, counting four per token.
func (s size) room() int { return min(s.chars, s.tokens*charsPerToken) }

// fit fits a block into the rest of the budget: whole if it fits, otherwise cut. It reports
// whether that was possible.
func (m measure) fit(p *piece, left *size) bool {
	if !p.size.within(*left) && !m.cut(p, *left) {
		return false
	}
	*left = left.minus(p.size)
	return true
}

// cut shortens a block to the room that is left, and reports whether that was possible. Text is cut
// with an ellipsis, and XML after a whole child of its root. A memory's text stays whole: half of it may
// say something else.
func (m measure) cut(p *piece, left size) bool {
	if left.room() < minCut || p.draft.recalled() {
		return false
	}
	if p.kept != nil { // its text is gone, but what was kept of it is recorded
		kept := m.size(PurgedPayload, p.kept.Chars)
		if p.kept.Chars < p.chars && kept.within(left) {
			p.payload, p.size = PurgedPayload, kept
			return true
		}
		return false
	}
	var payload string
	if p.xml != nil {
		payload = p.xml.longest(p.draft.Payload, func(payload string, chars int) bool { return m.size(payload, chars).within(left) })
	} else {
		payload = m.firstOf(p, left)
	}
	if payload == "" {
		return false
	}
	p.payload, p.size = payload, m.size(payload, utf8.RuneCountInString(payload))
	return true
}

// firstOf is the longest beginning of a text that fits together with an ellipsis, by characters or
// by whole tokens; "" if there is none.
func (m measure) firstOf(p *piece, left size) string {
	most := left.chars
	if m.vocabulary == nil {
		most = left.room()
	}
	if most < p.chars {
		payload := firstChars(p.draft.Payload, most-1) + ellipsis
		if m.size(payload, most).within(left) {
			return payload
		}
	}
	for n := left.tokens; n > 0; n-- { // one of the first few fits: an ellipsis is a token
		payload := m.vocabulary.First(p.draft.Payload, n) + ellipsis
		chars := utf8.RuneCountInString(payload)
		if chars < p.chars && m.size(payload, chars).within(left) {
			return payload
		}
	}
	return ""
}

// firstChars returns the first code points of a longer text.
func firstChars(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}

// limits is the whole budget.
func (p *Policy) limits() size {
	all := unlimited
	if p.MaxChars > 0 {
		all.chars = p.MaxChars
	}
	if p.MaxTokens > 0 {
		all.tokens = p.MaxTokens
	}
	return all
}

// budget is step 9. Anchors take what they need. Each category gets a fair share of the rest, which
// its blocks use in order. A block that is dropped there, but fits whole into the room that is left
// at the end, is kept.
func (a *assembly) budget() error {
	left, err := a.afterAnchors()
	if err != nil {
		return err
	}
	shares := a.shares(left)
	var dropped []*piece
	for _, p := range a.blocks {
		if p.anchor {
			continue
		}
		if !a.measure.fit(p, &shares[p.rank]) {
			dropped = append(dropped, p)
			continue
		}
		left = left.minus(p.size)
	}
	again := map[*piece]bool{}
	for _, p := range dropped {
		if again[p] = !p.size.within(left); !again[p] {
			left = left.minus(p.size)
		}
	}
	a.leave(func(p *piece) Reason {
		if again[p] {
			return OverBudget
		}
		return ""
	})
	return nil
}

// afterAnchors is what the anchors leave of the budget.
func (a *assembly) afterAnchors() (size, error) {
	left := a.policy.limits()
	var ids []string
	for _, p := range a.blocks {
		if p.anchor {
			left, ids = left.minus(p.size), append(ids, p.draft.BlockID)
		}
	}
	if left.chars >= 0 && left.tokens >= 0 {
		return left, nil
	}
	slices.Sort(ids)
	need := a.policy.limits().minus(left)
	return left, sdk.Errorf(sdk.Conflict, "anchors_exceed_budget", "the anchors have %d characters, %d tokens, more than the budget: %s", need.chars, need.tokens, core.Cut(strings.Join(ids, ", "))).
		WithHint("anchors are never cut or dropped: make them shorter, or raise max_chars or max_tokens").WithDetail("anchors", ids)
}

// shares is each category's part of what the anchors left. In the mode single there is only one
// other block, which gets everything.
func (a *assembly) shares(left size) (shares [len(categories)]size) {
	var needs [len(categories)]size
	for _, p := range a.blocks {
		if !p.anchor {
			needs[p.rank] = needs[p.rank].plus(p.size)
		}
	}
	if a.policy.Mode == Single {
		for i := range shares {
			shares[i] = left
		}
		return shares
	}
	chars := fairShares(left.chars, func(i int) int { return needs[i].chars })
	tokens := fairShares(left.tokens, func(i int) int { return needs[i].tokens })
	for i := range shares {
		shares[i] = size{chars[i], tokens[i]}
	}
	return shares
}

// fairShares is the max-min fair division of a whole among the categories that need some of it. A
// category that needs no more than an equal part gets what it needs, and the rest is divided again.
// A remainder goes to the first categories by rank.
func fairShares(whole int, need func(int) int) (shares [len(categories)]int) {
	var open []int
	for i := range categories {
		if need(i) > 0 {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		equal := whole / len(open)
		var wanting []int
		taken := 0
		for _, i := range open {
			if need(i) <= equal {
				shares[i] = need(i)
				taken += need(i)
			} else {
				wanting = append(wanting, i)
			}
		}
		if whole -= taken; len(wanting) == len(open) {
			for _, i := range open {
				shares[i] = equal
			}
			shares[open[0]] += whole % len(open)
			break
		}
		open = wanting
	}
	return shares
}
