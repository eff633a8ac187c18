// Package apikey tells a secret key from what people write where an endpoint needs none.
//
// Clients insist on a key, so people configure "EMPTY", "none" or "sk-no-key-required" for
// an endpoint that takes none. Such a value is sent as it is, but it is no secret: it would
// be cut out of every text that contains the word. Everything that hides keys uses the same
// rule:
//
//	if apikey.Secret(value) {
//		text = strings.ReplaceAll(text, value, "[redacted]")
//	}
//
// It is internal to Reflectory: its API may change in any release.
package apikey

import (
	"slices"
	"strings"
	"unicode"
)

// MinSecret is the length of the shortest secret, in bytes. The keys of providers have 20
// bytes and more; a shorter value may be a word of an innocent text.
const MinSecret = 16

// Secret reports whether a value is a key that has to be hidden: it has at least
// [MinSecret] bytes and isn't a placeholder.
func Secret(value string) bool { return len(value) >= MinSecret && !Placeholder(value) }

// words returns what placeholders are made of. "secret" and "password" aren't among them: who
// writes them into a value means it.
func words() []string {
	return strings.Fields(`
		a an any anything api apikey at change changeit changeme disabled dummy empty enter example fake false for free here ignore
		ignored insert is it key litellm llama llm lm lmstudio local localai localhost me missing mock model my n na necessary need needed
		nil no nokey none not nothing null ollama openai optional placeholder provided put replace required sample server set sglang sk
		studio test testing tgi this todo true undefined unset unused use used vllm with works x xx your yourkey`)
}

// Placeholder reports whether a value stands where a key would be, and is none: words such
// as "your-api-key-here", or one character repeated, such as "sk-xxxxxxxx".
func Placeholder(value string) bool {
	found, known := strings.FieldsFunc(strings.ToLower(value), separates), words()
	for _, word := range found {
		if !slices.Contains(known, word) && !repeated(word) {
			return false
		}
	}
	return len(found) > 0 || value == "" || repeated(value)
}

// repeated reports whether a text is one character, at least three times.
func repeated(text string) bool { return len(text) >= 3 && strings.Count(text, text[:1]) == len(text) }

// separates reports whether a character is between words.
func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
