package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// number makes tokens of digits with what is around them: a sign, a point, groups of
// thousands, a unit. It reports whether the piece is that.
func (t *tokenizer) number(s string) bool {
	if left, right, is := strings.Cut(strings.ReplaceAll(s, "–", "-"), "-"); is && left != "" {
		a, unitA, okA := parseNumber(left)
		b, unitB, okB := parseNumber(right)
		if !okA || !okB || unitA != "" {
			return false
		}
		t.counted(a, "")
		t.add(token{kind: wordToken, text: "to"})
		t.counted(b, unitB)
		return true
	}
	n, unit, ok := parseNumber(s)
	if ok {
		t.counted(n, unit)
	}
	return ok
}

// counted adds a number, in its digits, and its unit.
func (t *tokenizer) counted(digits, unit string) {
	if unit == "am" || unit == "pm" {
		if at := clockTime(digits, unit); at != "" {
			t.add(token{kind: exactToken, text: at})
			return
		}
	}
	t.add(token{kind: numberToken, text: plainNumber(digits), written: digits})
	if unit != "" {
		t.add(token{kind: unitToken, text: unit})
	}
}

// parseNumber reads the digits of a number, with its sign and point, and the unit that is
// joined to it. What has another ending, such as a version or an ordinal of no date, is
// none, and neither is a decade such as 1990s.
func parseNumber(s string) (digits, unit string, ok bool) {
	end, points := 0, 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		end++
	}
	first := end
	for ; end < len(s); end++ {
		switch c := s[end]; {
		case c >= '0' && c <= '9':
		case c == ',' && group(s[first:], end-first):
		case c == '.' && points == 0 && end+1 < len(s) && s[end+1] >= '0' && s[end+1] <= '9':
			points++
		default:
			goto parsed
		}
	}
parsed:
	digits, rest := strings.ReplaceAll(s[:end], ",", ""), s[end:]
	if end == first || s[first] == '.' && points == 0 || rest == "s" && end-first == 4 {
		return "", "", false
	}
	if rest != "" {
		if unit = units[rest]; unit == "" {
			return "", "", false
		}
	}
	return digits, unit, true
}

// group reports whether a comma at a place is between groups of thousands.
func group(s string, at int) bool {
	if at == 0 || at > 3 && s[at-4] != ',' || strings.Contains(s[:at], ".") {
		return false
	}
	next := s[at+1:]
	n := 0
	for n < len(next) && next[n] >= '0' && next[n] <= '9' {
		n++
	}
	return n == 3
}

// plainNumber writes a number without needless zeros and without a plus.
func plainNumber(s string) string {
	sign := ""
	if s[0] == '-' {
		sign = "-"
	}
	whole, part, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	whole = strings.TrimLeft(whole, "0")
	part = strings.TrimRight(part, "0")
	switch {
	case whole == "" && part == "":
		return "0"
	case whole == "":
		whole = "0"
	}
	if part != "" {
		part = "." + part
	}
	return sign + whole + part
}

// units are what numbers count, by each way to write it. Case matters: MB isn't Mb.
var units = map[string]string{
	"ns": "nanosecond", "nanosecond": "nanosecond", "nanoseconds": "nanosecond", "us": "microsecond", "µs": "microsecond", "μs": "microsecond",
	"microsecond": "microsecond", "microseconds": "microsecond", "ms": "millisecond", "msec": "millisecond", "millisecond": "millisecond",
	"milliseconds": "millisecond", "s": "second", "sec": "second", "secs": "second", "second": "second", "seconds": "second",
	"min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "hour": "hour",
	"hours": "hour", "d": "day", "day": "day", "days": "day", "week": "week", "weeks": "week", "wk": "week", "month": "month", "months": "month",
	"year": "year", "years": "year", "yr": "year", "yrs": "year",
	"B": "byte", "byte": "byte", "bytes": "byte", "bit": "bit", "bits": "bit", "kB": "kilobyte", "KB": "kilobyte", "kilobyte": "kilobyte",
	"kilobytes": "kilobyte", "MB": "megabyte", "megabyte": "megabyte", "megabytes": "megabyte", "GB": "gigabyte", "gigabyte": "gigabyte",
	"gigabytes": "gigabyte", "TB": "terabyte", "terabyte": "terabyte", "terabytes": "terabyte", "KiB": "kibibyte", "MiB": "mebibyte",
	"GiB": "gibibyte", "TiB": "tebibyte", "Mb": "megabit", "Gb": "gigabit", "Mbps": "megabit/second", "Gbps": "gigabit/second",
	"%": "percent", "percent": "percent", "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz",
	"mm": "millimeter", "cm": "centimeter", "m": "meter", "km": "kilometer", "g": "gram", "kg": "kilogram", "mg": "milligram",
	"meter": "meter", "meters": "meter", "metre": "meter", "metres": "meter", "kilometer": "kilometer", "kilometers": "kilometer",
	"kilometre": "kilometer", "kilometres": "kilometer", "gram": "gram", "grams": "gram", "kilogram": "kilogram", "kilograms": "kilogram",
	"kibibyte": "kibibyte", "kibibytes": "kibibyte", "mebibyte": "mebibyte", "mebibytes": "mebibyte", "gibibyte": "gibibyte", "gibibytes": "gibibyte",
	"tebibyte": "tebibyte", "tebibytes": "tebibyte", "megabit": "megabit", "megabits": "megabit", "gigabit": "gigabit", "gigabits": "gigabit",
	"millimeter": "millimeter", "millimeters": "millimeter", "centimeter": "centimeter", "centimeters": "centimeter", "millimetre": "millimeter", "millimetres": "millimeter",
	"centimetre": "centimeter", "centimetres": "centimeter", "hertz": "hertz", "kilohertz": "kilohertz",
	"megahertz": "megahertz", "gigahertz": "gigahertz",
	"euro": "euro", "euros": "euro", "dollar": "dollar", "dollars": "dollar",
	"°C": "°C", "°F": "°F", "am": "am", "pm": "pm", "AM": "am", "PM": "pm", "a.m": "am", "p.m": "pm",
}

// unitInSmall are the ways to write units in lower case, as a form may have them.
var unitInSmall = func() map[string]bool {
	set := map[string]bool{}
	for written := range units {
		set[strings.ToLower(written)] = true
	}
	return set
}()

var small = map[string]int64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
	"twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
}

var tens = map[string]int64{
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var scales = map[string]int64{"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}

func isNumberWord(s string) bool {
	_, is := small[s]
	_, ten := tens[s]
	return is || ten
}

// joinNumbers writes numbers in digits, and the units after numbers in one way.
func joinNumbers(tokens []token) []token {
	out := make([]token, 0, len(tokens)+4)
	for i := 0; i < len(tokens); {
		t := tokens[i]
		if n, used := spelledNumber(tokens[i:]); used > 0 {
			t.kind, t.text, t.written = numberToken, strconv.FormatInt(n, 10), ""
			i += used
		} else {
			i++
		}
		if t.kind != wordToken && t.kind != exactToken {
			out = append(out, t)
			continue
		}
		if n := len(out); n > 0 && joinNumber(&out[n-1], &t) {
			continue
		}
		switch n := len(out); {
		case t.kind == exactToken && n > 0 && t.text == "€" && out[n-1].kind == numberToken:
			t.kind, t.text = unitToken, "euro"
		case t.kind == exactToken:
		case t.article && (scales[t.text] > 0 || t.text == "dozen"):
			t.kind, t.text, t.written = numberToken, strconv.FormatInt(max(scales[t.text], 12), 10), ""
		case t.text == "twice" || t.text == "thrice":
			count := "2"
			if t.text == "thrice" {
				count = "3"
			}
			out = append(out, token{kind: numberToken, text: count, first: t.first})
			t.text, t.written, t.first = "times", "times", false
		case n > 1 && t.text == "cent" && out[n-1].text == "per" && out[n-2].kind == numberToken:
			out = out[:n-1]
			t.kind, t.text = unitToken, "percent"
		case n > 1 && t.text == "celsius" && (out[n-1].text == "degrees" || out[n-1].text == "degree") && out[n-2].kind == numberToken:
			out = out[:n-1]
			t.kind, t.text = unitToken, "°C"
		}
		out = append(out, t)
	}
	for i := range len(out) - 1 {
		if out[i].kind != exactToken || out[i+1].kind != numberToken || i+2 < len(out) && out[i+2].kind == unitToken {
			continue
		}
		switch out[i].text {
		case "$":
			out[i], out[i+1] = out[i+1], token{kind: unitToken, text: "dollar"}
		case "€":
			out[i], out[i+1] = out[i+1], token{kind: unitToken, text: "euro"}
		}
	}
	return out
}

// joinNumber joins a token to the number or time before it, if it belongs to it: a scale, as in
// 1.5 million, a dozen, or the half of the day. If it is a unit, it becomes one.
func joinNumber(last, t *token) bool {
	if last.kind == exactToken && t.kind == wordToken && (t.text == "am" || t.text == "pm") {
		if at := clockTime(last.text, t.text); at != "" && strings.Contains(last.text, ":") {
			last.text = at
			return true
		}
	}
	if last.kind != numberToken {
		return false
	}
	if t.kind == wordToken {
		if product := times(last.text, t.text); product != "" {
			last.text, last.written = product, ""
			return true
		}
	}
	unit := unitOf(*t)
	if unit == "am" || unit == "pm" {
		if at := clockTime(last.text, unit); at != "" {
			last.kind, last.text = exactToken, at
			return true
		}
	}
	if unit != "" {
		t.kind, t.text = unitToken, unit
	} else if t.kind == wordToken && len(t.text) <= 3 && units[t.text] != "" {
		t.kind, t.text = exactToken, t.written // 5 M is no 5 m
	}
	return false
}

// times multiplies a number by a scale or by dozens; "" if it can't.
func times(number, word string) string {
	factor := scales[word]
	if word == "dozen" {
		factor = 12
	}
	whole, part, _ := strings.Cut(number, ".")
	if factor == 0 || len(whole)+len(part) > 9 || part != "" && factor == 12 {
		return ""
	}
	n, err := strconv.ParseInt(whole+part, 10, 64)
	for range part {
		if factor%10 != 0 {
			return ""
		}
		factor /= 10
	}
	if err != nil || factor == 0 {
		return ""
	}
	return strconv.FormatInt(n*factor, 10)
}

// unitOf is the unit that a token is after a number; "" if it is none. For short units,
// case matters.
func unitOf(t token) string {
	switch {
	case t.kind == exactToken:
		return units[t.text]
	case t.kind != wordToken:
		return ""
	case len(t.text) > 3:
		return units[t.text]
	}
	return units[t.written]
}

// spelledNumber reads the number that tokens begin with, in words: up to 999 billions.
func spelledNumber(tokens []token) (n int64, used int) {
	sum, part := int64(0), int64(0)
	// room is what may still be added to the part: 100 before any, 10 behind tens.
	room := int64(100)
	for i, t := range tokens {
		if t.kind != wordToken || i == 0 && !isNumberWord(t.text) {
			break
		}
		if v, is := small[t.text]; is && (room == 100 || room == 10 && v > 0 && v < 10) {
			part, room, used = part+v, 0, i+1
		} else if v, is := tens[t.text]; is && room == 100 {
			part, room, used = part+v, 10, i+1
		} else if v, is := scales[t.text]; is && used == i && i > 0 && part > 0 {
			if v == 100 && part < 100 {
				part, room = part*v, 100
			} else if v > 100 && (sum == 0 || sum%(v*1000) == 0) {
				sum, part, room = sum+part*v, 0, 100
			} else {
				break
			}
			used = i + 1
		} else if t.text != "and" || used != i || i == 0 || part%100 != 0 || part == 0 {
			break
		}
	}
	return sum + part, used
}

var months = map[string]time.Month{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7,
	"august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9, "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}

// joinDates writes "1 May 2026", "May 1st, 2026" and such as 2026-05-01.
func joinDates(tokens []token) []token {
	out := make([]token, 0, len(tokens)+1)
	for i := 0; i < len(tokens); {
		t := tokens[i]
		if t.kind == breakToken || t.kind == unitToken || t.kind == wordToken && months[t.text] == 0 {
			if t.capital && t.kind == wordToken && weekdays[t.text] != "" {
				t.text = weekdays[t.text]
			}
			out = append(out, t)
			i++
			continue
		}
		if date, used := dateAt(tokens[i:]); used > 0 {
			out = append(out, token{kind: exactToken, text: date, first: t.first})
			i += used
			continue
		}
		if date, used := partialDate(tokens[i:]); used > 0 {
			out = append(out, date...)
			i += used
			continue
		}
		if t.kind == exactToken && ordinals[t.text] != "" {
			t = token{kind: wordToken, text: ordinals[t.text], written: ordinals[t.text], first: t.first}
		}
		out = append(out, t)
		i++
	}
	return out
}

// dateAt reads the date that tokens begin with: day, month, year, or month, day, year.
func dateAt(tokens []token) (date string, used int) {
	at := 0
	next := func() (t token) {
		if at < len(tokens) {
			t = tokens[at]
			at++
		}
		return t
	}
	var day, year int
	var month time.Month
	t := next()
	if day = dayOf(t); day > 0 {
		if t = next(); t.kind == wordToken && t.text == "of" {
			t = next()
		}
		month = months[t.text]
	} else if month = months[t.text]; month > 0 {
		day = dayOf(next())
	}
	if day == 0 || month == 0 {
		return "", 0
	}
	if t = next(); t.kind == breakToken {
		if t.text != "," {
			return "", 0
		}
		t = next()
	}
	if t.kind != numberToken || len(t.text) != 4 {
		return "", 0
	}
	if year, _ = strconv.Atoi(t.text); time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Day() != day {
		return "", 0
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day), at
}

// dayOf is a day of a month: 1 or 1st; 0 is none.
func dayOf(t token) int {
	s := t.text
	if t.kind == exactToken && len(s) > 2 {
		switch s[len(s)-2:] {
		case "st", "nd", "rd", "th":
			s = s[:len(s)-2]
		}
	} else if t.kind != numberToken {
		return 0
	}
	if day, err := strconv.Atoi(s); err == nil && day > 0 && day <= 31 {
		return day
	}
	return 0
}

// isISODate reports whether a piece is a date such as 2026-05-01.
func isISODate(s string) bool {
	if len(s) != len(time.DateOnly) || s[4] != '-' {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}
