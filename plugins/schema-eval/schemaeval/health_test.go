package schemaeval

import "testing"

// TestHealth_PreparesAndRuns something real, again and again.
func TestHealth_PreparesAndRuns(t *testing.T) {
	p := Plugin()
	for range 3 {
		if err := p.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
