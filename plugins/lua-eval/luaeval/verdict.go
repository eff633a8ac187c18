package luaeval

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/reflectory/reflectory/sdk"
)

// threshold is the lowest valid score when a script returns only a number.
const threshold = 0.5

// accepted is how messages describe what a script may return.
const accepted = "return a table {valid, score, errors, feedback}, a boolean or a number"

// verdictOf reads the return value of an evaluator's script. Anything that isn't a
// verdict makes the attempt invalid, with an error that says so: a script that ran to
// its end has judged, however clumsily.
func verdictOf(value json.RawMessage) sdk.Verdict {
	if value == nil {
		return refused("the script returned no value; " + accepted)
	}
	switch c := value[0]; {
	case c == 't' || c == 'f':
		return fromBool(c == 't')
	case c == '-' || c >= '0' && c <= '9':
		return fromNumber(value)
	case c == '{':
		return fromTable(value)
	case c == '[':
		return refused("the script returned an array; " + accepted)
	case c == '"':
		return refused("the script returned a string; " + accepted)
	}
	return refused("the script returned null; " + accepted)
}

// refused is the verdict on an attempt whose script returned something other than a
// verdict.
func refused(message string) sdk.Verdict {
	return sdk.Verdict{Errors: []sdk.Finding{{Message: message, Code: reasonResult, Type: sdk.TypeEvaluatorError}}}
}

func fromBool(valid bool) sdk.Verdict {
	if valid {
		return sdk.Verdict{Valid: true, Score: 1}
	}
	return sdk.Verdict{Errors: []sdk.Finding{{Message: "Validation failed"}}}
}

func fromNumber(text json.RawMessage) sdk.Verdict {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return refused("the script returned a number that can't be read: " + err.Error())
	}
	n = min(1, max(0, n))
	v := sdk.Verdict{Valid: n >= threshold, Score: n}
	if !v.Valid {
		message := fmt.Sprintf("Score %s below threshold %g", strconv.FormatFloat(n, 'g', -1, 64), threshold)
		v.Errors = []sdk.Finding{{Message: message}}
	}
	return v
}

// table is the shape of a verdict. Other keys are ignored.
type table struct {
	Valid    *bool           `json:"valid"`
	Score    *float64        `json:"score"`
	Errors   findings        `json:"errors"`
	Feedback string          `json:"feedback"`
	Output   json.RawMessage `json:"output"`
}

func fromTable(text json.RawMessage) sdk.Verdict {
	var t table
	if err := json.Unmarshal(text, &t); err != nil {
		return refused(fmt.Sprintf("the script returned a table that is no verdict: %s; %s", shapeError(err), accepted))
	}
	if t.Valid == nil {
		return refused("the script returned a table without a boolean valid; " + accepted)
	}
	v := sdk.Verdict{Valid: *t.Valid, Errors: t.Errors, Feedback: t.Feedback, Output: t.Output}
	switch {
	case t.Score != nil:
		v.Score = min(1, max(0, *t.Score))
	case v.Valid:
		v.Score = 1
	}
	return v
}
