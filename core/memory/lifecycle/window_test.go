package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// turns plays turns of a memory, written as outcomes of a subject: "me:soof you:s"; o passes it over, and
// - offers it to no purpose.
func turns(text string) core.Signals {
	s := lifecycle.Initial()
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
		{"at most 40", "me:" + again("ssssssssss"+again("o", 35), 1), again("s", 5) + again("o", 35)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			window := string(turns(c.turns).Window)
			for i := 0; i < len(window); i += 6 {
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
		{"never offered", "", lifecycle.Standing{}},
		{"my own turns count in full", "me:" + again("f", 9), lifecycle.Standing{Offers: 9, Uses: 9, Failures: 9}},
		{"five offers of another subject", "you:" + again("o", 9), lifecycle.Standing{Offers: 5}},
		{"the last five", "you:ssssooooo", lifecycle.Standing{Offers: 5}},
		{"five of each", "you:" + again("o", 9) + " they:" + again("o", 9), lifecycle.Standing{Offers: 10}},
		{"failures of one, where nobody else succeeded", "you:ffff", lifecycle.Standing{Offers: 4, Uses: 4, Failures: 4}},
		{"failures of one, where others succeeded once", "they:s you:ffff", lifecycle.Standing{Offers: 5, Uses: 5, Failures: 4}},
		{"failures of one, where others succeeded twice", "they:s me:s you:ffff", lifecycle.Standing{Offers: 3, Uses: 3, Failures: 1}},
		{"its own successes aren't others'", "you:ssfff", lifecycle.Standing{Offers: 5, Uses: 5, Failures: 3}},
		{"partial success is a use", "me:pp", lifecycle.Standing{Offers: 2, Uses: 2}},
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
// subject reports leaves it before a memory without a record.
func TestWindow_NobodyElsesReportsChangeTheOrder(t *testing.T) {
	for _, reports := range []string{"f", again("f", 10), again("f", 100), again("of", 50), again("o", 100), again("ofp", 30)} {
		s := lifecycle.StandingOf(turns("they:sss you:"+reports).Window, "me")
		if factor := s.FailureFactor(); factor < .5 {
			t.Errorf("after %q: %+v, factor %v", reports, s, factor)
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
