package core

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Attempt is one output of a loop and what was said of it.
type Attempt struct {
	// Iteration counts from 1.
	Iteration int `json:"iteration"`
	// Output is the value that counts: as it was made, or as the verdict
	// replaced it.
	Output json.RawMessage `json:"output"`
	// Raw is the output as it was made, where the verdict replaced it; or what the
	// generator was given where it made nothing usable of it, such as a reply that
	// isn't JSON.
	Raw json.RawMessage `json:"raw,omitempty"`
	// Role says who made it: sdk.RoleGenerate or sdk.RoleCorrect.
	Role sdk.Role `json:"role"`
	// Judged is whether the fields below hold: a verdict was given, or the
	// generator failed, which needs none.
	Judged   bool          `json:"judged"`
	Score    float64       `json:"score"`
	Valid    bool          `json:"valid"`
	Errors   []sdk.Finding `json:"errors"`
	Feedback string        `json:"feedback"`
	// Children are the verdicts of a composite evaluator's children, by name.
	Children map[string]sdk.Verdict `json:"children,omitempty"`
	// Accepted is whether the attempt passes: Valid, or what the loop's accept
	// rule said.
	Accepted bool `json:"accepted"`
	// CorrectorError says why the corrector, asked to repair the attempt before
	// this one, failed, where that is why the generator made this one.
	CorrectorError *sdk.Finding `json:"corrector_error,omitempty"`
	// StatePatch is what a corrector in mode regenerate merged into the state
	// before this attempt was generated: a JSON object.
	StatePatch json.RawMessage `json:"state_patch,omitempty"`
	// Usage is what making and judging it took.
	Usage sdk.Usage `json:"usage"`
	// ActiveMillis is how long the loop had been active when this was recorded,
	// over all resumes.
	ActiveMillis int64 `json:"active_ms"`
}

// HistoryEntry is the attempt as plugins and results show it.
func (a *Attempt) HistoryEntry() sdk.HistoryEntry {
	errors := a.Errors
	if errors == nil {
		errors = []sdk.Finding{}
	}
	return sdk.HistoryEntry{
		Iteration: a.Iteration, Output: a.Output, Raw: a.Raw, Score: a.Score,
		Valid: a.Valid, Errors: errors, Feedback: a.Feedback,
	}
}
