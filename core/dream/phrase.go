package dream

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Relative dates are found by one expression and computed from its groups. The grammar is
// closed on purpose: phrases that it doesn't list stay as they were written, since a wrong
// date is worse than a relative one.

const (
	numberWords  = `one|two|three|four|five|six|seven|eight|nine`
	teenWords    = `ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen`
	tensWords    = `twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety`
	number       = `(?:\d+|an?|(?:` + tensWords + `)(?:[-\s]+(?:` + numberWords + `))?|` + teenWords + `|` + numberWords + `)`
	units        = `(?:day|week|month|year)s?`
	weekdayNames = `monday|tuesday|wednesday|thursday|friday|saturday|sunday`
)

// phrases finds relative dates. A longer phrase comes before one that it begins with.
var phrases = core.Pattern(`(?i)` + strings.Join([]string{
	`(?P<before>(?:the\s+)?day\s+before\s+yesterday)`,
	`(?P<after>(?:the\s+)?day\s+after\s+tomorrow)`,
	`(?P<day>yesterday|today|tomorrow)`,
	`(?P<way>last|next)\s+(?P<span>week|month|year)`,
	`(?P<which>last|next|this)\s+(?P<weekday>` + weekdayNames + `)`,
	`in\s+(?P<inN>` + number + `)\s+(?P<inUnit>` + units + `)(?:\s+from\s+(?:now|today)|['’]\s+time)?`,
	`(?P<n>` + number + `)\s+(?P<unit>` + units + `)\s+(?P<side>ago(?:\s+today)?|from\s+(?:now|today))`,
}, `|`))

// phrase is a relative date in a text.
type phrase struct {
	// start and end are where it is, in bytes.
	start, end int
	// groups are the parts of it that have names.
	groups map[string]string
}

// mayHavePhrase reports whether a text has a word without which it has no phrase, in a tenth of the time.
func mayHavePhrase(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"day", "tomorrow", "week", "month", "year"}, func(word string) bool { return strings.Contains(text, word) })
}

// nextPhrase finds the first phrase at or after a place in a text.
func nextPhrase(text string, from int) (p phrase, found bool) {
	at := phrases().FindStringSubmatchIndex(text[from:])
	if at == nil {
		return p, false
	}
	p = phrase{start: from + at[0], end: from + at[1], groups: map[string]string{}}
	for i, name := range phrases().SubexpNames() {
		if name != "" && at[2*i] >= 0 {
			p.groups[name] = strings.ToLower(text[from+at[2*i] : from+at[2*i+1]])
		}
	}
	return p, true
}

// dates are the first and the last day that a phrase names, seen from a day. They differ for
// last and next week, month and year alone, where whole is what is asked for: without it
// these are the same day a week, month or year away. ok is false if the phrase names
// no day of a year with four digits.
func (p phrase) dates(anchor time.Time, whole bool) (first, last time.Time, ok bool) {
	year, month, day := anchor.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	g := p.groups
	switch {
	case g["before"] != "":
		first = today.AddDate(0, 0, -2)
	case g["after"] != "":
		first = today.AddDate(0, 0, 2)
	case g["day"] != "":
		first = today.AddDate(0, 0, map[string]int{"yesterday": -1, "tomorrow": 1}[g["day"]])
	case g["span"] != "":
		n := map[string]int{"last": -1, "next": 1}[g["way"]]
		if whole {
			first, last = span(today, n, g["span"])
			return first, last, inYears(first) && inYears(last)
		}
		first = move(today, n, g["span"])
	case g["weekday"] != "":
		first = weekday(today, g["which"], g["weekday"])
	default:
		n, known := parseNumber(g["n"] + g["inN"])
		if !known {
			return first, last, false
		}
		if strings.HasPrefix(g["side"], "ago") {
			n = -n
		}
		first = move(today, n, strings.TrimSuffix(g["unit"]+g["inUnit"], "s"))
	}
	return first, first, inYears(first)
}

func inYears(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// move is the day that is some units away. In a month that is too short, it is the last
// day.
func move(day time.Time, n int, unit string) time.Time {
	switch unit {
	case "week":
		return day.AddDate(0, 0, 7*n)
	case "month":
		return months(day, n)
	case "year":
		return months(day, 12*n)
	}
	return day.AddDate(0, 0, n)
}

func months(day time.Time, n int) time.Time {
	first := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, n, 0)
	return first.AddDate(0, 0, min(day.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// span is the whole week, from Monday, month or year that is n away from a day's.
func span(day time.Time, n int, unit string) (first, last time.Time) {
	switch unit {
	case "week":
		first = monday(day).AddDate(0, 0, 7*n)
		return first, first.AddDate(0, 0, 6)
	case "month":
		first = time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, n, 0)
		return first, first.AddDate(0, 1, -1)
	}
	first = time.Date(day.Year()+n, time.January, 1, 0, 0, 0, 0, time.UTC)
	return first, first.AddDate(1, 0, -1)
}

// monday is the first day of the ISO week of a day.
func monday(day time.Time) time.Time { return day.AddDate(0, 0, -int(day.Weekday()+6)%7) }

// weekday is the nearest day of a name before the day (last) or after it (next), or the
// one of its ISO week (this).
func weekday(day time.Time, which, name string) time.Time {
	named := 0 // days after Monday
	for i, n := range strings.Split(weekdayNames, "|") {
		if n == name {
			named = i
		}
	}
	found := monday(day).AddDate(0, 0, named)
	switch {
	case which == "last" && !found.Before(day):
		return found.AddDate(0, 0, -7)
	case which == "next" && !found.After(day):
		return found.AddDate(0, 0, 7)
	}
	return found
}

// maxDigits is how many digits a number may have: more is no count of days that a person
// writes.
const maxDigits = 5

// parseNumber reads a number in the form of the grammar.
func parseNumber(text string) (n int, ok bool) {
	if text == "a" || text == "an" {
		return 1, true
	}
	if text[0] >= '0' && text[0] <= '9' {
		n, err := strconv.Atoi(text)
		return n, err == nil && len(text) <= maxDigits
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		n += wordValue(word)
	}
	return n, true
}

// wordValue is the value of a number's word.
func wordValue(word string) int {
	for list, value := range map[string]struct{ first, step int }{numberWords: {1, 1}, teenWords: {10, 1}, tensWords: {20, 10}} {
		for i, w := range strings.Split(list, "|") {
			if w == word {
				return value.first + i*value.step
			}
		}
	}
	return 0
}
