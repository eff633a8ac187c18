package action

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// EvaluateResult is what reflection.evaluate returns.
type EvaluateResult struct {
	Valid    bool          `json:"valid"`
	Score    float64       `json:"score"`
	Errors   []sdk.Finding `json:"errors"`
	Feedback string        `json:"feedback"`
	// Output is the parsed or coerced value, if the verdict has one.
	Output json.RawMessage `json:"output,omitempty"`
	// Children are the verdicts of a composite's children, by name.
	Children map[string]sdk.Verdict `json:"children,omitempty"`
	// Usage is the usage of judging; absent if none was reported.
	Usage *sdk.Usage `json:"usage,omitempty"`
}

// CorrectResult is what reflection.correct returns.
type CorrectResult struct {
	Output json.RawMessage `json:"output"`
	// Changed is whether Output differs from the data that was given.
	Changed bool `json:"changed"`
	// Usage is the usage of correcting; absent if none was reported.
	Usage *sdk.Usage `json:"usage,omitempty"`
}

// CallResult is what llm.call, lua.run and plugin.call return.
type CallResult struct {
	Output json.RawMessage `json:"output"`
	// Usage is the usage of the call. For lua.run and plugin.call it is absent if none was
	// reported.
	Usage *sdk.Usage `json:"usage,omitempty"`
}

// UsesNamed is what memory.feedback without an outcome stores for the run's end: the
// memories of a turn that were used.
type UsesNamed struct {
	Session string   `json:"session"`
	Turn    int64    `json:"turn"`
	Used    []string `json:"used"`
}
