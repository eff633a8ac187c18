package dream_test

import (
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/dream"
)

// TestCompare_MergesWhatDiffersInForm measures both halves of the pairs of testdata/forms: nine of
// ten that differ in form only must merge, and none that only look alike. Only the half that the
// rules were made with shows what doesn't merge.
func TestCompare_MergesWhatDiffersInForm(t *testing.T) {
	for _, half := range []string{"build", "heldout"} {
		raw, err := os.ReadFile("testdata/forms/" + half + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		same, merged, near := 0, 0, 0
		for line := range strings.Lines(string(raw)) {
			mark, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			a, b, is := strings.Cut(rest, " | ")
			if !is || mark != "=" && mark != "!" {
				continue
			}
			got := dream.Compare(a, b)
			switch {
			case mark == "!":
				near++
				if got.Merge {
					t.Errorf("%s: %q and %q merge", half, a, b)
				}
			case got.Merge:
				same, merged = same+1, merged+1
			default:
				same++
				if half == "build" {
					t.Logf("%q and %q: %s %q %q", a, b, got.Class, got.Words, got.Forms)
				}
			}
		}
		t.Logf("%s: %d of %d merge, and none of %d that look alike", half, merged, same, near)
		if same < 30 || near < 30 || merged*10 < same*9 {
			t.Errorf("%s: %d of %d merge", half, merged, same)
		}
	}
}
