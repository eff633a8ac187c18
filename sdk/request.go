package sdk

import (
	"encoding/json"
	"maps"
)

// Role is what a call does in the loop. It is the last part of a
// step's idempotency key; children of a composite add their name.
type Role string

// The roles of calls.
const (
	RoleGenerate Role = "generate"
	RoleEvaluate Role = "evaluate"
	RoleCorrect  Role = "correct"
)

// Call is the step of a run that a request belongs to.
type Call struct {
	// RunID is the run's id; "" outside a run.
	RunID string `json:"run_id,omitempty"`
	// Node is the workflow node.
	Node string `json:"node,omitempty"`
	// Iteration counts from 1; 0 outside a loop.
	Iteration int `json:"iteration,omitempty"`
	// Role is what the call does.
	Role Role `json:"role,omitempty"`
	// IdempotencyKey is the same whenever the same step is repeated, for example after a
	// crash. A plugin that honours it does expensive work only once.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// EvaluateRequest asks for a verdict on one output.
type EvaluateRequest struct {
	Call
	// State is the workflow's state, a JSON object. It has reflection_iteration,
	// reflection_history and the other reflection_* keys.
	State json.RawMessage `json:"state,omitempty"`
	// Output is the attempt to judge: any JSON value.
	Output json.RawMessage `json:"output"`
}

// EvaluateResponse is a verdict and the usage.
type EvaluateResponse struct {
	Verdict  Verdict           `json:"verdict"`
	Usage    Usage             `json:"usage,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// MetadataUsedMemories is the key of a response's metadata under which a plugin names
// the recalled memories that it used: their ids, separated by commas. The end of the
// run is then the feedback for these memories, and no other recalled memory counts as
// used.
const MetadataUsedMemories = "used_memories"

// MetadataToolCalls is the key of a response's metadata under which a plugin says how many calls of
// tools the model asks for. Its output is then {"tool_calls": [{id, name, arguments, problem?}],
// "text"?}, and the host calls again with their results among the messages.
const MetadataToolCalls = "tool_calls"

// MetadataNotCached is the key of a response's metadata with which a plugin keeps the host from using
// the response again for a step with cache: true. Its value says why.
const MetadataNotCached = "not_cached"

// GenerateRequest asks for a new output.
type GenerateRequest struct {
	Call
	// State is the same as in [EvaluateRequest].
	State json.RawMessage `json:"state,omitempty"`
	// Emit, if not nil, receives pieces of the output while it is being made, so that
	// they can be shown. The response still contains the whole output.
	Emit func(chunk string) `json:"-"`
}

// GenerateResponse is a new output and the usage.
type GenerateResponse struct {
	// Output is any JSON value; text is a JSON string.
	Output   json.RawMessage   `json:"output"`
	Usage    Usage             `json:"usage,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// CorrectRequest asks for a repaired output.
type CorrectRequest struct {
	Call
	// State is the same as in [EvaluateRequest].
	State json.RawMessage `json:"state,omitempty"`
	// Output is the attempt to repair.
	Output json.RawMessage `json:"output"`
	// Errors are what is wrong with it.
	Errors []Finding `json:"errors,omitempty"`
	// Feedback is the evaluator's free text.
	Feedback string `json:"feedback,omitempty"`
}

// CorrectResponse is the repaired output and the usage.
type CorrectResponse struct {
	// Output is the next attempt, any JSON value; with correct_mode regenerate it is merged
	// into the state.
	Output   json.RawMessage   `json:"output"`
	Usage    Usage             `json:"usage,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Usage is what a call consumed.
type Usage struct {
	// TokensIn and TokensOut are a language model's tokens.
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	// CostUSD is in US dollars, if the plugin knows it.
	CostUSD float64 `json:"cost_usd"`
}

// UsageDetail is the detail of an error with the [Usage] of its failed call.
const UsageDetail = "usage"

// UsageOf is what a failed call used, according to its error, or zero.
func UsageOf(err error) (u Usage) {
	if err == nil {
		return u
	}
	switch detail := AsError(err).Details[UsageDetail].(type) {
	case Usage:
		return detail
	case map[string]any: // it crossed a boundary
		if b, err := json.Marshal(detail); err != nil || json.Unmarshal(b, &u) != nil {
			return Usage{}
		}
	}
	return u
}

// WithUsage adds the usage of a failed call to its error. It returns nil for nil, and
// the error unchanged if the usage is zero.
func WithUsage(err error, u Usage) error {
	if err == nil || u == (Usage{}) {
		return err
	}
	e := *AsError(err)
	e.Details, e.Err = maps.Clone(e.Details), err
	return e.WithDetail(UsageDetail, u)
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.TokensIn + v.TokensIn, u.TokensOut + v.TokensOut, u.CostUSD + v.CostUSD}
}

// Tokens is the sum of both directions.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// History decodes the attempts so far, newest last, from a request's state
// (its reflection_history).
func History(state json.RawMessage) ([]HistoryEntry, error) {
	var s struct {
		History []HistoryEntry `json:"reflection_history"`
	}
	if len(state) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, Errorf(Invalid, "state_invalid", "reflection_history: %w", err)
	}
	return s.History, nil
}

// HistoryEntry is an earlier attempt as plugins see it.
type HistoryEntry struct {
	Iteration int             `json:"iteration"`
	Output    json.RawMessage `json:"output"`
	// Raw is the original output, if the verdict replaced it; or the reply that the
	// generator received, if it couldn't make an output from that.
	Raw      json.RawMessage `json:"raw,omitempty"`
	Score    float64         `json:"score"`
	Valid    bool            `json:"valid"`
	Errors   []Finding       `json:"errors"`
	Feedback string          `json:"feedback"`
}
