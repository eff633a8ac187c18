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
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range tokens(strings.ToLower(norm.NFKC.String(text)), false) {
			if !yield(w.text) {
				return
			}
		}
	}
}

// word is a word of a text.
type word struct {
	text string
	// joined is whether it is an identifier as a whole, whose parts follow.
	joined bool
}

// indexed are the words by which a text is found: as [Words] has them, but for identifiers, such as
// maxRetries, max_retries and max-retries. They come as a whole, in one form for all styles
// (maxretries), and in their parts (max, retries).
func indexed(text string) iter.Seq[word] { return tokens(norm.NFKC.String(text), true) }

// tokens are the words of a text in Unicode's compatibility form, with or without identifiers.
func tokens(text string, identifiers bool) iter.Seq[word] {
	return func(yield func(word) bool) {
		for len(text) > 0 {
			if c := text[0]; c < utf8.RuneSelf && !plain(c) {
				text = text[1:]
				continue
			}
			if n := identifier(text); identifiers && n > 0 {
				if !yieldIdentifier(text[:n], yield) {
					return
				}
				text = text[n:]
				continue
			}
			run, spaced := nextRun(text)
			text = text[len(run):]
			switch {
			case run == "":
				_, size := utf8.DecodeRuneInString(text)
				text = text[size:]
			case spaced:
				if !yield(word{text: lower(run)}) {
					return
				}
			case !yieldPairs(run, yield):
				return
			}
		}
	}
}

// lower is a word as it is indexed.
func lower(run string) string { return cut(strings.ToLower(run)) }

// identifier is the length of what stands at a text's start and may be an identifier: words of ASCII
// that underscores or single hyphens join; 0 if a letter of another script belongs to it.
func identifier(text string) int {
	end := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			if end == i {
				return 0
			}
			return end
		case plain(c):
			end = i + 1
		case c != '_' && (c != '-' || end < i):
			return end
		}
	}
	return end
}

// yieldIdentifier yields an identifier as a whole and its parts; a single word once.
func yieldIdentifier(s string, yield func(word) bool) bool {
	first := partOf(s)
	if len(first) == len(s) {
		return yield(word{text: lower(s)})
	}
	if strings.ContainsFunc(s, unicode.IsLetter) {
		whole := strings.Map(func(r rune) rune {
			if r == '_' || r == '-' {
				return -1
			}
			return r
		}, s)
		if !yield(word{text: lower(whole), joined: true}) {
			return false
		}
	}
	for len(s) > 0 {
		part := partOf(s)
		if !yield(word{text: lower(part)}) {
			return false
		}
		s = strings.TrimLeft(s[len(part):], "_-")
	}
	return true
}

// partOf is the first part of an identifier: up to a mark that joins, a digit next to a letter, or
// the capital with which the next word begins.
func partOf(s string) string {
	for i := 1; i < len(s); i++ {
		before, c := s[i-1], s[i]
		switch {
		case c == '_' || c == '-', digit(before) != digit(c), capital(c) && !capital(before):
			return s[:i]
		case capital(before) && !capital(c) && i > 1 && capital(s[i-2]): // the P of HTTPServer's S
			return s[:i-1]
		}
	}
	return s
}

func digit(c byte) bool   { return c >= '0' && c <= '9' }
func capital(c byte) bool { return c >= 'A' && c <= 'Z' }

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
func yieldPairs(run string, yield func(word) bool) bool {
	first, second := 0, 0
	for i := range run {
		if i > 0 && second > 0 {
			if !yield(word{text: run[first:i]}) {
				return false
			}
			first = second
		}
		second = i
	}
	return yield(word{text: run[first:]})
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
