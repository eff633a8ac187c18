package schema

import "testing"

// TestBudget_IsSpentToItsLastStep: a check that costs all of it passes, and one step more ends it.
func TestBudget_IsSpentToItsLastStep(t *testing.T) {
	for _, c := range []struct {
		left  int
		steps []int
		ends  bool
	}{
		{5, []int{5}, false}, {5, []int{2, 3}, false}, {5, []int{2, 3, 0}, false}, {0, []int{0}, false}, {1, []int{0, 1}, false},
		{5, []int{6}, true}, {5, []int{5, 1}, true}, {0, []int{1}, true}, {MaxSteps, []int{MaxSteps, 1}, true}, {MaxSteps, []int{MaxSteps}, false},
	} {
		ended := func() (ended bool) {
			defer func() { _, ended = recover().(costError) }()
			b := budget{left: c.left}
			for _, n := range c.steps {
				b.spend(n)
			}
			return false
		}()
		if ended != c.ends {
			t.Errorf("%v of %d steps: ended %v", c.steps, c.left, ended)
		}
	}
}
