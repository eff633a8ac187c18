package dream_test

import (
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/dream"
)

// conflictPair is a line of testdata/conflicts.
type conflictPair struct {
	a, b      string
	conflicts bool
}

// conflictPairs reads a file of lines "+ a | b" for a contradiction and "- a | b" for none.
func conflictPairs(t *testing.T, name string) (pairs []conflictPair) {
	t.Helper()
	raw, err := os.ReadFile("testdata/conflicts/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		mark, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if a, b, is := strings.Cut(rest, " | "); is && (mark == "+" || mark == "-") {
			pairs = append(pairs, conflictPair{a, b, mark == "+"})
		}
	}
	return pairs
}

// contradicts reports whether a pass finds a contradiction between two memories, and gives
// its class. Both orders must agree.
func contradicts(t *testing.T, a, b, language string) (class string) {
	t.Helper()
	for i, pair := range [][2]string{{a, b}, {b, a}} {
		items := []dream.Item{said("old", pair[0], 0), said("new", pair[1], 1)}
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Language: language, Options: dream.Options{Strategy: dream.Manual, SkipMerges: true}})
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, c := range plan.Conflicts {
			found = c.Class
		}
		if i == 1 && found != class {
			t.Errorf("%q and %q: %q, the other way %q", a, b, class, found)
		}
		class = found
	}
	return class
}

// TestConflicts_LabelledPairs measures both halves of the labelled pairs: of what is found,
// .98 must be contradictions, and of the contradictions .8 must be found. Only the half that
// the rules were made with shows its failures.
func TestConflicts_LabelledPairs(t *testing.T) {
	for _, language := range []string{"", "english"} {
		for _, half := range []string{"build", "heldout"} {
			pairs := conflictPairs(t, half)
			if len(pairs) < 150 {
				t.Fatalf("%s: %d pairs", half, len(pairs))
			}
			right, wrong, missed := 0, 0, 0
			for _, p := range pairs {
				class := contradicts(t, p.a, p.b, language)
				switch {
				case p.conflicts && class != "":
					right++
					continue
				case p.conflicts:
					missed++
				case class != "":
					wrong++
				default:
					continue
				}
				if half == "build" {
					t.Logf("%q and %q: %q, labelled %t", p.a, p.b, class, p.conflicts)
				}
			}
			precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(right+missed)
			t.Logf("%s, language %q: %d pairs, precision %.3f, recall %.3f", half, language, len(pairs), precision, recall)
			if precision < .98 || recall < .8 {
				t.Errorf("%s, language %q: precision %.3f of %d, recall %.3f of %d; want .98 and .8", half, language, precision, right+wrong, recall, right+missed)
			}
		}
	}
}
