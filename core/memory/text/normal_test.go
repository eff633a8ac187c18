package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNormal_JoinsWhatIsOnlyWrittenDifferently(t *testing.T) {
	for _, same := range [][]string{
		{"Tokens expire after 30 s.", "The tokens expire after thirty seconds", "token expires after 30s", "Tokens expire after 30.0 sec!"},
		{"Released on 1 May 2026", "released on 2026-05-01", "Released on May 1st, 2026.", "released on the 1st of May 2026"},
		{"The server doesn't cache files", "the servers do not cache a file"},
		{"Please retry the request", "retry requests"},
		{"In production, the cache is off.", "The cache is off in production"},
		{"Cannot log in", "can't log in", "Can’t log in"},
		{"The colour of organised behaviours", "color of organized behavior"},
		{"It costs 1,250 tokens", "it costs 1250 token"},
		{"twenty-one retries", "21 retries", "twenty one retry"},
		{"one hundred and five users", "105 users"},
		{"use ≤ 5 workers", "use <= 5 workers", "Using <=5 workers"},
		{"from 10-20 MB", "from 10 to 20 megabytes", "from 10–20MB"},
		{"Restarting stopped jobs", "restarted stopping job"},
		{"configure the file", "configured files", "configuring a file"},
		{"embed it", "embedded it", "embeds it"},
		{"e-mail", "email"},
		{"The user's name", "user name"},
		{"Salt & pepper", "salt and pepper"},
		{"“Quoted” (in brackets)", "quoted in bracket"},
		{"ＦＵＬＬ width", "full width"},
		{"a well-known port", "well known ports"},
		{"the web-site's home page", "website homepage", "the web site's homepage"},
		{"a sub-second delay", "subsecond delay", "sub second delay"},
		{"On Fridays Ben cooks", "On Fridays, Ben cooks", "Ben cooks on Fridays"},
		{"When it rains, stay inside", "Stay inside when it rains"},
		{"two hundred thousand rows", "200,000 rows", "200 thousand rows"},
		{"It rang thrice", "it rang three times"},
		{"a dozen eggs", "twelve eggs", "12 eggs"},
		{"the 7th row", "the seventh row"},
		{"by Dec 24", "by 24 December", "by December 24th"},
		{"at 12 am", "at 00:00", "at 12:00 AM"},
		{"for €3.50", "for 3.5 euros"},
		{"a two-week break", "a 2-week break", "2 week breaks"},
		{"The script is run by cron", "Scripts run by cron"},
		{"The row was deleted by Ben", "Ben deleted rows"},
	} {
		for _, s := range same[1:] {
			if Normal(s) != Normal(same[0]) {
				t.Errorf("%q is %q, but %q is %q", same[0], Normal(same[0]), s, Normal(s))
			}
		}
	}
}

func TestNormal_KeepsApartWhatSaysSomethingElse(t *testing.T) {
	for _, pair := range [][2]string{
		{"JWT tokens expire after 1 hour", "JWT tokens expire after 24 hours"},
		{"The walls are purple", "The walls are cyan"},
		{"Anna likes X", "Anna does not like X"},
		{"PR #260 is merged", "PR #480 is merged"},
		{"A calls B", "B calls A"},
		{"The site is down", "The site was down"},
		{"It is -5 °C", "It is 5 °C"},
		{"use < 5 workers", "use > 5 workers"},
		{"wait 30 s", "wait 30 ms"},
		{"10 MB", "10 Mb"},
		{"10 kB", "10 KiB"},
		{"upgrade to v1.2.3", "upgrade to v1.3.2"},
		{"call get_user", "call set_user"},
		{"read /etc/a", "read /etc/b"},
		{"all tests pass", "some tests pass"},
		{"1 May 2026", "1 June 2026"},
		{"May 31, 2026", "May 30, 2026"},
		{"it may fail", "it must fail"},
		{"If it fails, retry", "If it fails, don't retry"},
		{"plan A won", "plan B won"},
		{"plan A", "plan"},
		{"run `rm -r a`", "run `rm -r b`"},
		{"Is it up?", "It is up"},
		{"1.5 hours", "15 hours"},
		{"1,5", "15"},
		{"one hundred", "one thousand"},
		{"twenty twenty", "twenty"},
		{"It costs $5", "It costs €5"},
		{"I like it", "you like it"},
		{"before the release", "after the release"},
		{"only admins", "admins"},
		{"the evening", "the even"},
		{"co-op", "coop up"},
		{"at 12 pm", "at 12 am"},
		{"at 3:30", "at 15:30"},
		{"1/5/2026", "5/1/2026"},
		{"5 million", "5 thousand"},
		{"a dozen eggs", "eggs"},
		{"hundreds of rows", "100 of rows"},
		{"for €3", "for $3"},
		{"for £3", "for 3 pounds"},
		{"If it rains or snows, stay", "Stay, snow or rain"},
		{"the request timed out", "the request timed"},
		{"Ben was deleted by the row", "Ben deleted the row"},
		{"every row was deleted by Ben", "Ben deleted a row"},
		{"the data is based on it", "the database is on it"},
	} {
		if a, b := Normal(pair[0]), Normal(pair[1]); a == b {
			t.Errorf("%q and %q are both %q", pair[0], pair[1], a)
		}
	}
}

func TestNormal_IsReadable(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"  The, an! ":                          "",
		"In tests, the API doesn't wait 30 s":  "API do not wait 30 second in test",
		"Two Thousand and twenty-six":          "2000 and 26",
		"31 February 2026":                     "31 february 2026",
		"https://example.org/A?b=1, see":       "https://example.org/A?b=1 see",
		"after two million three thousand one": "after 2003001",
		"日本語 テスト":                              "日本語 テスト",
	} {
		if got := Normal(in); !strings.EqualFold(got, want) {
			t.Errorf("Normal(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNormal_IgnoresCaseSpacesAndArticles(t *testing.T) {
	words := []string{"server", "retries", "expired", "tokens", "before", "not", "30", "seconds", "get_user", "v1.2", "build", "it", "is", "running"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(t, "words")
		list = append([]string{"server"}, list...) // an article ends the phrase that a preposition begins
		plain := strings.Join(list, " ")
		var other strings.Builder
		for _, w := range list {
			other.WriteString(rapid.SampledFrom([]string{"", "the ", "  ", "please ", "The \n"}).Draw(t, "between"))
			if w != "get_user" && rapid.Bool().Draw(t, "capital") {
				w = strings.ToUpper(w[:1]) + w[1:]
			}
			other.WriteString(w + " ")
		}
		if strings.Contains(other.String(), "V1.2") {
			return // an identifier's case counts
		}
		if Normal(plain) != Normal(other.String()) {
			t.Fatalf("%q is %q, but %q is %q", plain, Normal(plain), other.String(), Normal(other.String()))
		}
	})
}

func FuzzNormal(f *testing.F) {
	for _, s := range []string{"In May, 1,000.5 s - twenty-one", "`a b` `", "$-5..3", "1st of of May 99999", "'s 'd n't", "\xff\x00 -", "9-9-9", "hundred and and hundred"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := Normal(s)
		if utf8.ValidString(s) && !utf8.ValidString(n) {
			t.Fatalf("%q isn't UTF-8", n)
		}
		if Normal(" "+s+"\n") != n {
			t.Fatalf("spaces around %q change its form", s)
		}
	})
}

func BenchmarkNormal(b *testing.B) {
	const s = "In production, the API doesn't wait for more than thirty seconds before it cancels a user's request, see https://example.org/a#b (PR #260)."
	for b.Loop() {
		Normal(s)
	}
}
