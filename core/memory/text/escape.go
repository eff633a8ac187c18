package text

import (
	"fmt"
	"strings"
	"unicode"
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
	return sdk.ReplaceHidden(b.String(), reference)
}

// EscapeMemory is a memory's text as it is given to a model: escaped, in an element that
// names the memory.
func EscapeMemory(id, content string) string {
	return `<memory id="` + Escape(id) + `">` + Escape(content) + `</memory>`
}

// lineBreak is written in place of a line's end.
const lineBreak = `\n`

// Line is a memory's text as a line of a prompt, which ends where the text ends. Line breaks are
// written as \n. What could end the group of lines is escaped as in XML, and so is a dot between
// spaces, which separates a line's parts. What a person doesn't see, or what changes the order in
// which a person sees the rest, is a reference that is seen, and other control characters are U+FFFD.
func Line(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '\r' && after == '\n':
		case r >= '\n' && r <= '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			b.WriteString(lineBreak)
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r), !inXML(r):
			b.WriteRune(utf8.RuneError)
		case (r == '\u00B7' || r == '\u0387') && (unicode.IsSpace(before) || unicode.IsSpace(after) || after == utf8.RuneError),
			r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
			b.WriteString(reference(r))
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return sdk.ReplaceHidden(b.String(), reference)
}

// reference is a character's reference in XML.
func reference(r rune) string { return fmt.Sprintf("&#x%X;", r) }

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
