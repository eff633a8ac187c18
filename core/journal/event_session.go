package journal

import "github.com/reflectory/reflectory/core"

// ReflectionRecorded records that a turn's feedback was recorded as a reflection record. Its
// texts aren't in the event.
type ReflectionRecorded struct {
	// InjectionInfo is about the turn, with the snapshot of its prompt; without a snapshot,
	// these fields are empty. In early entries, the categories are then null.
	InjectionInfo
	Outcome core.Outcome `json:"outcome"`
	// FailureClass is what failed; "" after a success.
	FailureClass string `json:"failure_class,omitempty"`
	// Offered and Used count memories.
	Offered int `json:"offered"`
	Used    int `json:"used"`
	// CreditDelta is how far the turn moved the q_value of each memory that it used.
	CreditDelta map[string]float64 `json:"recall_credit_delta"`
	// Hint is whether it has a hint for the next turn.
	Hint bool `json:"hint,omitempty"`
	// Revised is whether it replaces the record of an earlier feedback on the turn.
	Revised bool `json:"revised,omitempty"`
}

// SessionWindowEntered records that a session began a new window, or went back to one.
type SessionWindowEntered struct {
	SessionID string `json:"session_id"`
	// TurnID is the session's next turn.
	TurnID int64 `json:"turn_id"`
	// Window is the current window from now on, and Windows how many there are.
	Window  int64  `json:"window"`
	Windows int64  `json:"windows"`
	AgentID string `json:"agent_id,omitempty"`
}

// SessionWindowSummarized records that a model was asked to sum up the oldest turns of a
// window. What it wrote isn't in the event.
type SessionWindowSummarized struct {
	SessionID string `json:"session_id"`
	// TurnID is the last turn that was summed up, and Turns how many were.
	TurnID int64 `json:"turn_id"`
	Turns  int   `json:"turns"`
	Window int64 `json:"window"`
	// Failure is the reason for which the model wrote nothing.
	Failure string `json:"failure,omitempty"`
	// TokensIn, TokensOut and CostUSD are what the model used.
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	CostUSD   float64 `json:"cost_usd"`
	AgentID   string  `json:"agent_id,omitempty"`
}

func (ReflectionRecorded) eventType() string      { return "agent.reflection.recorded" }
func (SessionWindowEntered) eventType() string    { return "agent.session.window_entered" }
func (SessionWindowSummarized) eventType() string { return "agent.session.window_summarized" }

func sessionEvents() []Event {
	return []Event{ReflectionRecorded{}, SessionWindowEntered{}, SessionWindowSummarized{}}
}
