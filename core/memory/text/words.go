package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWordBytes is where a word is cut, so that a text without spaces doesn't
// become one huge word.
const maxWordBytes = 128

// Words yields the words of a text in their order: runs of letters, marks and
// digits, in lower case and in Unicode's compatibility form (NFKC). In scripts
// that don't put spaces between words each two neighbouring characters are one.
func Words(text string) iter.Seq[string] { return words(text, false) }

// words are the words of a text. With identifiers, what is joined by underscores, such as
// max_retries, comes as a whole before its parts.
func words(text string, identifiers bool) iter.Seq[string] {
	text = strings.ToLower(norm.NFKC.String(text))
	return func(yield func(string) bool) {
		// told is where the last identifier ended, counted from the text's end.
		for told := len(text); len(text) > 0; {
			if n := identifier(text); identifiers && n > 0 && len(text) <= told {
				if told = len(text) - n; !yield(cut(text[:n])) {
					return
				}
			}
			if c := text[0]; c < utf8.RuneSelf && !plain(c) {
				text = text[1:]
				continue
			}
			run, spaced := nextRun(text)
			text = text[len(run):]
			switch {
			case run == "":
				_, size := utf8.DecodeRuneInString(text)
				text = text[size:]
			case spaced:
				if !yield(cut(run)) {
					return
				}
			case !yieldPairs(run, yield):
				return
			}
		}
	}
}

// identifier is the length of the identifier at a text's start: words of ASCII that
// underscores join; 0 if there is none.
func identifier(text string) int {
	end, joined := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return 0
		case plain(c):
			joined = joined || end > 0 && end < i
			end = i + 1
		case c != '_' || i == 0:
			if !joined {
				return 0
			}
			return end
		}
	}
	if !joined {
		return 0
	}
	return end
}

// nextRun returns the characters at the text's start that belong together, and
// whether their script puts spaces between words.
func nextRun(text string) (run string, spaced bool) {
	if n := plainRun(text); n > 0 {
		return text[:n], true
	}
	for i, r := range text {
		if !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark) {
			return text[:i], spaced
		}
		if mark := unicode.Is(unicode.Mark, r); i == 0 {
			spaced = !unspaced(r)
		} else if !mark && spaced == unspaced(r) {
			return text[:i], spaced
		}
	}
	return text, spaced
}

// plainRun is the length of the word at the text's start, if it is plain ASCII, as most
// words are, and nothing after it can belong to it; otherwise 0, which says nothing.
func plainRun(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return 0
		case !plain(c):
			return i
		}
	}
	return len(text)
}

// plain is whether a character of ASCII belongs to a word.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}

// unspaced is whether a character belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// yieldPairs yields each two neighbouring characters, or the only one.
func yieldPairs(run string, yield func(string) bool) bool {
	first, second := 0, 0
	for i := range run {
		if i > 0 && second > 0 {
			if !yield(run[first:i]) {
				return false
			}
			first = second
		}
		second = i
	}
	return yield(run[first:])
}

// cut shortens a word to its bound, at a character's end.
func cut(word string) string {
	if len(word) <= maxWordBytes {
		return word
	}
	end := maxWordBytes
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}
