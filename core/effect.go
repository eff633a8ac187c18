package core

import (
	"fmt"
	"math"
)

// What a trial of a memory came to.
const (
	EffectUnderTest = "under_test"
	EffectHelps     = "helps"     // it is shown to help
	EffectNone      = "none"      // it is shown not to help
	EffectUndecided = "undecided" // it took as many offers, or cost as many successes, as it may
)

// DefaultRegretBudget is how many successes the trial of a memory may cost if no namespace sets it.
const DefaultRegretBudget = 10

// Effect is what a memory contributes to success, from turns in which it was left out by chance. It
// holds at any time, also if the trial ends early.
type Effect struct {
	// Estimate is the share of turns that succeed with the memory less the share of those without it, from
	// -1 to 1, and the interval from Low to High has the true one in 95 of 100 trials.
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// EValue is the evidence that it helps: a memory that doesn't reaches 20 in 1 of 20 trials at most.
	EValue float64 `json:"e_value"`
	// With and Without count the turns, or the sessions whose history holds what their turns were given.
	With    int `json:"with"`
	Without int `json:"without"`
	// Verdict is under_test, helps, none or undecided.
	Verdict string `json:"verdict"`
}

// String is the effect in points, which are hundredths.
func (e *Effect) String() string {
	points := func(share float64) float64 { return math.Round(100*share) + 0 } // + 0 leaves no -0
	return fmt.Sprintf("%+.0f points [%.0f, %.0f], %d turns with, %d without", points(e.Estimate), points(e.Low), points(e.High), e.With, e.Without)
}
