package web

import (
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/core/run"
)

// Memories are prose: two similar memories are long lines that differ in a word or two. So
// they are compared word by word, and each is shown as a paragraph in which the differences
// are marked.

// wordDiff is the difference between two texts.
type wordDiff struct {
	From, To []piece
	// Cut is whether the texts are longer than what is shown.
	Cut bool
}

// piece is a part of a text.
type piece struct {
	Text string
	// Mark is whether the other text lacks it, and Gap whether it represents omitted words
	// that both texts have.
	Mark, Gap bool
}

const (
	// equalWords is how many equal words are shown next to what differs.
	equalWords = 24
	// maxWords is how many words of a text are compared. The rest is left out.
	maxWords = 4000
)

// words compares two texts, as far as the page has room for them.
func (v *visit) words(from, to string) *wordDiff {
	a, moreOfA := splitWords(from)
	b, moreOfB := splitWords(to)
	d := &wordDiff{Cut: moreOfA || moreOfB}
	lines := run.DiffLines(a, b)
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && lines[end].Side == lines[i].Side {
			end++
		}
		d.add(v, lines[i:end], i == 0, end == len(lines))
		i = end
	}
	return d
}

// add adds words of one side, or of both.
func (d *wordDiff) add(v *visit, words []run.DiffLine, first, last bool) {
	side := words[0].Side
	if skipped := len(words) - 2*equalWords; side == run.SideBoth && skipped > equalWords {
		if !first {
			d.put(v, joinWords(words[:equalWords]), side, false)
		}
		d.put(v, " … ", side, true)
		if !last {
			d.put(v, joinWords(words[len(words)-equalWords:]), side, false)
		}
		return
	}
	d.put(v, joinWords(words), side, false)
}

// put adds a piece, if the page has room for it.
func (d *wordDiff) put(v *visit, text, side string, gap bool) {
	if !v.useRoom(text) {
		d.Cut = true
		return
	}
	if side == run.SideBoth { // both sides have it
		v.room -= escapedLen(text)
	}
	p := piece{text, side != run.SideBoth, gap}
	if side != run.SideTo {
		d.From = append(d.From, p)
	}
	if side != run.SideFrom {
		d.To = append(d.To, p)
	}
}

func joinWords(words []run.DiffLine) string {
	var text strings.Builder
	for _, w := range words {
		text.WriteString(w.Text)
	}
	return text.String()
}

// splitWords splits a text into words, each with the space after it. more is whether the
// text has more words than are compared.
func splitWords(text string) (words []string, more bool) {
	text = strings.ToValidUTF8(text, "\ufffd")
	begin, space := 0, false
	for i, r := range text {
		now := unicode.IsSpace(r)
		if space && !now {
			words, begin = append(words, text[begin:i]), i
			if len(words) == maxWords {
				return words, true
			}
		}
		space = now
	}
	if begin < len(text) {
		words = append(words, text[begin:])
	}
	return words, false
}
