// Package window makes what a prompt uses from a session's earlier turns: the newest ones by
// their summaries and, once all summaries would fill the prompt, the oldest ones in one
// block, which a model writes, or else has one sentence for each turn.
//
// A summary block is part of the prefix that a model's provider caches, so it should
// change rarely. Turns are therefore folded into it in batches: when the texts would
// exceed 80 % of the prompt, the oldest are folded until half of that is left. What is
// folded depends on the turns alone, so a prompt can be made again.
//
// It is internal to Reflectory: its API may change in any release.
package window

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The shares of a prompt.
const (
	fullShare   = .8 // above it, turns are folded,
	foldedShare = .4 // until less than this is left.
	blockShare  = .2 // The summary of all folded turns may have so much.
)

// maxSentence is the longest sentence of a folded turn, in characters.
const maxSentence = 200

// Turn is a turn with what its feedback said about it.
type Turn struct {
	Number int64
	Text   string
}

// Folded is what a prompt uses from the turns.
type Folded struct {
	// Old are the folded turns, the oldest first, and Room is how many characters their
	// summary may have.
	Old  []Turn
	Room int
	// Earlier are the folded turns with a sentence each, the oldest first. LeftOut counts
	// those before them whose sentences didn't fit.
	Earlier []Turn
	LeftOut int
	// Recent are the other turns, the oldest first.
	Recent []Turn
	// Fill is the share of the prompt that the texts would take, up to 1.
	Fill float64
}

// Fold folds the oldest turns, so that the texts don't fill a prompt of maxChars
// characters.
func Fold(turns []Turn, maxChars int) *Folded {
	f := &Folded{Room: int(blockShare * float64(maxChars))}
	chars, began := 0, 0
	for i, t := range turns {
		chars += utf8.RuneCountInString(t.Text)
		if float64(chars) <= fullShare*float64(maxChars) {
			continue
		}
		for began < i && float64(chars) > foldedShare*float64(maxChars) {
			chars -= utf8.RuneCountInString(turns[began].Text)
			began++
		}
	}
	f.Old, f.Recent = turns[:began], turns[began:]
	f.Earlier = sentences(f.Old, f.Room)
	f.LeftOut = len(f.Old) - len(f.Earlier)
	for _, t := range f.Earlier {
		chars += utf8.RuneCountInString(t.Text)
	}
	if maxChars > 0 {
		f.Fill = min(1, float64(chars)/float64(maxChars))
	}
	return f
}

// sentences are the first sentences of the newest turns, as many as fit into most characters,
// and at least one.
func sentences(turns []Turn, most int) []Turn {
	list := make([]Turn, len(turns))
	first := len(turns)
	for i := len(turns) - 1; i >= 0; i-- {
		list[i] = Turn{turns[i].Number, firstSentence(turns[i].Text)}
		if most -= utf8.RuneCountInString(list[i].Text); most < 0 && first < len(turns) {
			break
		}
		first = i
	}
	return list[first:]
}

// firstSentence is the text up to its first full stop, question or exclamation mark that
// ends a word, or its first line break.
func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	runes := []rune(text)
	for i, r := range runes {
		last := i+1 == len(runes)
		switch {
		case r == '\n':
			return cut(runes[:i], maxSentence)
		case strings.ContainsRune(".?!", r) && (last || unicode.IsSpace(runes[i+1])), strings.ContainsRune("。？！", r):
			return cut(runes[:i+1], maxSentence)
		}
	}
	return cut(runes, maxSentence)
}

// Cut is the beginning of a text, of at most some characters.
func Cut(text string, most int) string { return cut([]rune(text), most) }

func cut(runes []rune, most int) string {
	if len(runes) <= most {
		return strings.TrimSpace(string(runes))
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}
