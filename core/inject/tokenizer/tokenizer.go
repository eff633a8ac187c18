// Package tokenizer counts the tokens of texts as models do: by byte pairs, with the
// vocabularies that OpenAI publishes for its models. They are part of the program, so that
// every host counts alike, without a network.
//
// It is internal to Reflectory: its API may change in any release.
package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// The names of the vocabularies.
const (
	// CL100K is the vocabulary of GPT-4 and GPT-3.5 Turbo.
	CL100K = "cl100k_base"
	// O200K is the vocabulary of GPT-4o and what came after it.
	O200K = "o200k_base"
)

// Tokenizer splits texts into the tokens of one vocabulary. It is for use by many goroutines
// at once.
type Tokenizer struct {
	split *regexp2.Regexp
	ranks map[string]uint32
}

// The first use of a vocabulary reads it, in some 100 ms, and keeps 10 to 20 MB.
var known = map[string]func() *Tokenizer{
	CL100K: sync.OnceValue(func() *Tokenizer { return read(CL100K) }),
	O200K:  sync.OnceValue(func() *Tokenizer { return read(O200K) }),
}

// Named is the tokenizer of a name, and nil if there is none.
func Named(name string) *Tokenizer {
	if get := known[name]; get != nil {
		return get()
	}
	return nil
}

// maxRun is the most characters of one kind in a row that are merged with each other. Merging takes
// time by the square of the run, which a hostile text would have as long as itself. Words are
// shorter; in a longer run a token more is counted here and there.
const maxRun = 128

// Count is how many tokens a text has. What looks like a special token is text.
func (t *Tokenizer) Count(text string) int {
	n := 0
	for part := range parts(text) {
		n += len(t.tokens(part))
	}
	return n
}

// First is what the first n tokens of a text hold, without a character that they hold a part of.
func (t *Tokenizer) First(text string, n int) string {
	end := 0
	for part := range parts(text) {
		tokens := t.tokens(part)
		for _, length := range tokens[:min(n, len(tokens))] {
			end += length
		}
		if n -= len(tokens); n <= 0 {
			break
		}
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// parts are the pieces of a text that are counted apart: a run of more than [maxRun] characters of
// one kind is cut.
func parts(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from, run, before := 0, 0, kind(0)
		for at, r := range text {
			k := kindOf(r)
			if k != before {
				run = 0
			}
			if run == maxRun {
				if !yield(text[from:at]) {
					return
				}
				from, run = at, 0
			}
			run, before = run+1, k
		}
		if from < len(text) {
			yield(text[from:])
		}
	}
}

// kind is what characters are merged with each other.
type kind int

const (
	letter kind = iota + 1
	space
	other
)

func kindOf(r rune) kind {
	switch {
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return letter
	}
	return other
}
