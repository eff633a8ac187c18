package llmeval

import (
	"fmt"
	"strings"
)

// redacted replaces the key's value.
const redacted = "[redacted]"

// secret is an API key, or "" if there is none that has to be hidden (see [apikey.Secret]).
// It filters everything that an endpoint sends, because endpoints echo keys.
type secret string

// scrub removes the key from a text, even if it is written with JSON's escapes, since a
// JSON decoder would restore it.
func (s secret) scrub(text string) string {
	if s == "" {
		return text
	}
	if !strings.Contains(text, `\`) {
		return strings.ReplaceAll(text, string(s), redacted)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := s.spelled(text[i:]); n > 0 {
			b.WriteString(redacted)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// spelled is how many bytes at the start of text spell the key, or 0.
func (s secret) spelled(text string) int {
	at := 0
	for i := range len(s) {
		n := spelling(text[at:], s[i])
		if n == 0 {
			return 0
		}
		at += n
	}
	return at
}

// spelling is how many bytes at the start of text write a character in a JSON string,
// or 0. Keys have no quotes, backslashes or control characters, so their other escapes
// don't matter here.
func spelling(text string, c byte) int {
	const unicode = `\u00xx`
	switch {
	case text == "":
		return 0
	case text[0] == c:
		return 1
	case text[0] != '\\':
		return 0
	case c == '/' && strings.HasPrefix(text, `\/`):
		return len(`\/`)
	case len(text) >= len(unicode) && strings.EqualFold(text[:len(unicode)], fmt.Sprintf(`\u00%02x`, c)):
		return len(unicode)
	}
	return 0
}

// tail is how many bytes at the end of text may be the beginning of the key.
func (s secret) tail(text string) int {
	for n := min(len(s)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, string(s[:n])) {
			return n
		}
	}
	return 0
}

// usable reports whether a key can be sent in a header and be found again in JSON:
// printable ASCII without spaces, quotes and backslashes.
func usable(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// scrubber removes the key from a text that arrives in chunks, even if the key is split
// between two chunks.
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
