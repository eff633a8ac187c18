package sdk

import (
	"encoding/json"
	"math"
)

// Verdict is an evaluator's judgement of one attempt.
type Verdict struct {
	// Valid is the evaluator's decision that the attempt passes unchanged.
	Valid bool `json:"valid"`
	// Score is how good the attempt is, in [0,1]. See [Verdict.Check].
	Score float64 `json:"score"`
	// Errors lists what is wrong, in the evaluator's own order.
	Errors []Finding `json:"errors,omitempty"`
	// Feedback is free text for the corrector of the attempt.
	Feedback string `json:"feedback,omitempty"`
	// Output, if set, is a parsed or coerced value that replaces the attempt's output
	// from then on.
	Output json.RawMessage `json:"output,omitempty"`
	// Children are the verdicts of a composite's children, by name.
	Children map[string]Verdict `json:"children,omitempty"`
}

// Finding is one thing wrong with an attempt. Only Message is always set.
type Finding struct {
	Message string `json:"message"`
	// Path is a JSON Pointer (RFC 6901) to the wrong value; "" is the whole output. If a program
	// found it in a file, it's the file's path in the workspace, which never begins with "/".
	Path string `json:"path,omitempty"`
	// Line and Column are the place in that file, both from 1; 0 means unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// SchemaPath is a JSON Pointer to the rule that failed.
	SchemaPath string `json:"schema_path,omitempty"`
	// Code is the evaluator's own stable name for the rule ("required").
	Code string `json:"code,omitempty"`
	// Type is the class of the finding, such as [TypeCorrectorError].
	Type string `json:"type,omitempty"`
	// Severity is "error" (also when empty), "warning" or "info".
	Severity string `json:"severity,omitempty"`
	// Source is the child evaluator that found it, in a composite.
	Source string `json:"source,omitempty"`
}

// Types of findings that the loop itself adds.
const (
	TypeGeneratorError = "generator_error"
	TypeCorrectorError = "corrector_error"
	TypeEvaluatorError = "evaluator_error"
)

// Check clamps the score to [0,1], including infinite scores. A score that isn't a
// number is the evaluator's failure and is returned as an [Invalid] error, reason
// "score_not_finite".
func (v *Verdict) Check() error {
	if math.IsNaN(v.Score) {
		return Errorf(Invalid, "score_not_finite", "the verdict's score is not a number").
			WithHint("return a finite score between 0 and 1")
	}
	v.Score = min(1, max(0, v.Score))
	return nil
}
