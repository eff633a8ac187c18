package journal

import "github.com/reflectory/reflectory/core"

// MemoryRecalled records that a turn's recall returned memories of a namespace,
// which counts as an access of each.
type MemoryRecalled struct {
	SessionID string   `json:"session_id"`
	TurnID    int64    `json:"turn_id"`
	MemoryIDs []string `json:"memory_ids"`
	// LatencyMillis is how long the whole recall took, until this event was written.
	LatencyMillis float64 `json:"latency_ms"`
}

// EvolutionApplied records what a turn's feedback did to memories of a namespace.
type EvolutionApplied struct {
	SessionID string `json:"session_id"`
	TurnID    int64  `json:"turn_id"`
	// Turn is the namespace's turn counter, including this turn.
	Turn    int64        `json:"turn"`
	Outcome core.Outcome `json:"outcome"`
	// Source is the source of the outcome: user, tool, text or inferred.
	Source  string `json:"source"`
	AgentID string `json:"agent_id,omitempty"`
	// Bias is the session's bias after the turn, and Feedbacks is how many turns of the
	// session had their feedback by then.
	Bias      float64 `json:"bias"`
	Feedbacks int64   `json:"feedbacks,omitempty"`
	// Revised is whether the turn already had feedback from a worse source, whose credit
	// is taken back and replaced by this one.
	Revised bool                `json:"revised,omitempty"`
	Items   []core.FeedbackItem `json:"items"`
	// Formula is the version of the signals' arithmetic; 0 is the arithmetic of early
	// stores.
	Formula int `json:"formula,omitempty"`
	// LatencyMillis is how long the feedback took, until this event was written.
	LatencyMillis float64 `json:"latency_ms"`
}

// LifecycleRefused records that the retention policy asked for a transition that isn't
// allowed, and that the memory stayed unchanged.
type LifecycleRefused struct {
	MemoryID string           `json:"memory_id"`
	State    core.MemoryState `json:"state"`
	// Wanted is the state that the policy asked for.
	Wanted string `json:"wanted"`
	// Code is the error's reason; File and Digest identify the policy.
	Code   string `json:"code"`
	File   string `json:"file"`
	Digest string `json:"digest"`
}

// LifecycleHalted records that no memory of a namespace could change its state, because the
// namespace's settings can't be read.
type LifecycleHalted struct {
	// Level is the level of those settings.
	Level string `json:"level"`
	// Code is the error's reason.
	Code string `json:"code"`
}

// MemorySwept records that a part of a namespace was evaluated without a turn.
type MemorySwept struct {
	Turn int64 `json:"turn"`
	// Evaluated counts the memories, and Changed the memories whose score or state
	// changed.
	Evaluated int    `json:"evaluated"`
	Changed   int    `json:"changed"`
	AgentID   string `json:"agent_id,omitempty"`
}

// RevalidateStarted records that the gate was asked about a memory.
type RevalidateStarted struct {
	MemoryID string           `json:"memory_id"`
	Before   core.MemoryState `json:"state_before"`
	// After is the state before: only the decision moves the memory. Early entries don't have
	// it.
	After     core.MemoryState `json:"state_after,omitempty"`
	TTLScore  float64          `json:"ttl_score"`
	SessionID string           `json:"session_id,omitempty"`
	TurnID    TurnNumber       `json:"turn_id"`
	AgentID   string           `json:"agent_id,omitempty"`
}

// Gated is what all events that follow from a decision of the gate on a memory have in
// common.
type Gated struct {
	MemoryID   string           `json:"memory_id"`
	DecisionID string           `json:"decision_id"`
	Verdict    string           `json:"decision.verdict"`
	Confidence float64          `json:"decision.confidence"`
	Before     core.MemoryState `json:"state_before"`
	After      core.MemoryState `json:"state_after"`
	// TTLScore is the memory's score before the decision.
	TTLScore  float64    `json:"ttl_score"`
	SessionID string     `json:"session_id,omitempty"`
	TurnID    TurnNumber `json:"turn_id"`
}

// RevalidateDecision records what the gate decided.
type RevalidateDecision struct {
	Gated
	NextAction string `json:"next_action"`
	// Decision is a digest of the record.
	Decision string `json:"decision"`
	// LatencyMillis is how long the gate took to decide.
	LatencyMillis float64 `json:"latency_ms"`
}

// MemoryPurged is the tombstone of a memory: everything that is left of the memory.
type MemoryPurged struct {
	Gated
	// Title and Content are digests.
	Title   string `json:"title"`
	Content string `json:"content"`
	// KnowledgeID is the entry that the memory had become, which was purged with it.
	KnowledgeID string `json:"knowledge_id,omitempty"`
}

// MemoryPromoted records that a memory became knowledge.
type MemoryPromoted struct {
	Gated
	KnowledgeID string `json:"knowledge_id"`
	// Content and Summary are digests of the entry's texts.
	Content string `json:"content"`
	Summary string `json:"summary"`
	// SummaryFailure is the reason why the configured model wrote no summary.
	SummaryFailure string `json:"summary_failure,omitempty"`
}

// KnowledgeDemoted records that an entry fell: the memory that it came from kept failing.
type KnowledgeDemoted struct {
	Gated
	KnowledgeID string `json:"knowledge_id"`
	// PromotedBy is the decision that had made it knowledge.
	PromotedBy string `json:"promoted_by"`
}

// KnowledgeSuperseded records that an entry superseded another.
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
func (KnowledgeDemoted) eventType() string    { return "agent.knowledge.demoted" }
func (KnowledgeSuperseded) eventType() string { return "agent.knowledge.superseded" }

// lifecycleEvents has one event of each type above, for the catalogue.
func lifecycleEvents() []Event {
	return []Event{
		MemoryRecalled{}, EvolutionApplied{}, LifecycleRefused{}, LifecycleHalted{}, MemorySwept{},
		RevalidateStarted{}, RevalidateDecision{}, MemoryPurged{}, MemoryPromoted{}, KnowledgeDemoted{}, KnowledgeSuperseded{},
	}
}
