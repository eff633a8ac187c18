package inject

import (
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A budget bounds characters, or tokens, or both. With both, a category's share is a share
// of each, and what fits, fits both.

// size is how much of a budget a payload takes.
type size struct{ chars, tokens int }

// unlimited is more than all payloads together.
var unlimited = size{math.MaxInt / 8, math.MaxInt / 8}

// charsPerToken is what [Chars4] counts by.
const charsPerToken = 4

// minCut is the least room for which a block is cut rather than dropped, in characters.
const minCut = 32

// ellipsis is at the end of a text that was cut. It counts as a character.
const ellipsis = "…"

func sizeOf(chars int) size { return size{chars, (chars + charsPerToken - 1) / charsPerToken} }

func (s size) plus(t size) size      { return size{s.chars + t.chars, s.tokens + t.tokens} }
func (s size) minus(t size) size     { return size{s.chars - t.chars, s.tokens - t.tokens} }
func (s size) within(most size) bool { return s.chars <= most.chars && s.tokens <= most.tokens }

// room is how many characters fit.
func (s size) room() int { return min(s.chars, s.tokens*charsPerToken) }

// take fits a block into what is left of the budget: whole if it fits, otherwise cut. It
// reports whether that was possible.
func (p *piece) take(left *size) bool {
	if !p.size.within(*left) && !p.cut(left.room()) {
		return false
	}
	*left = left.minus(p.size)
	return true
}

// cut shortens a block to a number of characters, and reports whether it could: text with
// an ellipsis, and XML after a whole child of its root.
func (p *piece) cut(most int) bool {
	if most < minCut {
		return false
	}
	if p.xml != nil {
		payload, chars := p.xml.cutTo(p.draft.Payload, most)
		if chars > 0 {
			p.payload, p.size = payload, sizeOf(chars)
		}
		return chars > 0
	}
	p.payload, p.size = firstChars(p.draft.Payload, most-1)+ellipsis, sizeOf(most)
	return true
}

// firstChars are the first code points of a text that has more.
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

// budget is step 9. Anchors take what they need. Of the rest each category gets a fair share, from which its
// blocks are taken in order. A block that is dropped there, but fits whole into everything that is left in
// the end, is kept.
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
		if !p.take(&shares[p.rank]) {
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

// shares is each category's part of what the anchors left. In the mode single there is one
// block besides the anchors, which gets everything.
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

// fairShares is the max-min fair division of a whole among the categories that need some
// of it: one that needs no more than an equal part gets its need, and the rest is divided
// again. What doesn't divide goes to the first by rank.
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
