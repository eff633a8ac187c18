package dream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core/dream"
)

// anchor is a Wednesday, late in a zone where it is Thursday in UTC already.
var anchor = time.Date(2026, time.April, 15, 23, 30, 0, 0, time.FixedZone("", -5*3600))

func TestDates_Phrases(t *testing.T) {
	for phrase, want := range map[string]string{
		"yesterday": "2026-04-14", "today": "2026-04-15", "tomorrow": "2026-04-16",
		"the day before yesterday": "2026-04-13", "day before yesterday": "2026-04-13",
		"the day after tomorrow": "2026-04-17", "day after tomorrow": "2026-04-17",
		"last week": "2026-04-08", "next week": "2026-04-22", "last month": "2026-03-15", "next month": "2026-05-15",
		"last year": "2025-04-15", "next year": "2027-04-15",
		"last Monday": "2026-04-13", "last Wednesday": "2026-04-08", "last Thursday": "2026-04-09", "last sunday": "2026-04-12",
		"next Monday": "2026-04-20", "next Wednesday": "2026-04-22", "next Thursday": "2026-04-16", "next Sunday": "2026-04-19",
		"this Monday": "2026-04-13", "this Wednesday": "2026-04-15", "this Sunday": "2026-04-19",
		"3 days ago": "2026-04-12", "a day ago": "2026-04-14", "one day ago": "2026-04-14", "two weeks ago": "2026-04-01",
		"twenty-one days ago": "2026-03-25", "twenty one days ago": "2026-03-25", "a month ago": "2026-03-15", "12 months ago": "2025-04-15",
		"ten years ago": "2016-04-15", "a week ago today": "2026-04-08",
		"3 days from now": "2026-04-18", "a week from today": "2026-04-22", "in 3 days": "2026-04-18", "in two weeks": "2026-04-29",
		"in a month": "2026-05-15", "in a year": "2027-04-15", "in two days' time": "2026-04-17", "in 3 days from now": "2026-04-18",
		"99999 days ago": "1752-07-01", "in  2\n weeks": "2026-04-29",
	} {
		for _, form := range []string{"the call is %s", "It happens %s.", "We talk (%s) about it", "It's due %s, at noon", "- item: %s"} {
			text, wanted := fmt.Sprintf(form, phrase), fmt.Sprintf(form, want)
			got := dream.MakeDatesAbsolute(text, anchor, dream.DateOptions{})
			if got.Text != wanted || !got.Changed || len(got.Found) != 1 || got.Found[0] != (dream.DatedPhrase{Phrase: phrase, Date: want}) {
				t.Errorf("%q: %+v, want %q", text, got, wanted)
			}
		}
	}
}

func TestDates_MonthsEndAtTheirLastDay(t *testing.T) {
	for _, c := range []struct{ at, phrase, want string }{
		{"2026-03-31", "last month", "2026-02-28"}, {"2024-03-31", "last month", "2024-02-29"}, {"2026-01-31", "next month", "2026-02-28"},
		{"2024-02-29", "next year", "2025-02-28"}, {"2024-02-29", "4 years ago", "2020-02-29"}, {"2026-01-30", "3 months ago", "2025-10-30"},
		{"2026-01-01", "yesterday", "2025-12-31"}, {"2026-11-22", "last week", "2026-11-15"},
	} {
		at, err := time.Parse(time.DateOnly, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := dream.MakeDatesAbsolute("seen "+c.phrase, at, dream.DateOptions{}).Text; got != "seen "+c.want {
			t.Errorf("%s of %s: %q, want %s", c.phrase, c.at, got, c.want)
		}
	}
}

func TestDates_InSentences(t *testing.T) {
	for text, want := range map[string]string{
		"Yesterday we shipped it.":                               "2026-04-14 we shipped it.",
		"We shipped yesterday's build today.":                    "We shipped 2026-04-14's build 2026-04-15.",
		"the events of last week and last Friday night":          "the events of 2026-04-08 and 2026-04-10 night",
		"It was fixed. The certificate expires in two weeks.":    "It was fixed. The certificate expires 2026-04-29.",
		"He said the trial starts in 3 days":                     "He said the trial starts 2026-04-18",
		"The review was scheduled; it will be in 2 weeks":        "The review was scheduled; it will be 2026-04-29",
		"user: Tomorrow I fly to Rome":                           "user: 2026-04-16 I fly to Rome",
		"1. Today: build\n2. Tomorrow: test":                     "1. 2026-04-15: build\n2. 2026-04-16: test",
		"*yesterday* it rained — today it doesn't":               "*2026-04-14* it rained — 2026-04-15 it doesn't",
		"Don't wait: it's due tomorrow, isn't it?":               "Don't wait: it's due 2026-04-16, isn't it?",
		"I run every day. I ran yesterday.":                      "I run every day. I ran 2026-04-14.",
		"He said \"do it tomorrow\", and he did it today.":       "He said \"do it tomorrow\", and he did it 2026-04-15.",
		"since last Monday’s outage":                             "since 2026-04-13’s outage",
		"Two weeks ago Anna moved, and 3 days ago she came back": "2026-04-01 Anna moved, and 2026-04-12 she came back",
	} {
		if got := dream.MakeDatesAbsolute(text, anchor, dream.DateOptions{}).Text; got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestDates_LeavesAlone(t *testing.T) {
	for _, text := range []string{
		// code, addresses and names of things
		"run `today` first", "```\nprint(yesterday)\nlast week\n```", "see https://example.com/last/today and today.html",
		"the option --since=yesterday", "mail today@example.com", "yesterday_total", "#today", "@tomorrow", "/tmp/today/x", "tomorrow.io",
		"$today", "today()", "next-week", "2-3 days ago", "1.5 years ago",
		// quoted text
		"she said \"see you tomorrow\"", "“last week was hard”", "'I leave tomorrow' is what he wrote", "> we met yesterday", "«demain, tomorrow»",
		// names
		"watch the Today Show", "Today Show hosts met", "The Day After Tomorrow is a film", "read it in USA Today", "the Tomorrow People",
		// words and longer phrases
		"all our yesterdays", "last weekend", "the last week of May", "over the last month", "in the next year", "my last week at work",
		"this last month", "last Fridays", "within 3 days", "more than 3 days ago", "two or three days ago",
		"a week ago last Friday", "a year and a half ago", "several days ago", "a few weeks ago", "last week of school", "next Fridays",
		"for the first time in 3 years", "once in 2 weeks", "at least 2 weeks ago", "in 2 weeks of training",
		// dated
		"yesterday (2026-04-14)", "last Friday, 10 April", "next Friday the 24th", "tomorrow: 2026-04-16", "yesterday's (14.4.2026) call", "last Monday, April 13",
		"last Friday (10/4)",
		// habits
		"every day is like yesterday", "I always plan tomorrow today", "He never works the day after tomorrow", "whenever it rains, we meet next week",
		"each report covers last month", "the daily mail has today at the top",
		// lengths of time
		"She finished it in 3 days", "It was built in two weeks", "Rome wasn't built in a day", "we ran 40 km in two days", "He read it in a week",
		// no dates
		"123456 days ago", "9000 years from now", "0x10 days", "days ago", "ago", "", "the year 2026",
	} {
		got := dream.MakeDatesAbsolute(text, anchor, dream.DateOptions{})
		if got.Changed || got.Text != text || len(got.Found) != 0 || got.Found == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestDates_KeepPhraseAndRanges(t *testing.T) {
	for _, c := range []struct {
		o          dream.DateOptions
		text, want string
	}{
		{dream.DateOptions{KeepPhrase: true}, "we met yesterday.", "we met yesterday (2026-04-14)."},
		{dream.DateOptions{Ranges: true}, "busy last week and next month", "busy 2026-04-06/2026-04-12 and 2026-05-01/2026-05-31"},
		{dream.DateOptions{Ranges: true}, "since last year, as of today", "since 2025-01-01/2025-12-31, as of 2026-04-15"},
		{dream.DateOptions{KeepPhrase: true, Ranges: true}, "off next week", "off next week (2026-04-20/2026-04-26)"},
	} {
		got := dream.MakeDatesAbsolute(c.text, anchor, c.o)
		if again := dream.MakeDatesAbsolute(got.Text, anchor, c.o); got.Text != c.want || again.Changed {
			t.Errorf("%q: %q, then %q, want %q", c.text, got.Text, again.Text, c.want)
		}
	}
}

// vocabulary is what random texts are made of: phrases, and everything by which they are
// recognised.
var vocabulary = strings.Fields("yesterday today tomorrow Today the day before after last next this week month year Friday monday in a 3 two twenty-one days weeks ago from now" +
	" was fixed will every it's 's . , ( ) \" ' ` ``` > - 2026-04-14 (2026-04-14) of over he Show \n \n\n é … x_y http://a/today")

func TestDates_AreStableAndOnlyReplacePhrases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			words = append(words, rapid.SampledFrom(vocabulary).Draw(t, "word"))
		}
		text := strings.ReplaceAll(strings.Join(words, " "), "\\n", "\n")
		o := dream.DateOptions{KeepPhrase: rapid.Bool().Draw(t, "keep"), Ranges: rapid.Bool().Draw(t, "ranges")}
		got := dream.MakeDatesAbsolute(text, anchor, o)
		if got.Changed != (got.Text != text) || got.Changed != (len(got.Found) > 0) {
			t.Fatalf("%q: %+v", text, got)
		}
		back := got.Text
		for _, f := range got.Found {
			if o.KeepPhrase {
				back = strings.Replace(back, " ("+f.Date+")", "", 1)
			}
		}
		if o.KeepPhrase && !strings.Contains(text, "2026") && back != text {
			t.Fatalf("%q became %q", text, got.Text)
		}
		if again := dream.MakeDatesAbsolute(got.Text, anchor, o); again.Changed {
			t.Fatalf("%q became %q, then %q", text, got.Text, again.Text)
		}
	})
}

func FuzzMakeDatesAbsolute(f *testing.F) {
	f.Add("we met yesterday, in 3 days", true)
	f.Add("\"in two weeks\" ```today", false)
	f.Fuzz(func(t *testing.T, text string, keep bool) {
		got := dream.MakeDatesAbsolute(text, anchor, dream.DateOptions{KeepPhrase: keep})
		if got.Changed != (got.Text != text) {
			t.Fatalf("%q: %+v", text, got)
		}
		if again := dream.MakeDatesAbsolute(got.Text, anchor, dream.DateOptions{KeepPhrase: keep}); again.Changed {
			t.Fatalf("%q became %q, then %q", text, got.Text, again.Text)
		}
	})
}

func BenchmarkMakeDatesAbsolute(b *testing.B) {
	for name, text := range map[string]string{
		"sentence": "We shipped it yesterday, and the certificate expires in two weeks.",
		"64KiB":    strings.Repeat("today he said 'in 3 days' and ", 64<<10/30),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				dream.MakeDatesAbsolute(text, anchor, dream.DateOptions{})
			}
		})
	}
}
