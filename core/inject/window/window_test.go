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
	if f := Fold(turns(8, 100), 1000); f.Summary != "" || len(f.Recent) != 8 || f.Fill != .8 {
		t.Errorf("at 80 %% it is %+v", f)
	}
	f := Fold(turns(9, 100), 1000)
	if len(f.Recent) != 4 || f.Through != 5 || !strings.Contains(f.Summary, "\nTurn 5: Did the work of turn 5.") {
		t.Errorf("above 80 %% it is %+v", f)
	}
	if f := Fold(nil, 1000); f.Summary != "" || f.Fill != 0 || len(f.Recent) != 0 {
		t.Errorf("without turns it is %+v", f)
	}
}

// TestFold_InBatches: over 200 turns the block changes in at most one turn of four, every
// turn is in it or recent, and its size is bounded.
func TestFold_InBatches(t *testing.T) {
	const maxChars = 1000
	before, changes := "", 0
	all := turns(200, 100)
	for n := range all {
		f := Fold(all[:n+1], maxChars)
		if f.Summary != before {
			changes++
		}
		before = f.Summary
		if int(f.Through)+len(f.Recent) != n+1 {
			t.Fatalf("of %d turns %d are folded and %d recent", n+1, f.Through, len(f.Recent))
		}
		if chars := utf8.RuneCountInString(f.Summary); chars > maxChars*3/10 {
			t.Fatalf("the block has %d characters", chars)
		}
	}
	if changes > len(all)/4 {
		t.Errorf("the block changed %d times in %d turns", changes, len(all))
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
