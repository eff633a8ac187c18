package dream

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/memory/text"
)

// The guard looks for a reason why two texts don't say the same, since any measure of
// similarity, especially a cosine, considers "do retry" and "do not retry" similar. It
// reads the facts of both: numbers, dates, negations, quantifiers and so on, each class as
// a list in the order of the text. Different lists are a hard difference, wherever the
// facts are in the text: a fact in another place belongs to something else. The remaining
// words are aligned one by one, and each difference is a tense, a person, a name, an
// addition or another value. Words that the guard doesn't understand prevent a merge.

// difference is what the guard finds: a class, and the words that differ.
type difference struct {
	class string
	words [2]string
}

// guard returns the difference between two texts, or nil.
func guard(a, b []text.Token) *difference {
	wordsA, wordsB := readWords(a), readWords(b)
	if d := differentFacts(wordsA, wordsB); d != nil {
		return d
	}
	aligned := align(wordsA, wordsB)
	return aligned.difference()
}

// word is a token with what the guard knows about it.
type word struct {
	text.Token
	// base is the form that all variants of the word share: "go" for went and goes, and "child"
	// for children and kids.
	base string
	// tense is how the verb is inflected, if it is one.
	tense inflection
	// class is the class of facts that it belongs to, "" for other words, and fact what it
	// says there.
	class, fact string
}

// inflection is the tense that a word's ending shows.
type inflection int

const (
	plain inflection = iota
	past
	going // -ing
	participle
	infinitive
)

// readWords reads tokens, without words that have no meaning by themselves.
func readWords(tokens []text.Token) []word {
	lexicon := lexicon()
	list := make([]word, 0, len(tokens))
	for i := range tokens {
		t := &tokens[i]
		if t.Kind == text.Word && lexicon.fillers[t.Word] {
			continue
		}
		w := word{Token: *t, base: t.Form}
		if t.Kind == text.Word {
			verb := lexicon.inflection(t)
			w.base, w.tense = verb.base, verb.tense
		}
		w.class, w.fact = factOf(lexicon, tokens, i)
		list = append(list, w)
	}
	if n := len(list); n > 0 {
		list[n-1].Break = "" // whether a text ends with a full stop says nothing
	}
	return list
}

// differentFacts compares the facts of each hard class, and what is negated.
func differentFacts(a, b []word) *difference {
	for _, class := range Classes() {
		if !isHard(class) {
			break
		}
		i, j := 0, 0
		for {
			for i < len(a) && a[i].class != class {
				i++
			}
			for j < len(b) && b[j].class != class {
				j++
			}
			if i == len(a) && j == len(b) {
				break
			}
			if i == len(a) || j == len(b) || a[i].fact != b[j].fact {
				return &difference{class, [2]string{shown(a, i), shown(b, j)}}
			}
			i, j = i+1, j+1
		}
		if class == Negation {
			if d := differentlyNegated(a, b); d != nil {
				return d
			}
		}
	}
	return oppositeWords(a, b)
}

// shown is a word as a report has it; "" if there is none. A number has its unit.
func shown(list []word, i int) string {
	if i >= len(list) {
		return ""
	}
	if s := list[i].Word; i+1 < len(list) && list[i].Kind == text.Number && list[i+1].Kind == text.Unit {
		return s + " " + list[i+1].Word
	}
	return list[i].Word
}

// differentlyNegated finds a word that is negated in one text and said in the other.
func differentlyNegated(a, b []word) *difference {
	inA, inB := negated(a), negated(b)
	if len(inA) == 0 || len(inB) == 0 {
		return nil
	}
	for _, w := range inA {
		if !contains(inB, w) && contains(b, w) {
			return &difference{Negation, [2]string{"not " + w.Word, w.Word}}
		}
	}
	for _, w := range inB {
		if !contains(inA, w) && contains(a, w) {
			return &difference{Negation, [2]string{w.Word, "not " + w.Word}}
		}
	}
	return nil
}

func contains(list []word, w word) bool {
	for i := range list {
		if list[i].base == w.base {
			return true
		}
	}
	return false
}

// negated are the words that negations belong to: the next word with content, or, if none
// follows, the last one before. At most maxNegated are examined, which limits the work.
func negated(list []word) []word {
	const maxNegated = 32
	lexicon := lexicon()
	content := func(i int) bool {
		return list[i].Kind == text.Word && list[i].class == "" && !lexicon.grammar[list[i].Form]
	}
	var found []word
	for i := range list {
		if list[i].class != Negation {
			continue
		}
		at := i + 1
		for at < len(list) && !content(at) {
			at++
		}
		if at == len(list) {
			for at = i - 1; at >= 0 && !content(at); at-- {
			}
		}
		if at >= 0 {
			found = append(found, list[at])
		}
		if len(found) == maxNegated {
			break
		}
	}
	return found
}

// oppositeWords finds a word of one text whose opposite the other has in its place.
func oppositeWords(a, b []word) *difference {
	opposites := lexicon().opposites
	other := map[string]string{}
	for _, w := range onlyIn(b, a) {
		if w.Kind == text.Word {
			other[w.Form], other[w.base] = w.Word, w.Word
		}
	}
	for _, w := range onlyIn(a, b) {
		if w.Kind != text.Word {
			continue
		}
		for _, form := range [...]string{w.Form, w.base} {
			for _, opposite := range slices.Concat(opposites[form], negations(form)) {
				if other[opposite] != "" {
					return &difference{Antonym, [2]string{w.Word, other[opposite]}}
				}
			}
		}
	}
	return nil
}

// negations are possible opposites of a word: with a negative prefix added or removed, or with
// -ful and -less exchanged.
func negations(form string) (list []string) {
	for _, p := range negativePrefixes {
		if rest, is := strings.CutPrefix(form, p); is && len(rest) > 2 {
			list = append(list, rest)
		}
		if len(form) > 2 {
			list = append(list, p+form)
		}
	}
	for _, e := range [...][2]string{{"ful", "less"}, {"less", "ful"}} {
		if rest, is := strings.CutSuffix(form, e[0]); is {
			list = append(list, rest+e[1])
		}
	}
	return list
}

// negativePrefixes make the opposite of a word.
var negativePrefixes = []string{"un", "in", "im", "ir", "il", "dis", "non", "de", "mis", "anti"}

// onlyIn are the words that are more frequent in a list than in another.
func onlyIn(list, other []word) []word {
	count := make(map[string]int, len(other))
	for i := range other {
		count[other[i].base]++
	}
	var only []word
	for i := range list {
		if count[list[i].base]--; count[list[i].base] < 0 {
			only = append(only, list[i])
		}
	}
	return only
}
