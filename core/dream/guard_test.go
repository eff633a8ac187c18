package dream_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/text"
)

func TestGuard_LabelledPairs(t *testing.T) {
	pairs, err := dream.LabelledPairs(nil)
	if err != nil {
		t.Fatal(err)
	}
	type tally struct{ pairs, right int }
	for half, name := range []string{"fitted on", "held out"} {
		different, hard, class, form, near := tally{}, tally{}, tally{}, tally{}, tally{}
		count := func(of *tally, right bool) {
			of.pairs++
			if right {
				of.right++
			}
		}
		for i, p := range pairs {
			if i%2 != half {
				continue
			}
			got := dream.Compare(p.A, p.B)
			switch {
			case !p.Same:
				count(&different, got.Class != "")
				count(&class, got.Class == p.Class)
				if isHardClass(p.Class) {
					count(&hard, got.Hard)
				}
				if got.Merge || got.Class == "" || isHardClass(p.Class) && !got.Hard {
					t.Errorf("%q and %q, which differ by %s: %+v", p.A, p.B, p.Class, got)
				} else if got.Class != p.Class {
					t.Logf("%q / %q: %s, labelled %s (%q)", p.A, p.B, got.Class, p.Class, got.Words)
				}
			case p.By == dream.ByForm:
				count(&form, got.Merge)
				if !got.Merge {
					t.Errorf("%q and %q, which say the same: %+v %q", p.A, p.B, got, got.Words)
				}
			default:
				count(&near, got.Class == "")
				if got.Class != "" {
					t.Logf("%q / %q: %s %q", p.A, p.B, got.Class, got.Words)
				}
			}
		}
		t.Logf("%s: refused %v of those that differ, hard %v, in their class %v; merged by form %v, let through by vectors %v", name, different, hard, class, form, near)
	}
}

func isHardClass(class string) bool {
	switch class {
	case dream.Name, dream.Person, dream.Value, dream.SaysMore, dream.Order:
		return false
	}
	return true
}

func FuzzCompare(f *testing.F) {
	pairs, err := dream.LabelledPairs(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range pairs {
		f.Add(p.A, p.B)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ab, ba := dream.Compare(a, b), dream.Compare(b, a)
		if ab.Merge != ba.Merge || ab.By != ba.By || ab.Class != ba.Class || ab.Hard != ba.Hard || ab.Forms[0] != ba.Forms[1] || ab.Forms[1] != ba.Forms[0] {
			t.Fatalf("%q, %q: %+v, but the other way %+v", a, b, ab, ba)
		}
		if ab.Merge && (ab.By != dream.ByForm || ab.Class != "" || ab.Forms[0] != ab.Forms[1]) {
			t.Fatalf("%q, %q: %+v", a, b, ab)
		}
		for i, s := range []string{a, b} {
			if same := dream.Compare(s, s); same.Class != "" || same.Merge != (ab.Forms[i] != "") {
				t.Fatalf("%q with itself: %+v", s, same)
			}
			if again := text.Normal(ab.Forms[i]); again != ab.Forms[i] {
				t.Fatalf("the form of %q is %q, and of that %q", s, ab.Forms[i], again)
			}
		}
	})
}
