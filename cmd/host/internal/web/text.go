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

// Whatever a model, a plugin or a user wrote is shown as text. Templates escape markup. But
// characters that control how text is shown, such as characters that reverse its direction,
// could make a text look like another text. In the finished page their code numbers replace
// them, so that no template can forget it.

// visible returns a page in which every character is visible.
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

// unseen reports whether a character is invisible, or changes how other characters are shown.
// Joiners are allowed, since words of some scripts and many emoji need them.
func unseen(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t', r == '\u200c', r == '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

const (
	// maxLong is how much of all long texts together a page shows, in bytes of HTML: a page
	// has 150 KB at most. maxLines is how many lines of one text it shows.
	maxLong  = 64 << 10
	maxLines = 200
	// minLong is how much is shown of a text when the page has no room left.
	minLong = 512
)

// longText is a text of any length in the form in which a page shows it.
type longText struct {
	// Text is what is shown, and Cut is whether the text continues after that.
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
	// Lines and Bytes are the size of the whole text, whose address is Whole.
	Lines int    `json:"lines"`
	Bytes int    `json:"bytes"`
	Whole string `json:"whole,omitempty"`
}

// unbroken is the most bytes of a word without a place to break it: a browser's time to
// break a word grows with the square of its length.
const unbroken = 96

// Pieces are the parts of the text between which a line may also end, in addition to its
// spaces.
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

// long cuts a text to the room that this page has: 200 lines, and 64 KB for all long texts
// together. whole is the address of the whole text.
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

// useRoom reports whether the page still has room for a text, and uses that room.
func (v *visit) useRoom(text string) bool {
	size := escapedLen(text)
	if size > v.room {
		return false
	}
	v.room -= size
	return true
}

// escapedLen is how many bytes of HTML a text takes.
func escapedLen(text string) (size int) {
	for _, r := range text {
		size += escapedSize(r)
	}
	return size
}

// escapedSize is how many bytes of HTML a character takes.
func escapedSize(r rune) int {
	switch {
	case strings.ContainsRune(`<>&'"`, r):
		return 5
	case unseen(r):
		return 10
	}
	return utf8.RuneLen(r)
}

// line is a text on one line, cut to a number of characters. It is cut to fewer characters if
// most of them take far more HTML than letters do, so that no text makes a page large.
func line(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	n, size := 0, 0
	for i, r := range text {
		if n, size = n+1, size+escapedSize(r); n > most || size > 3*max(most, 20) {
			return text[:i] + "…"
		}
	}
	return text
}

// text is a whole text that didn't fit into a page, as a separate file.
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
		_, _ = v.w.Write([]byte(whole)) // the caller may have gone
		return nil
	})
}

// functions are what templates can call. now is the time, by which times are shown.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"line": func(most int, s string) string { return line(s, most) }, "short": short, "tag": tagOf, "emptyState": emptyStateOf, "tagged": tagged, "stopped": stopped, "term": termFor, "terms": termsFor, "time": func(t time.Time) template.HTML { return timeOf(t, now()) }, "ago": ago, "took": took,
		"cents": cost, "score": score, "decimals": decimals, "count": count, "bytes": byteSize, "plural": plural, "percent": percent, "list": list, "join": func(all []string) string { return strings.Join(all, ", ") }, "scoreClass": scoreClass,
	}
}
