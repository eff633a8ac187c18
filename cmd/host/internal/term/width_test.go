package term_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

func TestWidthOfCountsColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "naïve": 5, "e\u0301": 1, "字x": 3, "🙂": 2, "▀": 1, "\x1b[1;31merror:\x1b[0m x": 8, "a\u200bb": 2, "ﾊﾟ": 2, "Ａ": 2,
	} {
		if got := term.WidthOf(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
}

func TestFitCutsAtColumns(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"字字字", 6, "字字字"}, {"字字字", 5, "字字…"}, {"字字字", 4, "字…"}, {"ab", 1, "…"},
	} {
		if got := term.Fit(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d: got %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestWrapBreaksBetweenWordsOnly(t *testing.T) {
	text := "  - one two three four\nfive sixteen-characters seven"
	want := "  - one\n    two\n    three\n    four\nfive\n    sixteen-characters\n    seven"
	if got := term.Wrap(text, 9, "    "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := term.Wrap(text, 0, ""); got != text {
		t.Errorf("without a limit: %q", got)
	}
}

// What isn't a terminal gets whole values, in columns.
func TestTableIsWholeInAPipe(t *testing.T) {
	var out bytes.Buffer
	long := strings.Repeat("long ", 100)
	if err := term.Table(&out, []string{"A", "TITLE", "B"}, [][]string{{"字", long + ".", "1"}, {"x", "y", ""}}); err != nil {
		t.Fatal(err)
	}
	want := "A   TITLE" + strings.Repeat(" ", 498) + "B\n字  " + long + ".  1\nx   y\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}
