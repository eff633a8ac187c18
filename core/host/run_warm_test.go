package host

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow"
)

// TestRunsThatRecallAreKnown: what they will recall from is loaded before.
func TestRunsThatRecallAreKnown(t *testing.T) {
	for action, want := range map[string]bool{
		"memory.recall, with: {query: q}":    true,
		"memory.observe, with: {content: c}": false,
	} {
		source := core.Source{File: "w.yaml", Text: "nodes:\n  - {name: a, action: " + action + "}\n"}
		plan, err := workflow.Load(source, LoadOptions())
		if err != nil {
			t.Fatal(err)
		}
		if recalls(plan) != want {
			t.Errorf("%s: %v", action, !want)
		}
	}
}
