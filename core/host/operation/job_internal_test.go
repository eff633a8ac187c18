package operation

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
)

// TestRunProgress_CountsNodesAndIterations, and is never all: a run may go back to a node.
func TestRunProgress_CountsNodesAndIterations(t *testing.T) {
	var told []float64
	tell := runProgress(2, func(p float64) { told = append(told, p) })
	for _, e := range []core.Event{
		core.NodeStarted{}, core.IterationStarted{Iteration: 1, Max: 4}, core.AttemptJudged{Attempt: &core.Attempt{Iteration: 1}, Max: 4},
		core.IterationStarted{Iteration: 2, Max: 4}, core.AttemptJudged{Attempt: &core.Attempt{Iteration: 2}, Max: 4}, core.LoopEnded{}, core.NodeEnded{},
		core.NodeEnded{Skipped: true}, core.IterationStarted{Iteration: 1, Max: 0},
	} {
		tell(e)
	}
	if want := []float64{0, 0.125, 0.125, 0.25, 0.5, 0.99, 0.99}; !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
	runProgress(0, func(float64) { t.Error("of no nodes there is no part") })(core.NodeEnded{})
}
