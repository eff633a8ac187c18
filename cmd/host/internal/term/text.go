package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/reflectory/reflectory/sdk"
)

// Cut shortens a text to one line of up to n characters, cleaned by [Clean].
func Cut(text string, n int) string {
	runes := []rune(Clean(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// Clean makes an untrusted text safe for one line: characters that control a terminal
// become spaces.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return ' '
		}
		return r
	}, marked(text))
}

// marked is a text with a mark for each character that can't be seen.
func marked(text string) string {
	return sdk.ReplaceHidden(text, func(rune) string { return "\ufffd" })
}

// Lines is [Clean] for a text of several lines, which keeps line breaks and tabs.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, marked(text))
}

// JSON replaces control characters and invisible ones, which encoding/json leaves as they are, with
// equivalent escapes.
func JSON(data []byte) []byte {
	if !bytes.ContainsFunc(data, steersInJSON) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if steersInJSON(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, "\\u%04x", unit)
			}
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// steersInJSON is steers without the line breaks between JSON values, and what can't be seen.
func steersInJSON(r rune) bool { return steers(r) && r != '\n' || sdk.Hidden(r) }

// steers reports whether a character controls a terminal instead of being shown: the
// control characters of ASCII and Latin-1, the other characters that end a line, and
// characters that change the direction of text.
func steers(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}
