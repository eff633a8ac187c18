package journal

import (
	"time"

	"github.com/reflectory/reflectory/core"
)

// MemoryObserved records that a memory was stored.
type MemoryObserved struct {
	MemoryID string          `json:"memory_id"`
	AgentID  string          `json:"agent_id"`
	Kind     core.MemoryKind `json:"kind"`
	// Title and Content are digests.
	Title   string `json:"title"`
	Content string `json:"content"`
	// Turn is the namespace's turn counter.
	Turn       int64   `json:"turn"`
	Importance float64 `json:"importance"`
	// OccurredAt is when the described event happened, if that was given.
	OccurredAt     *time.Time `json:"occurred_at,omitempty"`
	EmbeddingModel string     `json:"embedding_model,omitempty"`
	// EmbeddingFailure is the reason why the memory has no vector, if there is an
	// embedder.
	EmbeddingFailure string `json:"embedding_failure,omitempty"`
}

// MemoryReflected records that a memory was derived from others.
type MemoryReflected struct {
	MemoryID string          `json:"memory_id"`
	AgentID  string          `json:"agent_id"`
	Kind     core.MemoryKind `json:"kind"`
	Depth    int             `json:"depth"`
	// Cap is the limit of the depth, and DecidedBy the level that sets it.
	Cap       int      `json:"cap"`
	DecidedBy string   `json:"decided_by"`
	SourceIDs []string `json:"source_ids"`
	// Title and Content are digests.
	Title            string     `json:"title"`
	Content          string     `json:"content"`
	Turn             int64      `json:"turn"`
	Importance       float64    `json:"importance"`
	OccurredAt       *time.Time `json:"occurred_at,omitempty"`
	EmbeddingModel   string     `json:"embedding_model,omitempty"`
	EmbeddingFailure string     `json:"embedding_failure,omitempty"`
	// Policy is the digest of the policy that allowed it, and Rule the id of its rule.
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// PendingID is the pending reflection that was approved, and ApprovedBy who approved
	// it.
	PendingID  string `json:"pending_id,omitempty"`
	ApprovedBy string `json:"approved_by,omitempty"`
}

// DepthExceeded records that a reflection was refused because it is too deep.
type DepthExceeded struct {
	AgentID   string `json:"agent_id"`
	Attempted int    `json:"attempted"`
	Cap       int    `json:"cap"`
	Namespace string `json:"namespace"`
	// DecidedBy is the level that sets the limit.
	DecidedBy string `json:"decided_by"`
	// Title is a digest.
	Title     string   `json:"title"`
	SourceIDs []string `json:"source_ids"`
	// Failure is the reason why the level's settings can't be read.
	Failure   string `json:"failure,omitempty"`
	PendingID string `json:"pending_id,omitempty"`
}

// ReflectionPending records that a reflection waits for an approval.
type ReflectionPending struct {
	PendingID string `json:"pending_id"`
	AgentID   string `json:"agent_id"`
	Depth     int    `json:"depth"`
	// Above is the depth above which an approval is needed.
	Above int `json:"above"`
	// Title and Content are digests.
	Title     string   `json:"title"`
	Content   string   `json:"content"`
	SourceIDs []string `json:"source_ids"`
}

// ReflectionRejected records that a pending reflection was dropped.
type ReflectionRejected struct {
	PendingID string `json:"pending_id"`
	AgentID   string `json:"agent_id"`
	// Cause is "rejected", or "source_purged".
	Cause string `json:"cause"`
	// Reason is a digest of the reason that was given.
	Reason string `json:"reason,omitempty"`
}

// MemoryLinked records that a link was created, other than a reflection's own.
type MemoryLinked struct {
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
	AgentID  string `json:"agent_id,omitempty"`
	// Metadata is a digest.
	Metadata string `json:"metadata,omitempty"`
}

// MemoryTransitioned records that a memory changed its state.
type MemoryTransitioned struct {
	MemoryID string           `json:"memory_id"`
	Before   core.MemoryState `json:"state_before"`
	After    core.MemoryState `json:"state_after"`
	TTLScore float64          `json:"ttl_score"`
	// Cause is what changed it: "retention", "gate", "erasure", "dream", "restore" or "undo".
	Cause string `json:"cause"`
	// RunID and Step name the step of a dream pass.
	RunID     string     `json:"run_id,omitempty"`
	Step      int64      `json:"step,omitempty"`
	SessionID string     `json:"session_id,omitempty"`
	TurnID    TurnNumber `json:"turn_id"`
	AgentID   string     `json:"agent_id,omitempty"`
	// Policy is the digest of the policy that decided, and Rule the id of its rule.
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// DecisionID, Verdict and Confidence come from the gate.
	DecisionID string  `json:"decision_id,omitempty"`
	Verdict    string  `json:"decision.verdict,omitempty"`
	Confidence float64 `json:"decision.confidence,omitempty"`
	// Turn is the namespace's turn counter at a decision of the gate. The other fields
	// are what that decision changed in the memory's signals.
	Turn              int64    `json:"turn,omitempty"`
	RevalidationScore *float64 `json:"revalidation_score,omitempty"`
	GateRest          int64    `json:"gate_rest,omitempty"`
	GateEvidence      string   `json:"gate_evidence,omitempty"`
	// Formula is the version of the signals' arithmetic; 0 is the arithmetic of early
	// stores.
	Formula int `json:"formula,omitempty"`
}

func (MemoryObserved) eventType() string     { return "agent.memory.observed" }
func (MemoryReflected) eventType() string    { return "agent.memory.reflected" }
func (DepthExceeded) eventType() string      { return "reflection.depth_exceeded" }
func (ReflectionPending) eventType() string  { return "agent.reflection.pending" }
func (ReflectionRejected) eventType() string { return "agent.reflection.rejected" }
func (MemoryLinked) eventType() string       { return "agent.memory.linked" }
func (MemoryTransitioned) eventType() string { return "agent.memory.lifecycle.transition" }

// memoryEvents has one event of each type above, for the catalogue.
func memoryEvents() []Event {
	return []Event{
		MemoryObserved{}, MemoryReflected{}, DepthExceeded{}, ReflectionPending{}, ReflectionRejected{},
		MemoryLinked{}, MemoryTransitioned{},
	}
}
