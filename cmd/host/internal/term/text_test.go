package term_test

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

func TestTextFromOutsideCannotSteerTheTerminal(t *testing.T) {
	const hostile = "a\x1b[2Jb\nc\td\u009b31me\u202ef\x7f\u061c\u200f\u2028"
	for name, test := range map[string]struct{ got, want string }{
		"on one line":      {term.Clean(hostile), "a [2Jb c d 31me f    "},
		"on several lines": {term.Lines(hostile), "a [2Jb\nc\td 31me f    "},
		"cut":              {term.Cut(hostile, 6), "a [2J…"},
		"as JSON":          {string(term.JSON([]byte("{\n\"a\": \"\u009b\u202e\x7fß\"\n}"))), "{\n\"a\": \"\\u009b\\u202e\\u007fß\"\n}"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}

// TestTextFromOutsideHidesNothing: what can't be seen leaves a mark.
func TestTextFromOutsideHidesNothing(t *testing.T) {
	const (
		tags = "Hi\U000E0049\U000E0067\U000E006E"
		flag = "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F" // of England
	)
	for hidden, want := range map[string]string{
		tags: "Hi\ufffd\ufffd\ufffd", "a\u200bb": "a\ufffdb", "a\u2060b": "a\ufffdb", "a\U000E0101b": "a\ufffdb", "a\ufe01b": "a\ufffdb", "a\u00adb": "a\ufffdb", "\ufeffb": "\ufffdb",
		"a\u3164b": "a\ufffdb", "a\u202eb": "a b", flag + "\u200b": flag + "\ufffd", "🏴\U000E0061": "🏴\ufffd", "👩\u200d🔬 ❤\ufe0f": "👩\u200d🔬 ❤\ufe0f",
	} {
		if got := term.Clean(hidden); got != want {
			t.Errorf("%+q on a line: %+q, want %+q", hidden, got, want)
		}
		if got := term.Lines(hidden); got != want {
			t.Errorf("%+q on several lines: %+q, want %+q", hidden, got, want)
		}
		data, err := json.Marshal(hidden)
		if err != nil {
			t.Fatal(err)
		}
		shown, back := term.JSON(data), ""
		if err := json.Unmarshal(shown, &back); err != nil || back != hidden {
			t.Errorf("%s reads as %+q, %v", shown, back, err)
		}
		if want != hidden && string(shown) == string(data) {
			t.Errorf("%+q isn't escaped", shown)
		}
	}
}

func TestBarDrawsAnyScore(t *testing.T) {
	for score, want := range map[float64]string{-1: "░░░░░░░░░░", 0.5: "█████░░░░░", 7: "██████████"} {
		if got := term.Bar(score); got != want {
			t.Errorf("%v: got %s", score, got)
		}
	}
}
