package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// Recalled text is data: whatever it says, it must not end the element that it was put
// into, nor begin another one. So it is escaped like XML's content and attributes, and
// nothing is left that a reader of XML would refuse or change.

// Escape returns a text such that it can be in the content of an XML element, or in an
// attribute in double quotes without line breaks, and a reader of XML gets the same text
// back. What XML can't hold (most control characters, and bytes that aren't UTF-8) is
// U+FFFD, and what a person doesn't see ([sdk.Hidden]) is a reference that is seen. It isn't
// idempotent: what is escaped twice has to be read twice.
func Escape(s string) string {
	if plainXML(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&quot;")
		case '\'':
			b.WriteString("&apos;")
		case '\r': // which a reader would take for a line's end
			b.WriteString("&#xD;")
		default:
			if !inXML(r) || r == utf8.RuneError {
				r = utf8.RuneError
			}
			b.WriteRune(r)
		}
		i += size
	}
	return sdk.ReplaceHidden(b.String(), func(r rune) string { return fmt.Sprintf("&#x%X;", r) })
}

// EscapeMemory is a memory's text as it is given to a model: escaped, in an element that
// names the memory.
func EscapeMemory(id, content string) string {
	return `<memory id="` + Escape(id) + `">` + Escape(content) + `</memory>`
}

// plainXML reports whether nothing has to be escaped, as in most texts.
func plainXML(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf, c < ' ' && c != '\n' && c != '\t':
			return false
		case c == '&', c == '<', c == '>', c == '"', c == '\'':
			return false
		}
	}
	return true
}

// inXML reports whether XML 1.0 has a character.
func inXML(r rune) bool {
	return r == '\t' || r == '\n' || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
}
