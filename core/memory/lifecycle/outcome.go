package lifecycle

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// The sources of an outcome, the best first.
const (
	SourceUser = "user" // a user said so
	SourceTool = "tool" // calls of tools showed it
	SourceText = "text" // it was derived from a text
	// SourceInferred is what the host concluded by itself.
	SourceInferred = "inferred"
)

// Better reports whether a source is better than another. What was inferred, and an unknown source, is
// the worst.
func Better(source, than string) bool {
	ranks := map[string]int{SourceText: 1, SourceTool: 2, SourceUser: 3}
	return ranks[source] > ranks[than]
}

// Judge returns how a turn went by the best evidence in its feedback, and the source of
// that evidence: the user's own outcome, else the outcomes of tools, else what a text
// says. Without an outcome and without tools it fails: sdk.Invalid, reason
// "outcome_missing".
func Judge(r *core.FeedbackRequest) (core.Outcome, string, error) {
	source := r.Source
	if source == "" {
		source = SourceText
	}
	switch {
	case r.Outcome != "" && (source != SourceText || len(r.ToolOutcomes) == 0):
		return r.Outcome, source, nil
	case len(r.ToolOutcomes) > 0:
		return ofTools(r.ToolOutcomes), SourceTool, nil
	}
	return "", "", sdk.Errorf(sdk.Invalid, "outcome_missing", "the feedback doesn't say how the turn went").
		WithHint("give an outcome (success, failure or partial), or the outcomes of its tools")
}

// ofTools is the outcome that tool calls show: success if each succeeded, failure if none
// did and none was recovered from.
func ofTools(calls []core.ToolOutcome) core.Outcome {
	well, saved := 0, 0
	for _, c := range calls {
		switch {
		case c.OK:
			well++
		case c.Recovered:
			saved++
		}
	}
	switch {
	case well == len(calls):
		return core.OutcomeSuccess
	case well+saved == 0:
		return core.OutcomeFailure
	}
	return core.OutcomePartial
}
