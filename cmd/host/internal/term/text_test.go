package term_test

import (
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

func TestBarDrawsAnyScore(t *testing.T) {
	for score, want := range map[float64]string{-1: "░░░░░░░░░░", 0.5: "█████░░░░░", 7: "██████████"} {
		if got := term.Bar(score); got != want {
			t.Errorf("%v: got %s", score, got)
		}
	}
}
