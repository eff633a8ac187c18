package operation

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

// MadeAttempt is an attempt that was made and judged elsewhere.
type MadeAttempt struct {
	// Output is what was made.
	Output json.RawMessage `json:"output"`
	// Valid is whether it passed.
	Valid bool `json:"valid"`
	// Score is its score, 0 to 1; absent is 1 if it is valid, else 0.
	Score *float64 `json:"score,omitempty"`
	// Errors are what is wrong with it, and Feedback says so in prose.
	Errors   []sdk.Finding `json:"errors,omitempty"`
	Feedback string        `json:"feedback,omitempty"`
	// Usage is what making and judging it took.
	Usage sdk.Usage `json:"usage,omitzero"`
}

// made checks the attempts of a run from elsewhere, and returns them as the run's.
func (in *RunStart) made() (attempts []core.Attempt, err error) {
	var problems []error
	add := func(field, format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "attempts_invalid", format, args...).WithDetail("field", field))
	}
	if in.Workflow != "" || len(in.Files) > 0 || len(in.State)+len(in.Input)+len(in.Set) > 0 {
		add("attempts", "attempts that were made elsewhere have neither a workflow nor a state")
	}
	if len(in.Attempts) > host.MaxRecorded {
		add("attempts", "there are %d attempts (limit %d)", len(in.Attempts), host.MaxRecorded)
		return nil, core.JoinErrors(problems...)
	}
	if in.Name == "" || len(in.Name) > maxMadeName || !utf8.ValidString(in.Name) || in.Name == core.AgentTurns || strings.HasPrefix(in.Name, core.RequestPrefix) {
		add("name", "name must be a text of 1 to %d bytes, which isn't reserved", maxMadeName)
	}
	for i, a := range in.Attempts {
		at := fmt.Sprintf("attempts[%d]", i)
		if len(a.Output) == 0 {
			a.Output = json.RawMessage("null")
		}
		score := 0.0
		if a.Valid {
			score = 1
			if i < len(in.Attempts)-1 {
				add(at+".valid", "attempt %d is valid, but another one follows", i+1)
			}
		}
		if a.Score != nil {
			if score = *a.Score; score < 0 || score > 1 {
				add(at+".score", "the score of attempt %d isn't from 0 to 1", i+1)
			}
		}
		attempts = append(attempts, core.Attempt{Output: a.Output, Valid: a.Valid, Score: score, Errors: a.Errors, Feedback: a.Feedback, Usage: a.Usage})
	}
	return attempts, core.JoinErrors(problems...)
}

// maxMadeName is the longest name of attempts from elsewhere, in bytes.
const maxMadeName = 200

// asksModel implements modelled: what happened elsewhere is only recorded, and recorded once.
func (in *RunStart) asksModel(*Call) bool { return len(in.Attempts) == 0 }
