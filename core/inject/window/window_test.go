package window

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// turns are n turns with a text of that many characters each.
func turns(n, chars int) (list []Turn) {
	for i := range n {
		text := fmt.Sprintf("Did the work of turn %d. ", i+1)
		list = append(list, Turn{int64(i + 1), text + strings.Repeat("x", chars-len(text))})
	}
	return list
}

// TestFold_Threshold: nothing is folded up to 80 %, and half of that is left above it.
func TestFold_Threshold(t *testing.T) {
	if f := Fold(turns(8, 100), 1000); len(f.Earlier) != 0 || len(f.Recent) != 8 || f.Fill != .8 {
		t.Errorf("at 80 %% it is %+v", f)
	}
	f := Fold(turns(9, 100), 1000)
	if len(f.Recent) != 4 || len(f.Earlier) != 5 || f.Earlier[4] != (Turn{5, "Did the work of turn 5."}) || f.LeftOut != 0 {
		t.Errorf("above 80 %% it is %+v", f)
	}
	if f := Fold(nil, 1000); len(f.Earlier) != 0 || f.Fill != 0 || len(f.Recent) != 0 {
		t.Errorf("without turns it is %+v", f)
	}
}

// TestFold_InBatches: over 200 turns what is folded changes in at most one turn of four,
// every turn is folded, recent or left out, and the sentences' size is bounded.
func TestFold_InBatches(t *testing.T) {
	const maxChars = 1000
	before, changes := "", 0
	all := turns(200, 100)
	for n := range all {
		f := Fold(all[:n+1], maxChars)
		now, chars := fmt.Sprint(f.Earlier), 0
		if now != before {
			changes++
		}
		before = now
		if f.LeftOut+len(f.Earlier) != len(f.Old) || len(f.Old)+len(f.Recent) != n+1 {
			t.Fatalf("of %d turns there are %+v", n+1, f)
		}
		for _, turn := range f.Earlier {
			chars += utf8.RuneCountInString(turn.Text)
		}
		if chars > f.Room {
			t.Fatalf("the sentences have %d characters", chars)
		}
	}
	if changes > len(all)/4 {
		t.Errorf("what is folded changed %d times in %d turns", changes, len(all))
	}
}

// TestFirstSentence knows ends of sentences, lines and long texts.
func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"It works. Next one.":    "It works.",
		"Version 1.2 is out! ok": "Version 1.2 is out!",
		"no end":                 "no end",
		"line\nother":            "line",
		" 終わり。次。":                "終わり。",
		strings.Repeat("y", 300): strings.Repeat("y", 199) + "…",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%q begins with %q, not %q", text, got, want)
		}
	}
}
