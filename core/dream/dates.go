package dream

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DateOptions determine how dates are written. The zero value replaces each phrase by one
// date.
type DateOptions struct {
	// KeepPhrase leaves the phrase and writes its date behind it: "yesterday (2026-04-14)".
	KeepPhrase bool
	// Ranges replaces last and next week, month and year by their first and last day, such
	// as 2026-04-06/2026-04-12, instead of the day that is a week, month or year away.
	Ranges bool
}

// DatedText is a text whose relative dates were made absolute.
type DatedText struct {
	// Changed is whether Text differs from what was given.
	Changed bool   `json:"changed"`
	Text    string `json:"text"`
	// Found are the phrases that were dated, in the order of the text; never null.
	Found []DatedPhrase `json:"found"`
}

// DatedPhrase is a relative date as it was written, and the date in ISO 8601.
type DatedPhrase struct {
	Phrase string `json:"phrase"`
	Date   string `json:"date"`
}

// MakeDatesAbsolute replaces the relative dates of a text, such as "yesterday" and "in two
// weeks", by dates of the calendar, seen from an anchor's day in its own zone. It leaves
// alone what isn't surely a date: code, quoted text, names, habits, longer phrases
// that contain one, and phrases with their date behind them. A text that it returned comes
// back unchanged. The time it takes grows with the length of the text alone.
func MakeDatesAbsolute(text string, anchor time.Time, o DateOptions) DatedText {
	d := DatedText{Found: []DatedPhrase{}}
	var around *surroundings // of the first phrase on: most texts have none
	var out strings.Builder
	done := 0
	for from := 0; ; {
		p, found := nextPhrase(text, from)
		if !found {
			break
		}
		if around == nil {
			around = newSurroundings(text)
		}
		first, last, ok := p.dates(anchor, o.Ranges)
		if !ok || !around.isDate(p) {
			from = afterWord(text, p.start)
			continue
		}
		date := first.Format(time.DateOnly)
		if last != first {
			date += "/" + last.Format(time.DateOnly)
		}
		written := text[p.start:p.end]
		d.Found = append(d.Found, DatedPhrase{Phrase: written, Date: date})
		out.WriteString(text[done:p.start])
		if o.KeepPhrase {
			out.WriteString(written + " (" + date + ")")
		} else {
			out.WriteString(date)
		}
		done, from = p.end, p.end
	}
	out.WriteString(text[done:])
	d.Text = out.String()
	d.Changed = d.Text != text
	return d
}

// afterWord is the end of the word at a place.
func afterWord(text string, at int) int {
	_, size := utf8.DecodeRuneInString(text[at:])
	for at += size; at < len(text); at += size {
		var r rune
		if r, size = utf8.DecodeRuneInString(text[at:]); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
	}
	return at
}
