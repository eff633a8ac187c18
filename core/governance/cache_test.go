package governance_test

import (
	"fmt"
	"testing"
)

// TestWhatIsStoredDecides: settings that were read before aren't used any more
// than they are stored.
func TestWhatIsStoredDecides(t *testing.T) {
	b := newBench(t)
	depth := func(want int) {
		t.Helper()
		for range 2 {
			if g := b.resolve("a/b"); g.MaxReflectionDepth != want {
				t.Errorf("the cap is %d, want %d", g.MaxReflectionDepth, want)
			}
		}
	}
	depth(3)
	b.set("a", "max_reflection_depth=5")
	depth(5)
	b.set("a/b", "max_reflection_depth=4")
	depth(4)
	b.put("governance/a", `{"namespace":"a","max_reflection_depth":-1}`)
	depth(0)
	b.put("governance/a", `{"namespace":"a","max_reflection_depth":2,"locked":["max_reflection_depth"]}`)
	depth(2)
	b.put("governance/*", `{"namespace":"*","max_reflection_depth":0,"locked":["max_reflection_depth"]}`)
	depth(0)
}

// TestWhoChangesAResultChangesItAlone: a caller may change its result without changing what
// others get.
func TestWhoChangesAResultChangesItAlone(t *testing.T) {
	b := newBench(t)
	b.resolve("a").MaxReflectionDepth = 100
	b.resolve("a").MaxReflectionDepth = 100
	if g := b.resolve("a"); g.MaxReflectionDepth != 3 {
		t.Errorf("the cap is %d", g.MaxReflectionDepth)
	}
}

// TestManyNamespacesAreResolved goes past what is kept in memory.
func TestManyNamespacesAreResolved(t *testing.T) {
	b := newBench(t)
	b.set("n", "max_reflection_depth=7")
	for i := range 3000 {
		name := fmt.Sprintf("n/%d", i)
		if g := b.resolve(name); g.MaxReflectionDepth != 7 || g.Namespace != name {
			t.Fatalf("%s: %+v", name, g)
		}
	}
}
