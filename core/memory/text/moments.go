package text

import (
	"slices"
	"strings"
	"sync"
)

// traits are what a search wants to know of a text besides its words.
type traits uint8

const (
	// asks is a text that ends with a question mark, so that the next one may answer it.
	asks traits = 1 << iota
	// dated is a text that says when something was.
	dated
)

// moments are words that say when something was, with the names of months and days.
var moments = fields(`yesterday today tonight tomorrow ago since january february march april june july august september october
november december monday tuesday wednesday thursday friday saturday sunday`)

// spans are what "last", "next" and "this" make a moment of.
var spans = fields(`week weekend month year night morning evening afternoon summer winter spring fall autumn semester quarter season`)

// whenWords ask when something was; they are among the first words of a question.
var whenWords = fields(`when wann quand cuándo quando когда när når hvornår milloin mikor când متى kiedy wanneer kapan`)

// whenNouns are moments that "what" or "which" asks for.
var whenNouns = fields(`date day month year time`)

// saysWhen reports whether words say when something was.
func saysWhen(words []word) bool {
	for i, w := range words {
		if moments()[w.text] || isYear(w.text) {
			return true
		}
		if i > 0 && spans()[w.text] && (words[i-1].text == "last" || words[i-1].text == "next" || words[i-1].text == "this") {
			return true
		}
	}
	return false
}

// asksWhen reports whether words of a query ask when something was.
func asksWhen(words []word) bool {
	const first = 4
	words = words[:min(len(words), first)]
	return slices.ContainsFunc(words, func(w word) bool { return whenWords()[w.text] }) ||
		len(words) > 1 && (words[0].text == "what" || words[0].text == "which") && whenNouns()[words[1].text]
}

// isYear reports whether a word is a year that people speak of.
func isYear(s string) bool {
	return len(s) == 4 && (s[:2] == "19" || s[:2] == "20") && digit(s[2]) && digit(s[3])
}

// endsAsking reports whether a text ends with a question mark.
func endsAsking(text string) bool {
	text = strings.TrimRight(text, " \t\r\n\"')]*_")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// fields are the words of a list, as a set.
func fields(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			set[w] = true
		}
		return set
	})
}
