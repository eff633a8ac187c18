package web

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Whatever a model, a plugin or a user wrote is shown as text. Templates escape what would be
// markup. What would steer how text is shown, such as the characters that turn its direction
// around, would let a text pretend to be another one: the finished page has their numbers in
// their place, so that no template can forget it.

// visible is a page whose characters can all be seen.
func visible(page []byte) []byte {
	if utf8.Valid(page) && bytes.IndexFunc(page, unseen) < 0 {
		return page
	}
	var out bytes.Buffer
	out.Grow(len(page) + len(page)/8)
	for _, r := range string(page) {
		if unseen(r) {
			fmt.Fprintf(&out, `\u{%X}`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// unseen reports whether a character isn't seen, or changes how others are. Joiners belong to
// words of some scripts, and to many an emoji.
func unseen(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t', r == '\u200c', r == '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

const (
	// maxLong is how much of long texts a page shows together, in bytes of HTML: a page has
	// 150 KB at most. maxLines is how many lines of one.
	maxLong  = 64 << 10
	maxLines = 200
	// minLong is what is shown of a text for which the page has no room.
	minLong = 512
)

// longText is a text of any length as a page shows it.
type longText struct {
	// Text is what is shown, and Cut whether that isn't all.
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
	// Lines and Bytes are of the whole, which is at Whole.
	Lines int    `json:"lines"`
	Bytes int    `json:"bytes"`
	Whole string `json:"whole,omitempty"`
}

// unbroken is how many bytes of a word a browser gets without a place to break it: the time
// that it takes to break one grows with the square of its length.
const unbroken = 96

// Pieces are the text in parts between which a line may end, besides its spaces.
func (l *longText) Pieces() (pieces []string) {
	from, word := 0, 0
	for i, r := range l.Text {
		switch {
		case unicode.IsSpace(r):
			word = i
		case i-word >= unbroken:
			pieces = append(pieces, l.Text[from:i])
			from, word = i, i
		}
	}
	return append(pieces, l.Text[from:])
}

// long is a text as this page has room for it: 200 lines, and 64 KB of all long texts
// together. whole is where all of it is.
func (v *visit) long(text, whole string) *longText {
	text = strings.ToValidUTF8(text, "\ufffd")
	l := &longText{Text: text, Lines: strings.Count(text, "\n") + 1, Bytes: len(text), Whole: whole}
	room := max(v.room, minLong)
	lines, end := 1, len(text)
	for i, r := range text {
		if r == '\n' {
			lines++
		}
		if room -= escapedSize(r); room < 0 || lines > maxLines {
			end = i
			break
		}
	}
	if l.Cut = end < len(text); l.Cut {
		l.Text = text[:end]
	}
	v.room = max(room, 0)
	return l
}

// escapedSize is how many bytes of HTML a character makes.
func escapedSize(r rune) int {
	switch {
	case strings.ContainsRune(`<>&'"`, r):
		return 5
	case unseen(r):
		return 10
	}
	return utf8.RuneLen(r)
}

// line is a text on one line, of so many characters at most.
func line(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}

// text is a whole text, for which a page had no room, as a file of its own.
type text struct {
	path string
	load func(*visit) (string, error)
}

// text answers with a whole text.
func (p *Pages) text(one text) http.HandlerFunc {
	return p.known("", func(v *visit) error {
		whole, err := one.load(v)
		if err != nil {
			return err
		}
		v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = v.w.Write([]byte(whole)) // who asked has gone
		return nil
	})
}

// functions are what templates can call. now is the time, by which times are shown.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"line": func(most int, s string) string { return line(s, most) }, "short": short, "tag": tagOf, "tagged": tagged, "time": func(t time.Time) template.HTML { return timeOf(t, now()) }, "ago": ago, "took": took,
		"cents": cost, "score": score, "count": count, "bytes": byteSize, "plural": plural, "percent": percent, "list": list, "join": func(all []string) string { return strings.Join(all, ", ") }, "scoreClass": scoreClass,
	}
}
