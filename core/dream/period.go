package dream

import (
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Period is a span of days that a text names, such as "last week", "May 2023" or "2023-05-08".
type Period struct {
	// first and last are its days, counted from 1970, and anyYear is whether the text names no year: then
	// they are of 2000, and the same days of every year count.
	first, last int32
	anyYear     bool
}

// named finds days, months and years with their names or numbers. A month's name without a day and a
// year has to begin with a capital, and be whole: "may" is a word.
var named = core.Pattern(strings.Join([]string{
	`\b(?P<iso>(?:19|20)\d\d-\d\d(?:-\d\d)?)\b`,
	`\b(?P<day>\d{1,2})(?i:st|nd|rd|th)?(?: of)? (?P<month>(?i:` + monthNames + `))\b(?:,? (?P<year>\d{4}))?`,
	`\b(?P<month2>(?i:` + monthNames + `)) (?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{4}))?`,
	`\b(?P<month3>(?i:` + monthNames + `)),?(?: of)? (?P<year3>(?:19|20)\d\d)\b`,
	`\b(?P<month4>January|February|March|April|May|June|July|August|September|October|November|December)\b`,
	`\b(?P<year5>(?:19|20)\d\d)\b`,
}, `|`))

// maxPeriods bounds the periods of one text.
const maxPeriods = 8

// Periods are the periods that a text names, in English or in ISO 8601; relative ones are seen from
// now's day.
func Periods(text string, now time.Time) (periods []Period) {
	for from := 0; len(periods) < maxPeriods && mayHavePhrase(text[from:]); {
		p, found := nextPhrase(text, from)
		if !found {
			break
		}
		if first, last, ok := p.dates(now, true); ok {
			periods = append(periods, Period{first: dayNumber(first), last: dayNumber(last)})
		}
		from = p.end
	}
	if !mayHaveNamed(text) {
		return periods
	}
	for _, at := range named().FindAllStringSubmatch(text, maxPeriods) {
		g := map[string]string{}
		for i, name := range named().SubexpNames() {
			if at[i] != "" {
				g[strings.TrimRight(name, "2345")] = at[i]
			}
		}
		if p, ok := namedPeriod(g); ok {
			periods = append(periods, p)
		}
	}
	return periods
}

// mayHaveNamed reports whether a text has what named finds at least: a digit, or a month's whole name.
func mayHaveNamed(text string) bool {
	if strings.ContainsAny(text, "0123456789") {
		return true
	}
	for m := time.January; m <= time.December; m++ {
		if strings.Contains(text, m.String()) {
			return true
		}
	}
	return false
}

// namedPeriod is the period of a match's groups.
func namedPeriod(g map[string]string) (p Period, ok bool) {
	for layout, days := range map[string]func(time.Time) time.Time{
		time.DateOnly: func(t time.Time) time.Time { return t },
		"2006-01":     func(t time.Time) time.Time { return t.AddDate(0, 1, -1) },
	} {
		if t, err := time.Parse(layout, g["iso"]); err == nil {
			return Period{first: dayNumber(t), last: dayNumber(days(t))}, true
		}
	}
	if g["iso"] != "" {
		return p, false
	}
	year, err := strconv.Atoi(g["year"])
	if p.anyYear = err != nil; p.anyYear {
		year = 2000
	}
	month := 0
	for m := time.January; m <= time.December; m++ {
		if short := g["month"][:min(3, len(g["month"]))]; strings.EqualFold(m.String()[:3], short) {
			month = int(m)
		}
	}
	if month == 0 {
		first, last := span(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), 0, "year")
		return Period{first: dayNumber(first), last: dayNumber(last)}, true
	}
	first, last := span(time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC), 0, "month")
	if day, err := strconv.Atoi(g["day"]); err == nil {
		if day < 1 || day > last.Day() {
			return p, false
		}
		first = first.AddDate(0, 0, day-1)
		last = first
	}
	p.first, p.last = dayNumber(first), dayNumber(last)
	return p, true
}

// Has reports whether a day, counted from 1970, is in the period, or at most so many days after it.
func (p Period) Has(day int32, after int) bool {
	if p.anyYear {
		_, month, date := time.Unix(int64(day)*secondsOfDay, 0).UTC().Date()
		first := time.Unix(int64(p.first)*secondsOfDay, 0).UTC()
		day = dayNumber(time.Date(2000, month, date, 0, 0, 0, 0, time.UTC))
		if day < dayNumber(first) { // a week after December is in January
			day = dayNumber(time.Date(2001, month, date, 0, 0, 0, 0, time.UTC))
		}
	}
	return p.first <= day && int(day) <= int(p.last)+after
}

const secondsOfDay = 24 * 60 * 60

// dayNumber counts the days since 1970.
func dayNumber(t time.Time) int32 {
	return int32(t.Unix() / secondsOfDay) //nolint:gosec // years have four digits
}
