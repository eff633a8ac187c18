package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// turns plays turns of a memory that author wrote, written as outcomes of a subject: "me:soof you:s"; o passes it over, and
// - offers it to no purpose.
func turns(text string) core.Signals {
	s := lifecycle.Initial()
	s.Window = lifecycle.Written("author")
	outcomes := map[rune]core.Outcome{'s': core.OutcomeSuccess, 'p': core.OutcomePartial, 'f': core.OutcomeFailure}
	for _, part := range strings.Fields(text) {
		subject, played, _ := strings.Cut(part, ":")
		for _, c := range played {
			s = lifecycle.After(s, &lifecycle.Turn{Subject: subject, Used: c != 'o' && c != '-', PassedOver: c == 'o', Outcome: outcomes[c], Weight: 1})
		}
	}
	return s
}

func again(s string, n int) string { return strings.Repeat(s, n) }

func TestWindow_HasTheLastTenUses(t *testing.T) {
	cases := []struct{ name, turns, want string }{
		{"nothing", "", ""},
		{"offers only", "me:" + again("o", 50), again("o", 40)},
		{"uses and offers", "me:soopf", "soopf"},
		{"offers to other questions", "me:--s--o-", "so"},
		{"from the tenth-last use on", "me:" + again("o", 5) + "s" + again("of", 10), again("fo", 9) + "f"},
		{"ten of each", "me:" + again("s", 12) + " you:" + again("f", 12), again("s", 10) + again("f", 10)},
		{"at most 40", "me:" + again("ssssssssss"+again("o", 35), 1), again("s", 5) + again("o", 35)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			window := string(turns(c.turns).Window)
			for i := 6; i < len(window); i += 6 {
				got.WriteByte(window[i])
			}
			if got.String() != c.want {
				t.Errorf("got %q, want %q", got.String(), c.want)
			}
		})
	}
}

func TestStandingOf(t *testing.T) {
	cases := []struct {
		name, turns string
		want        lifecycle.Standing
	}{
		{"never offered", "", lifecycle.Standing{Q: .5}},
		{"my own turns count in full", "me:" + again("f", 9), lifecycle.Standing{Offers: 9, Uses: 9, Failures: 9, Q: .067108864}},
		{"five offers of another subject", "you:" + again("o", 9), lifecycle.Standing{Offers: 5, Q: .5}},
		{"the last five", "you:ssssooooo", lifecycle.Standing{Offers: 5, Q: .5}},
		{"five of each", "you:" + again("o", 9) + " they:" + again("o", 9), lifecycle.Standing{Offers: 10, Q: .5}},
		{"failures of one, where nobody else succeeded", "you:ffff", lifecycle.Standing{Offers: 4, Uses: 4, Failures: 4, Q: .2048}},
		{"failures of one, where others succeeded once", "they:s you:f", lifecycle.Standing{Offers: 2, Uses: 2, Failures: 1, Q: .48}},
		{"failures of one, where others succeeded twice", "they:s me:s you:ffff", lifecycle.Standing{Offers: 2, Uses: 2, Q: .68}},
		{"successes of one, where others succeeded twice", "they:s me:s you:ssss", lifecycle.Standing{Offers: 2, Uses: 2, Q: .68}},
		{"offers of one, where others succeeded twice", "they:s me:s you:oooo", lifecycle.Standing{Offers: 2, Uses: 2, Q: .68}},
		{"failures of two, where others succeeded twice", "they:ss me:s you:fff x:ff", lifecycle.Standing{Offers: 3, Uses: 3, Q: .744}},
		{"its own successes aren't others'", "you:ssfff", lifecycle.Standing{Offers: 5, Uses: 5, Failures: 3, Q: .34816}},
		{"partial success is a use", "me:pp", lifecycle.Standing{Offers: 2, Uses: 2, Q: .5}},
		{"its author's uses", "author:ssssfff me:s", lifecycle.Standing{Offers: 1, Uses: 1, Q: .6}},
		{"what its author passed over", "author:so me:s", lifecycle.Standing{Offers: 2, Uses: 1, Q: .6}},
		{"its author proves nothing", "author:sss you:ff", lifecycle.Standing{Offers: 2, Uses: 2, Failures: 2, Q: .32}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := lifecycle.StandingOf(turns(c.turns).Window, "me"); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestWindow_NobodyElsesReportsChangeTheOrder: where a memory helped others twice, whatever one other
// subject reports changes nothing for them, nor does it become less than they know.
func TestWindow_NobodyElsesReportsChangeTheOrder(t *testing.T) {
	for _, proven := range []string{"they:ss", "they:s me:s", "they:sssfs", "me:ss", "me:sssss they:sofs x:s", "they:" + again("s", 10) + " me:" + again("s", 10)} {
		for _, viewer := range []string{"me", "they", "a stranger"} {
			want := lifecycle.StandingOf(turns(proven).Window, viewer)
			for _, reports := range []string{"f", again("f", 10), again("f", 100), again("of", 50), again("o", 100), again("ofp", 30), again("s", 100), "sf"} {
				if got := lifecycle.StandingOf(turns(proven+" you:"+reports).Window, viewer); got != want {
					t.Errorf("%s, then you:%s: for %s %+v, before %+v", proven, reports, viewer, got, want)
				}
			}
		}
	}
}

// TestOwnStandingOf: where users need opposite things, each has its own record, which begins where others' is.
func TestOwnStandingOf(t *testing.T) {
	for _, c := range []struct {
		turns string
		want  lifecycle.Standing
	}{
		{"", lifecycle.Standing{Q: .5}},
		{"you:ss", lifecycle.Standing{Offers: 2, Uses: 2, Q: .68}},
		{"you:ffff me:s", lifecycle.Standing{Offers: 1, Uses: 1, Q: .49107}},
		{"you:ss me:ff", lifecycle.Standing{Offers: 2, Uses: 2, Failures: 2, Q: .2785}},
		{"you:sssss me:o", lifecycle.Standing{Offers: 6, Uses: 5, Q: .83616}},
		{"me:sf", lifecycle.Standing{Offers: 2, Uses: 2, Failures: 1, Q: .4672}},
	} {
		if got := lifecycle.OwnStandingOf(turns(c.turns).Window, "me"); got.Offers != c.want.Offers || got.Uses != c.want.Uses || got.Failures != c.want.Failures {
			t.Errorf("%s: %+v, want %+v", c.turns, got, c.want)
		}
	}
}

func TestFallen(t *testing.T) {
	for _, c := range []struct {
		turns string
		want  bool
	}{
		{"", false}, {"me:sssss", false}, {"me:ff", false}, {"me:sssfff", true}, {"me:fffs", false}, {"me:ssff", false},
		{"me:ssffoooo", false}, {"me:ssffooooo", true}, {"me:ssfoooooof", false}, {"me:ssfooooooo", false}, {"me:ssfofof", true}, {"me:sspff", false},
		{"they:ss you:fff", false}, {"they:ss you:fffooooo", false}, {"they:ss you:f x:f z:f", true}, {"they:ss you:ff x:f", false}, {"they:ss you:f x:fooooo", true},
		{"you:ssfff", true}, {"you:ssss me:ff", false},
	} {
		if _, _, got := lifecycle.Fallen(turns(c.turns).Window); got != c.want {
			t.Errorf("after %q it has fallen: %t", c.turns, got)
		}
	}
}

func TestStanding_FailureFactor(t *testing.T) {
	for _, c := range []struct {
		s    lifecycle.Standing
		want float64
	}{
		{lifecycle.Standing{}, 1},
		{lifecycle.Standing{Offers: 18}, 1},
		{lifecycle.Standing{Offers: 8, Uses: 8}, 1},
		{lifecycle.Standing{Offers: 1, Uses: 1, Failures: 1}, 2. / 3},
		{lifecycle.Standing{Offers: 10, Uses: 10, Failures: 10}, 1. / 6},
	} {
		if got := c.s.FailureFactor(); core.Rounded(got) != core.Rounded(c.want) {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
		}
	}
}
