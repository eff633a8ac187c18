package llmeval

import "strings"

// redacted stands where the key's value stood.
const redacted = "[redacted]"

// minKeyBytes is the shortest key that is accepted. Real keys have 20 bytes and
// more; a shorter word than this would be cut out of innocent replies.
const minKeyBytes = 4

// secret is an API key, or "" for none. Everything that an endpoint sends goes
// through it, because endpoints echo keys.
type secret string

// scrub removes the key from a text.
func (s secret) scrub(text string) string {
	if s == "" {
		return text
	}
	return strings.ReplaceAll(text, string(s), redacted)
}

// tail is how many bytes at the end of text may be the begin of the key.
func (s secret) tail(text string) int {
	for n := min(len(s)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, string(s[:n])) {
			return n
		}
	}
	return 0
}

// usable reports whether the key may stand in a header and can be found again
// in JSON: printable ASCII without spaces, quotes and backslashes.
func (s secret) usable() bool {
	return len(s) >= minKeyBytes && !strings.ContainsFunc(string(s), func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}

// scrubber removes the key from a text that arrives in chunks, also where two
// chunks share it.
type scrubber struct {
	secret secret
	held   string
	emit   func(string)
}

// write takes a chunk, and emits what can't be part of the key.
func (w *scrubber) write(chunk string) {
	text := w.secret.scrub(w.held + chunk)
	cut := len(text) - w.secret.tail(text)
	w.held = text[cut:]
	if cut > 0 {
		w.emit(text[:cut])
	}
}

// flush emits what was held back, once nothing can follow.
func (w *scrubber) flush() {
	if w.held != "" {
		w.emit(w.held)
	}
	w.held = ""
}
