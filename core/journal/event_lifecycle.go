package journal

import "github.com/reflectory/reflectory/core"

// MemoryRecalled says that a turn's recall returned memories of a namespace,
// which counts as an access of each.
type MemoryRecalled struct {
	SessionID string   `json:"session_id"`
	TurnID    int64    `json:"turn_id"`
	MemoryIDs []string `json:"memory_ids"`
	// LatencyMillis is how long the whole recall took, until this was written.
	LatencyMillis float64 `json:"latency_ms"`
}

// EvolutionApplied says what a turn's feedback did to memories of a namespace.
type EvolutionApplied struct {
	SessionID string `json:"session_id"`
	TurnID    int64  `json:"turn_id"`
	// Turn is the namespace's turn counter, this turn included.
	Turn    int64        `json:"turn"`
	Outcome core.Outcome `json:"outcome"`
	// Source is where the outcome is from: user, tool or text.
	Source  string `json:"source"`
	AgentID string `json:"agent_id,omitempty"`
	// Bias is the session's after the turn, and Feedbacks how many turns of the
	// session had their feedback by then.
	Bias      float64 `json:"bias"`
	Feedbacks int64   `json:"feedbacks,omitempty"`
	// Revised is whether the turn had its feedback before, from a worse source: its
	// credit is taken back, and this one given in its place.
	Revised bool                `json:"revised,omitempty"`
	Items   []core.FeedbackItem `json:"items"`
	// Formula names the arithmetic of the signals; 0 is the arithmetic of early stores.
	Formula int `json:"formula,omitempty"`
	// LatencyMillis is how long the feedback took, until this was written.
	LatencyMillis float64 `json:"latency_ms"`
}

// LifecycleRefused says that the retention policy asked for what isn't allowed,
// and that the memory stayed as it was.
type LifecycleRefused struct {
	MemoryID string           `json:"memory_id"`
	State    core.MemoryState `json:"state"`
	// Wanted is the state that the policy asked for.
	Wanted string `json:"wanted"`
	// Code is the error's reason, File and Digest name the policy.
	Code   string `json:"code"`
	File   string `json:"file"`
	Digest string `json:"digest"`
}

// LifecycleHalted says that no memory of a namespace could change its state,
// since the namespace's settings can't be read.
type LifecycleHalted struct {
	// Level is whose settings they are.
	Level string `json:"level"`
	// Code is the error's reason.
	Code string `json:"code"`
}

// MemorySwept says that a part of a namespace was evaluated outside any turn.
type MemorySwept struct {
	Turn int64 `json:"turn"`
	// Evaluated counts the memories, Changed those whose score or state changed.
	Evaluated int    `json:"evaluated"`
	Changed   int    `json:"changed"`
	AgentID   string `json:"agent_id,omitempty"`
}

// RevalidateStarted says that the gate was asked about a memory.
type RevalidateStarted struct {
	MemoryID  string           `json:"memory_id"`
	Before    core.MemoryState `json:"state_before"`
	TTLScore  float64          `json:"ttl_score"`
	SessionID string           `json:"session_id,omitempty"`
	TurnID    int64            `json:"turn_id,omitempty"`
	AgentID   string           `json:"agent_id,omitempty"`
}

// Gated is what all events tell that follow from a decision of the gate on a
// memory.
type Gated struct {
	MemoryID   string           `json:"memory_id"`
	DecisionID string           `json:"decision_id"`
	Verdict    string           `json:"decision.verdict"`
	Confidence float64          `json:"decision.confidence"`
	Before     core.MemoryState `json:"state_before"`
	After      core.MemoryState `json:"state_after"`
	// TTLScore is the one that the memory had before.
	TTLScore  float64 `json:"ttl_score"`
	SessionID string  `json:"session_id,omitempty"`
	TurnID    int64   `json:"turn_id,omitempty"`
}

// RevalidateDecision says what the gate decided.
type RevalidateDecision struct {
	Gated
	NextAction string `json:"next_action"`
	// Decision is a digest of the record.
	Decision string `json:"decision"`
	// LatencyMillis is how long the gate took to decide.
	LatencyMillis float64 `json:"latency_ms"`
}

// MemoryPurged is the tombstone of a memory: all that is left of it.
type MemoryPurged struct {
	Gated
	// Title and Content are digests.
	Title   string `json:"title"`
	Content string `json:"content"`
	// KnowledgeID is the entry that the memory had become, which went with it.
	KnowledgeID string `json:"knowledge_id,omitempty"`
}

// MemoryPromoted says that a memory became knowledge.
type MemoryPromoted struct {
	Gated
	KnowledgeID string `json:"knowledge_id"`
	// Content and Summary are digests of the entry's.
	Content string `json:"content"`
	Summary string `json:"summary"`
	// SummaryFailure is the reason why no model said the pattern, though there is
	// one.
	SummaryFailure string `json:"summary_failure,omitempty"`
}

// KnowledgeSuperseded says that an entry took the place of another.
type KnowledgeSuperseded struct {
	KnowledgeID string `json:"knowledge_id"`
	By          string `json:"by"`
	AgentID     string `json:"agent_id,omitempty"`
}

func (MemoryRecalled) eventType() string      { return "agent.memory.recalled" }
func (EvolutionApplied) eventType() string    { return "agent.memory.evolution.applied" }
func (LifecycleRefused) eventType() string    { return "agent.memory.lifecycle.refused" }
func (LifecycleHalted) eventType() string     { return "agent.memory.lifecycle.halted" }
func (MemorySwept) eventType() string         { return "agent.memory.swept" }
func (RevalidateStarted) eventType() string   { return "agent.memory.revalidate.started" }
func (RevalidateDecision) eventType() string  { return "agent.memory.revalidate.decision" }
func (MemoryPurged) eventType() string        { return "agent.memory.purged" }
func (MemoryPromoted) eventType() string      { return "agent.memory.promoted" }
func (KnowledgeSuperseded) eventType() string { return "agent.knowledge.superseded" }

// lifecycleEvents has one of each type above, for the catalogue.
func lifecycleEvents() []Event {
	return []Event{
		MemoryRecalled{}, EvolutionApplied{}, LifecycleRefused{}, LifecycleHalted{}, MemorySwept{},
		RevalidateStarted{}, RevalidateDecision{}, MemoryPurged{}, MemoryPromoted{}, KnowledgeSuperseded{},
	}
}
