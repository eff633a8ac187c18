package term

import (
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// defaultWidth is how wide a terminal is taken to be that doesn't say: as wide as the
// terminals that all later ones imitate.
const defaultWidth = 80

// Width is how many columns a stream's lines may have: COLUMNS if it is set, else what
// the terminal says, else 80. It is 0, no limit, for what isn't a terminal: a file or
// another program gets whole values.
func Width(stream any) int {
	if o, is := stream.(over); is {
		stream = o.w
	}
	if !IsTerminal(stream) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 1 {
		return n
	}
	if n := columns(stream.(*os.File)); n > 1 {
		return n
	}
	return defaultWidth
}

// WidthOf is how many columns a text takes. Escape sequences that colour it take none.
func WidthOf(text string) int {
	n := 0
	for i, r := range text {
		if !escaped(text, i) {
			n += columnsOf(r)
		}
	}
	return n
}

// escaped reports whether the byte at i is within a sequence that sets a colour: those
// that this package writes are short, so it looks a few bytes back.
func escaped(text string, i int) bool {
	at := strings.LastIndexByte(text[max(0, i-8):i+1], '\x1b')
	if at < 0 {
		return false
	}
	return !strings.Contains(text[max(0, i-8)+at:i], "m")
}

// columnsOf is how many columns a character takes: none if it joins the one before, two
// if it is one of the wide ones of East Asia or an emoji.
func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit cuts a text to so many columns, with … as the last where something is missing.
func Fit(text string, columns int) string {
	if WidthOf(text) <= columns {
		return text
	}
	used := 1 // of the …
	for i, r := range text {
		if used += columnsOf(r); used > columns {
			return text[:i] + "…"
		}
	}
	return text
}

// Wrap breaks a text's lines between words, so that none has more columns than given; 0
// is no limit. A word that is longer stays whole. Lines that a break makes begin with
// indent.
func Wrap(text string, columns int, indent string) string {
	if columns == 0 {
		return text
	}
	var out strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		wrapLine(&out, line, columns, indent)
	}
	return out.String()
}

func wrapLine(out *strings.Builder, line string, columns int, indent string) {
	if WidthOf(line) <= columns {
		out.WriteString(line)
		return
	}
	lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
	out.WriteString(lead)
	used := len(lead)
	for i, word := range strings.Fields(line) {
		switch wide := WidthOf(word); {
		case i == 0:
		case used+1+wide > columns:
			out.WriteString("\n" + indent)
			used = len(indent)
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += WidthOf(word)
	}
}
