package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestNamespaces(t *testing.T) {
	longest := strings.Repeat("ü", core.MaxNamespaceRunes)
	for _, good := range []string{"a", "a/b/c", "team-1/Projekt.Ä/日本", "a/b/c/d/e/f/g/h", "Team_1/a-b", strings.Repeat("a", core.MaxNamespaceRunes), "a*", "...", longest} {
		if err := core.CheckNamespace(good); err != nil {
			t.Errorf("%.20q: %v", good, err)
		}
	}
	cases := []struct{ name, says string }{
		{"", "it is empty"},
		{"/a", "begins or ends with /"},
		{"a/", "begins or ends with /"},
		{"/", "a segment is empty"},
		{"a//b", "a segment is empty"},
		{"a/./b", "no segment may be ."},
		{"..", "no segment may be .."},
		{"*", "no segment may be *"},
		{"a/*", "no segment may be *"},
		{"a b", "white space"},
		{"a\u00a0b", "white space"},
		{`a\b`, "backslashes"},
		{"a\x00b", "control characters"},
		{"a\u0085b", "control characters"},
		{"a\xffb", "isn't UTF-8"},
		{"secure\u200b", "an invisible character, U+200B"},      // zero width space
		{"se\u00adcure", "an invisible character, U+00AD"},      // soft hyphen
		{"\u202esecure", "an invisible character, U+202E"},      // right-to-left override
		{"secure/\u2066a", "an invisible character, U+2066"},    // isolate
		{"\ufeffsecure", "an invisible character, U+FEFF"},      // byte order mark
		{"secure\U000e0041", "an invisible character, U+E0041"}, // tag
		{"secure\ufe0f", "an invisible character, U+FE0F"},      // variation selector
		{"secure\u3164", "an invisible character, U+3164"},      // Hangul filler
		{"cafe\u0301", "isn't in the Unicode form NFC"},
		{"\u212bngstrom", "isn't in the Unicode form NFC"}, // the sign of the unit
		{"a/b/c/d/e/f/g/h/i", "9 segments (limit 8)"},
		{longest + "u", "513 characters (limit 512)"},
		{strings.Repeat("a", core.MaxNamespaceRunes+1), "513 characters (limit 512)"},
	}
	for _, c := range cases {
		err := core.CheckNamespace(c.name)
		if sdk.ReasonOf(err) != "namespace_invalid" || !strings.Contains(err.Error(), c.says) || sdk.AsError(err).Hint == "" {
			t.Errorf("%.20q: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestAllProblemsOfANamespaceAreReported(t *testing.T) {
	hostile := "/ /../" + strings.Repeat("\xf0\x9f\x98", 1<<20)
	err := core.CheckNamespace(hostile)
	for _, want := range []string{"isn't UTF-8", "characters (limit 512)", "white space", "begins or ends with /", "no segment may be .."} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if len(err.Error()) > 10_000 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}

func TestNamespaceChain(t *testing.T) {
	for name, want := range map[string][]string{
		"*": {"*"}, "a": {"*", "a"}, "a/b/c": {"*", "a", "a/b", "a/b/c"},
	} {
		if got := core.NamespaceChain(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
