package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clockTime writes a time of the 12-hour clock as one of the 24-hour clock: "3" or "3:30", with
// am or pm. It is "" if there is no such time.
func clockTime(s, half string) string {
	h, m, minutes := strings.Cut(s, ":")
	hour, err := strconv.Atoi(h)
	if err != nil || len(h) > 2 || hour < 1 || hour > 12 {
		return ""
	}
	if !minutes {
		m = "00"
	} else if minute, err := strconv.Atoi(m); err != nil || len(m) != 2 || minute < 0 || minute > 59 {
		return ""
	}
	hour %= 12
	if half == "pm" {
		hour += 12
	}
	return fmt.Sprintf("%02d:%s", hour, m)
}

// joinedClockTime reads "3:30pm".
func joinedClockTime(s string) string {
	if n := len(s) - 2; n > 0 && strings.IndexByte(s, ':') > 0 {
		switch half := strings.ToLower(s[n:]); half {
		case "am", "pm":
			return clockTime(s[:n], half)
		}
	}
	return ""
}

// slashDate writes 2026/05/01 as 2026-05-01. Dates that begin with the day or the month are
// ambiguous, and stay.
func slashDate(s string) string {
	if len(s) != len(time.DateOnly) || s[4] != '/' || s[7] != '/' {
		return ""
	}
	if iso := strings.ReplaceAll(s, "/", "-"); isISODate(iso) {
		return iso
	}
	return ""
}

// weekdays are short names of days that are no words by themselves.
var weekdays = map[string]string{
	"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday", "thurs": "thursday", "fri": "friday",
}

// partialDate reads a date without a year, or a month with one: the day, if there is one, comes
// first, and the month is written out. May and March need their capital letters.
func partialDate(tokens []token) (date []token, used int) {
	month := func(t token) string {
		number := months[t.text]
		if t.kind != wordToken || number == 0 || !t.capital && (t.text == "may" || t.text == "march" || t.text == "mar") {
			return ""
		}
		return strings.ToLower(number.String())
	}
	if name := month(tokens[0]); name != "" && len(tokens) > 1 {
		named := tokens[0]
		named.text, named.written = name, name
		if day := dayOf(tokens[1]); day > 0 {
			return []token{dayToken(day, tokens[0].first), named}, 2
		}
		if tokens[1].kind == numberToken && len(tokens[1].text) == 4 {
			return []token{named, tokens[1]}, 2
		}
		return nil, 0
	}
	day, at := dayOf(tokens[0]), 1
	if day == 0 {
		return nil, 0
	}
	if at < len(tokens) && tokens[at].kind == wordToken && tokens[at].text == "of" {
		at++
	}
	if at < len(tokens) {
		if name := month(tokens[at]); name != "" {
			named := tokens[at]
			named.text, named.written = name, name
			return []token{dayToken(day, tokens[0].first), named}, at + 1
		}
	}
	return nil, 0
}

func dayToken(day int, first bool) token {
	return token{kind: numberToken, text: strconv.Itoa(day), first: first}
}

// ordinals are the words of those that have one.
var ordinals = map[string]string{
	"1st": "first", "2nd": "second", "3rd": "third", "4th": "fourth", "5th": "fifth", "6th": "sixth", "7th": "seventh", "8th": "eighth", "9th": "ninth",
	"10th": "tenth", "11th": "eleventh", "12th": "twelfth",
}
