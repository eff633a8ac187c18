package term

import (
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// defaultWidth is the assumed width of a terminal that doesn't report one: the classic 80
// columns.
const defaultWidth = 80

// Width is how many columns a stream's lines may have: COLUMNS if it is set, else what
// the terminal reports, else 80. It is 0, no limit, if the stream isn't a terminal: a
// file or another program gets complete values.
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

// WidthOf is how many columns a text takes. Escape sequences for colours take none.
func WidthOf(text string) int {
	n := 0
	for i, r := range text {
		if !escaped(text, i) {
			n += columnsOf(r)
		}
	}
	return n
}

// escaped reports whether the byte at i is part of an escape sequence for a colour: those
// that this package writes are short, so it looks back only a few bytes.
func escaped(text string, i int) bool {
	at := strings.LastIndexByte(text[max(0, i-8):i+1], '\x1b')
	if at < 0 {
		return false
	}
	return !strings.Contains(text[max(0, i-8)+at:i], "m")
}

// columnsOf is how many columns a character takes: none if it combines with the previous
// one, two if it is a wide East Asian character or an emoji.
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

// Fit cuts a text to a number of columns, and ends it with … if something is missing.
func Fit(text string, columns int) string {
	if WidthOf(text) <= columns {
		return text
	}
	used := 1 // for the …
	for i, r := range text {
		if used += columnsOf(r); used > columns {
			return text[:i] + "…"
		}
	}
	return text
}

// Wrap wraps a text's lines between words, so that none has more columns than given; 0 is
// no limit. A longer word isn't split. Lines after a break begin with indent.
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
