package text

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// Auto is the name of no language in particular: each text is read in its own, see [Index].
const Auto = "auto"

// None is the name of the language that stems nothing and leaves nothing out.
const None = "none"

// language is how the words of a text are stemmed, and which of them say too little to be indexed.
type language struct {
	name   string
	script *unicode.RangeTable
	stem   func(*snowballstem.Env) bool
	// stopWords are what the language is recognized by, and what isn't indexed.
	stopWords string
	// tonal is whether a mark on a letter makes it another word.
	tonal bool
}

// languages are known by their place. The first stems nothing; those without a stemmer are here so
// that texts in them aren't taken for another language.
var languages = []language{
	{name: None},
	{name: "english", script: unicode.Latin, stem: english.Stem, stopWords: englishWords},
	{name: "arabic", script: unicode.Arabic, stem: arabic.Stem, stopWords: arabicWords},
	{name: "danish", script: unicode.Latin, stem: danish.Stem, stopWords: danishWords},
	{name: "dutch", script: unicode.Latin, stem: dutch.Stem, stopWords: dutchWords},
	{name: "finnish", script: unicode.Latin, stem: finnish.Stem, stopWords: finnishWords},
	{name: "french", script: unicode.Latin, stem: french.Stem, stopWords: frenchWords},
	{name: "german", script: unicode.Latin, stem: german.Stem, stopWords: germanWords},
	{name: "hungarian", script: unicode.Latin, stem: hungarian.Stem, stopWords: hungarianWords},
	{name: "italian", script: unicode.Latin, stem: italian.Stem, stopWords: italianWords},
	{name: "norwegian", script: unicode.Latin, stem: norwegian.Stem, stopWords: norwegianWords},
	{name: "portuguese", script: unicode.Latin, stem: portuguese.Stem, stopWords: portugueseWords},
	{name: "romanian", script: unicode.Latin, stem: romanian.Stem, stopWords: romanianWords},
	{name: "russian", script: unicode.Cyrillic, stem: russian.Stem, stopWords: russianWords},
	{name: "spanish", script: unicode.Latin, stem: spanish.Stem, stopWords: spanishWords},
	{name: "swedish", script: unicode.Latin, stem: swedish.Stem, stopWords: swedishWords},
	{name: "tamil", script: unicode.Tamil, stem: tamil.Stem},
	{name: "turkish", script: unicode.Latin, stem: turkish.Stem, stopWords: turkishWords},
	{name: "indonesian", script: unicode.Latin, stopWords: indonesianWords},
	{name: "polish", script: unicode.Latin, stopWords: polishWords},
	{name: "vietnamese", script: unicode.Latin, stopWords: vietnameseWords, tonal: true},
}

// The places of languages that are named in code.
const (
	noLanguage uint8 = iota
	defaultLanguage
)

// maxLanguages bounds the languages: a word notes its own as bits.
const maxLanguages = 32

// Language is in which language the words of an index are read: one for all texts, or each text's own.
// The zero value stems nothing and leaves nothing out.
type Language struct {
	place uint8
	auto  bool
}

// LanguageOf returns the language of a name: one of [LanguageNames], or [Auto]. It is the zero value
// for any other.
func LanguageOf(name string) Language {
	if name == Auto {
		return Language{auto: true}
	}
	i := slices.IndexFunc(languages, func(l language) bool { return l.name == name })
	return Language{place: uint8(max(0, i))} //nolint:gosec // there are few
}

// Name is the name.
func (l Language) Name() string {
	if l.auto {
		return Auto
	}
	return languages[l.place].name
}

// LanguageNames are the names of the languages that can be stemmed, and [None], in order.
func LanguageNames() (names []string) {
	for _, l := range languages {
		if l.stem != nil || l.name == None {
			names = append(names, l.name)
		}
	}
	slices.Sort(names)
	return names
}

// stopWords are the languages that leave a word out, a bit for each by its place.
var stopWords = sync.OnceValue(func() map[string]uint32 {
	all := map[string]uint32{}
	for i, l := range languages {
		for w := range strings.FieldsSeq(l.stopWords) {
			all[w] |= 1 << i
		}
	}
	return all
})

// of is the language of a text's words: the one with the most of its stop words among them; of
// several, and if there is none, the default or the first of the words' script.
func (l Language) of(words []word) uint8 {
	if !l.auto {
		return l.place
	}
	var votes [32]int
	for i := range words {
		for set := stopWords()[words[i].text]; set != 0; set &= set - 1 {
			votes[bits.TrailingZeros32(set)]++
		}
	}
	best := defaultLanguage
	for i := range languages {
		if votes[i] > votes[best] {
			best = uint8(i) //nolint:gosec // there are few
		}
	}
	if votes[best] == 0 {
		return scriptLanguage(words)
	}
	return best
}

// scriptLanguage is the first language in whose script a text's first word is; the default if it has
// digits, and none for a script without a language.
func scriptLanguage(words []word) uint8 {
	for i := range words {
		for _, r := range words[i].text {
			if !unicode.IsLetter(r) {
				continue
			}
			at := slices.IndexFunc(languages, func(l language) bool { return l.script != nil && unicode.Is(l.script, r) })
			return uint8(max(0, at)) //nolint:gosec // there are few
		}
	}
	return defaultLanguage
}

// stops reports whether a word, in lower case, says too little in a language to be indexed.
func stops(language uint8, word string) bool { return stopWords()[word]&(1<<language) != 0 }

// stemmer computes stems. It isn't safe for concurrent use.
type stemmer struct{ env *snowballstem.Env }

// stems are what a word, in lower case, has in common with its other forms; none
// for an identifier or a word of another script. A word with accents has the stems of
// both ways to write it, since a stemmer's rules may need the accents and a writer
// may leave them out.
func (s *stemmer) stems(in uint8, word string) []string {
	l := &languages[in]
	if l.stem == nil || !l.spells(word) {
		return nil
	}
	stems := []string{fold(s.stem(l, word))}
	if plain := fold(word); plain != word {
		if stem := s.stem(l, plain); !slices.Contains(stems, stem) {
			stems = append(stems, stem)
		}
	}
	return stems
}

func (s *stemmer) stem(l *language, word string) string {
	if s.env == nil {
		s.env = snowballstem.NewEnv(word)
	} else {
		s.env.SetCurrent(word)
	}
	l.stem(s.env)
	return s.env.Current()
}

// spells reports whether a word has only letters of the language's script.
func (l *language) spells(word string) bool {
	for _, r := range word {
		if r < utf8.RuneSelf && l.script == unicode.Latin {
			if lower := r | 0x20; lower < 'a' || lower > 'z' {
				return false
			}
			continue
		}
		if !unicode.Is(l.script, r) && !unicode.Is(unicode.Mark, r) {
			return false
		}
	}
	return true
}

// folded is a word of a language without its accents, unless these make it another word.
func folded(in uint8, word string) string {
	if languages[in].tonal {
		return word
	}
	return fold(word)
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
