package core

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Status is how a run or a loop stands.
type Status string

// The statuses of runs and loops. Running, error and cancelled runs can be
// resumed.
const (
	StatusRunning   Status = "running"
	StatusPassed    Status = "passed"
	StatusExhausted Status = "exhausted"
	StatusRaised    Status = "raised"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
)

// StatusInterrupted is how a run is shown that is stored as running and that nobody runs
// any more: its program was killed. It can be resumed. No run is stored with it.
const StatusInterrupted Status = "interrupted"

// RunStatuses lists the statuses that runs are shown with.
func RunStatuses() []Status {
	return []Status{
		StatusRunning, StatusInterrupted, StatusPassed, StatusExhausted, StatusRaised, StatusError, StatusCancelled,
	}
}

// Resumable reports whether a run of this status can go on.
func (s Status) Resumable() bool {
	return s == StatusRunning || s == StatusInterrupted || s == StatusError || s == StatusCancelled
}

// StopReason is why a loop ended.
type StopReason string

// The reasons for a loop's end, in the order in which they are checked after
// each verdict. The last three end it with StatusError.
const (
	StopValid          StopReason = "valid"
	StopCancelled      StopReason = "cancelled"
	StopTimeout        StopReason = "timeout"
	StopBudget         StopReason = "budget"
	StopWhen           StopReason = "stop_when"
	StopPolicy         StopReason = "policy"
	StopNoProgress     StopReason = "no_progress"
	StopMaxIterations  StopReason = "max_iterations"
	StopGeneratorError StopReason = "generator_error"
	StopEvaluatorError StopReason = "evaluator_error"
	StopStoreError     StopReason = "store_error"
)

// LoopResult is what a loop returns and what the state holds at its node.
type LoopResult struct {
	RunID  string `json:"run_id,omitempty"`
	Status Status `json:"status"`
	// Valid, Score, Iteration, Output and Errors are those of the attempt that
	// the result is: the one that passed, else the best or the last.
	Valid      bool            `json:"valid"`
	Score      float64         `json:"score"`
	Iteration  int             `json:"iteration"`
	Output     json.RawMessage `json:"output"`
	StopReason StopReason      `json:"stop_reason"`
	// Exhausted is whether a limit ended the loop.
	Exhausted bool          `json:"exhausted"`
	Errors    []sdk.Finding `json:"errors"`
	// Accepted is whether the attempt passed by the loop's own rule.
	Accepted bool `json:"accepted"`
	// Best is the true best attempt, whatever the strategy returned.
	Best    Best               `json:"best"`
	History []sdk.HistoryEntry `json:"history"`
	Usage   RunUsage           `json:"usage"`
	// Error is why the loop ended with StatusError or StatusRaised, or why it is
	// exhausted without a single output.
	Error *ErrorInfo `json:"error,omitempty"`
}

// Best names the best attempt: the highest score, the earliest on a tie.
type Best struct {
	Iteration int     `json:"iteration"`
	Score     float64 `json:"score"`
}

// RunUsage is what a loop or run consumed.
type RunUsage struct {
	sdk.Usage
	// WallMillis is active time, over all resumes.
	WallMillis int64 `json:"wall_ms"`
}

// EvaluateResult is what reflection.evaluate returns.
type EvaluateResult struct {
	Valid    bool          `json:"valid"`
	Score    float64       `json:"score"`
	Errors   []sdk.Finding `json:"errors"`
	Feedback string        `json:"feedback"`
	// Output is the parsed or coerced value, where the verdict carries one.
	Output json.RawMessage `json:"output,omitempty"`
	// Children are the verdicts of a composite's children, by name.
	Children map[string]sdk.Verdict `json:"children,omitempty"`
	// Usage is what judging took; nil if nothing was reported.
	Usage *sdk.Usage `json:"usage,omitempty"`
}

// CorrectResult is what reflection.correct returns.
type CorrectResult struct {
	Output json.RawMessage `json:"output"`
	// Changed is whether Output differs from the data that was given.
	Changed bool `json:"changed"`
	// Usage is what correcting took; nil if nothing was reported.
	Usage *sdk.Usage `json:"usage,omitempty"`
}

// CallResult is what llm.call, lua.run and plugin.call return.
type CallResult struct {
	Output json.RawMessage `json:"output"`
	// Usage is what the call took. Where the action doesn't promise it, it is nil
	// if nothing was reported.
	Usage *sdk.Usage `json:"usage,omitempty"`
}

// ErrorInfo is an error as JSON shows it.
type ErrorInfo struct {
	// Code is the error's Reason, else its class.
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Try is the operation that does what Hint says.
	Try     *sdk.Action    `json:"try,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// NewErrorInfo describes err; nil gives nil.
func NewErrorInfo(err error) *ErrorInfo {
	if err == nil {
		return nil
	}
	e := sdk.AsError(err)
	return &ErrorInfo{Code: sdk.ReasonOf(err), Message: err.Error(), Hint: e.Hint, Try: e.Try, Details: e.Details}
}
