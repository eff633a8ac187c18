// Package tokenizer counts the tokens of texts as models do: by byte pairs, with the
// vocabularies that OpenAI publishes for its models. They are part of the program, so that
// every host counts alike, without a network.
package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
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
type Tokenizer struct{ codec *codec.Codec }

// The first use of a vocabulary reads it, in some 50 ms, and keeps 10 to 20 MB.
var known = map[string]func() *Tokenizer{
	CL100K: sync.OnceValue(func() *Tokenizer { return &Tokenizer{codec.NewCl100kBase()} }),
	O200K:  sync.OnceValue(func() *Tokenizer { return &Tokenizer{codec.NewO200kBase()} }),
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
		tokens, err := t.codec.Count(part)
		if err != nil { // only by a limit of time, and none is set
			tokens = len(part) // a token has a byte or more
		}
		n += tokens
	}
	return n
}

// First is what the first n tokens of a text hold, without a character that they hold a part of.
func (t *Tokenizer) First(text string, n int) string {
	end := 0
	for part := range parts(text) {
		_, tokens, err := t.codec.Encode(part)
		if err != nil {
			break
		}
		for _, token := range tokens[:min(n, len(tokens))] {
			end += len(token)
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
