package text

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/hungarian"
	"github.com/kljensen/snowball/norwegian"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
	"github.com/kljensen/snowball/swedish"
	"golang.org/x/text/unicode/norm"
)

// Language is how the words of an index are stemmed, and which of them are left
// out. The zero value stems nothing and leaves nothing out, for languages without a
// stemmer.
type Language struct {
	name   string
	script *unicode.RangeTable
	stem   func(word string, stopWordsToo bool) string
	stop   func(word string) bool
}

// Name is the name, "" of the zero value.
func (l Language) Name() string { return l.name }

// LanguageOf returns the language of a name, the zero value for any that isn't
// known: "english", "french", "hungarian", "norwegian", "russian", "spanish" and
// "swedish" are.
func LanguageOf(name string) Language {
	switch name {
	case "english":
		return Language{name, unicode.Latin, english.Stem, english.IsStopWord}
	case "french":
		return Language{name, unicode.Latin, french.Stem, french.IsStopWord}
	case "hungarian":
		return Language{name, unicode.Latin, hungarian.Stem, hungarian.IsStopWord}
	case "norwegian":
		return Language{name, unicode.Latin, norwegian.Stem, norwegian.IsStopWord}
	case "russian":
		return Language{name, unicode.Cyrillic, russian.Stem, russian.IsStopWord}
	case "spanish":
		return Language{name, unicode.Latin, spanish.Stem, spanish.IsStopWord}
	case "swedish":
		return Language{name, unicode.Latin, swedish.Stem, swedish.IsStopWord}
	}
	return Language{}
}

// stops reports whether a word, in lower case, says too little to be indexed.
func (l Language) stops(word string) bool { return l.stop != nil && l.stop(word) }

// stems are what a word, in lower case, has in common with its other forms; none
// for an identifier or a word of another script. A word with accents has the stems of
// both ways to write it, since a stemmer's rules may need the accents and a writer
// may leave them out.
func (l Language) stems(word string) []string {
	if l.stem == nil || !l.spells(word) {
		return nil
	}
	stems := []string{fold(l.stem(word, true))}
	if plain := fold(word); plain != word {
		if stem := l.stem(plain, true); !slices.Contains(stems, stem) {
			stems = append(stems, stem)
		}
	}
	return stems
}

// spells reports whether a word has only letters of the language's script.
func (l Language) spells(word string) bool {
	for _, r := range word {
		if !unicode.Is(l.script, r) && !unicode.Is(unicode.Mark, r) {
			return false
		}
	}
	return true
}

// fold removes the accents from a word: the marks of Latin, Greek and Cyrillic letters. In
// other scripts, marks are vowels and the like: without them it would be another word.
func fold(word string) string {
	if isASCII(word) {
		return word
	}
	var b strings.Builder
	accented := false
	for _, r := range norm.NFD.String(word) {
		if unicode.Is(unicode.Mark, r) && accented {
			continue
		}
		accented = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
