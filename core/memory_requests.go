package core

import "encoding/json"

// ObserveRequest asks for a new memory. What is left out has the default that
// its field names.
type ObserveRequest struct {
	// ID names the memory; "" has one made.
	ID        string `json:"id,omitempty"`
	Namespace string `json:"namespace"`
	// AgentID is whose memory it is, which may be another's than the caller's: an import
	// brings what others learned. "" is the caller's label.
	AgentID string     `json:"agent_id,omitempty"`
	Kind    MemoryKind `json:"kind,omitempty"`
	// Title is made of the content's first 80 characters where it is missing.
	Title      string          `json:"title,omitempty"`
	Content    string          `json:"content"`
	Tags       []string        `json:"tags,omitempty"`
	Priority   *int            `json:"priority,omitempty"`
	Importance *float64        `json:"importance,omitempty"`
	Confidence *float64        `json:"confidence,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// OccurredAt is when what the content tells of happened: RFC 3339 with an offset,
	// and not in the future.
	OccurredAt string `json:"occurred_at,omitempty"`
	// IdempotencyKey makes a repetition return the first outcome.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// ReflectRequest asks for a memory that is derived from others.
type ReflectRequest struct {
	SourceIDs []string   `json:"source_ids"`
	Title     string     `json:"title"`
	Content   string     `json:"content"`
	Kind      MemoryKind `json:"kind,omitempty"`
	// Namespace is the first source's where it is missing.
	Namespace string `json:"namespace,omitempty"`
	// AgentID is whose memory it is; "" is the caller's label.
	AgentID    string          `json:"agent_id,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Priority   *int            `json:"priority,omitempty"`
	Importance *float64        `json:"importance,omitempty"`
	Confidence *float64        `json:"confidence,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// OccurredAt is when what the content tells of happened: RFC 3339 with an offset,
	// and not in the future.
	OccurredAt string `json:"occurred_at,omitempty"`
	// Depth asserts the depth; one that differs from what is computed is refused.
	Depth *int `json:"depth,omitempty"`
	// IdempotencyKey makes a repetition return the first outcome.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// ReflectResult is a new reflection, or one that waits for an approval.
type ReflectResult struct {
	ID              string   `json:"id,omitempty"`
	ReflectionDepth int      `json:"reflection_depth,omitempty"`
	ReflectsOn      []string `json:"reflects_on,omitempty"`
	Namespace       string   `json:"namespace,omitempty"`
	// Status is "pending", with PendingID, where an approval is needed.
	Status    string `json:"status,omitempty"`
	PendingID string `json:"pending_id,omitempty"`
}

// RecallRequest asks for the memories that fit a query best.
type RecallRequest struct {
	// Session names the session that the recall is a turn of; without one nothing is
	// recorded. Turn is the session's current turn or a higher one; 0 takes its next,
	// which the result names.
	Session string `json:"session,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Query   string `json:"query"`
	RecallFilter
	// Limit is k2, how many are returned: 0 is the default of 5.
	Limit int `json:"limit,omitempty"`
}

// RecallFilter selects what a recall may return. A zero field selects all.
type RecallFilter struct {
	Namespace string `json:"namespace"`
	// Subtree takes the namespaces below as well.
	Subtree bool `json:"subtree,omitempty"`
	// Kinds without any are all but notifications.
	Kinds   []MemoryKind  `json:"kinds,omitempty"`
	Tags    []string      `json:"tags,omitempty"`
	States  []MemoryState `json:"states,omitempty"`
	AgentID string        `json:"agent_id,omitempty"`
	// MinScore leaves out what scores less.
	MinScore float64 `json:"min_score,omitempty"`
	// IncludeSuperseded keeps what another recallable memory supersedes.
	IncludeSuperseded bool `json:"include_superseded,omitempty"`
}

// RecallResult is what a recall returned, the best first.
type RecallResult struct {
	Session  string     `json:"session,omitempty"`
	Turn     int64      `json:"turn,omitempty"`
	Memories []Recalled `json:"memories"`
	// EmbeddingFailure is the reason why words alone decided, though there is an
	// embedder.
	EmbeddingFailure string `json:"embedding_failure,omitempty"`
}

// Recalled is a memory with the reasons for its place.
type Recalled struct {
	*Memory
	// Rank counts from 0.
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
	Why   Reasons `json:"why"`
	// SupersededBy and ContradictedBy are the recallable memories that supersede or
	// contradict it, at most [MaxRelated] each.
	SupersededBy   []string `json:"superseded_by,omitempty"`
	ContradictedBy []string `json:"contradicted_by,omitempty"`
	// FailureRate is the share of its uses that failed; nil before the first use.
	FailureRate *float64 `json:"failure_rate,omitempty"`
	// SameAs are the memories with the same content that it stands for, at most
	// [MaxRelated]. They weren't offered, and no feedback reaches them.
	SameAs []string `json:"same_as,omitempty"`
	// KnowledgeID is the knowledge that a promoted memory became.
	KnowledgeID string `json:"knowledge_id,omitempty"`
}

// MaxRelated is how many ids of one sort a recalled memory names at most.
const MaxRelated = 100

// Reasons say what a recalled memory's score was made of.
type Reasons struct {
	// Similarity is the cosine to the query, clamped to [0,1]; nil where vectors
	// weren't compared.
	Similarity *float64 `json:"similarity,omitempty"`
	// LexicalRank is the place among the candidates that share words with the query,
	// from 1; 0 is none of them.
	LexicalRank int `json:"lexical_rank,omitempty"`
	// Fused is what similarity and words came to together, in [0,1]: it counts as the
	// similarity.
	Fused float64 `json:"fused"`
	Q     float64 `json:"q_value"`
	// DepthBoost is the factor for reflections; 1 is none.
	DepthBoost float64 `json:"depth_boost"`
	// FailureFactor is the factor for uses that failed, from 1 down to 0.1.
	FailureFactor float64 `json:"failure_factor"`
	// Near is whether it is one of those most like the query, which come before all
	// others whatever their score.
	Near bool `json:"near,omitempty"`
}

// Outcome says how a turn went.
type Outcome string

// The outcomes of a turn.
const (
	OutcomeSuccess Outcome = "success"
	OutcomeFailure Outcome = "failure"
	OutcomePartial Outcome = "partial"
)

// FeedbackRequest says how a turn went.
type FeedbackRequest struct {
	Session string  `json:"session"`
	Turn    int64   `json:"turn"`
	Outcome Outcome `json:"outcome"`
	// Used are the ids of recalled memories that were used: somebody named them.
	// Assumed are others that are taken for used, such as the first of a recall that a
	// prompt referred to. They earn the same credit, but no purge or promotion.
	Used         []string      `json:"used,omitempty"`
	Assumed      []string      `json:"assumed,omitempty"`
	ToolOutcomes []ToolOutcome `json:"tool_outcomes,omitempty"`
	// Source says where the outcome is from: "user", "tool" or "text", the best first;
	// "" is text. One from a better source wins over the others of the same turn, also
	// over a feedback that the turn had before.
	Source string `json:"source,omitempty"`
	// AgentID is whose turn it was, for the events; "" is the caller's label.
	AgentID string `json:"agent_id,omitempty"`
}

// FeedbackResult is what a feedback changed.
type FeedbackResult struct {
	Session string  `json:"session"`
	Turn    int64   `json:"turn"`
	Outcome Outcome `json:"outcome"`
	// Source is where the outcome is from.
	Source string `json:"source,omitempty"`
	// Duplicate is whether the turn had its feedback before, from a source as good:
	// the rest is then the first one's.
	Duplicate bool `json:"duplicate,omitempty"`
	// Bias is the session's, in [-1,1].
	Bias  float64        `json:"bias"`
	Items []FeedbackItem `json:"items"`
	// Revalidate are the memories that came before the gate by this feedback. What it
	// decided is read with the decisions on a memory.
	Revalidate []string `json:"revalidate"`
	// Purged names, for each memory that the gate purged right after, who was given it.
	// It isn't recorded, so that the same feedback again doesn't have it.
	Purged []GivenTo `json:"purged,omitempty"`
}

// FeedbackItem is what a feedback did to one memory.
type FeedbackItem struct {
	ID   string `json:"id"`
	Used bool   `json:"used"`
	// Assumed is whether the use is one that nobody named.
	Assumed bool `json:"assumed,omitempty"`
	// Weight is the share of the credit that its place in the recall gave it, .15 to
	// 1; 0 where it wasn't used.
	Weight   float64     `json:"weight,omitempty"`
	Reward   float64     `json:"reward"`
	Q        float64     `json:"q_value"`
	TTLScore float64     `json:"ttl_score"`
	Before   MemoryState `json:"state_before"`
	After    MemoryState `json:"state_after"`
}

// ToolOutcome is how one call of a tool went that a memory had to do with.
type ToolOutcome struct {
	MemoryID string `json:"memory_id"`
	Session  string `json:"session,omitempty"`
	Turn     int64  `json:"turn,omitempty"`
	Tool     string `json:"tool"`
	OK       bool   `json:"ok"`
	// Recovered is whether a failure was got over.
	Recovered bool `json:"recovered,omitempty"`
	// Ref names the call where it is recorded, such as a log's line.
	Ref string `json:"ref,omitempty"`
}

// OmegaEvidence is what a caller or plugin knows of a memory, for the gate.
type OmegaEvidence struct {
	MemoryID string `json:"memory_id"`
	OmegaFactors
	// Note is a line that says where it is known from.
	Note string `json:"note,omitempty"`
}

// WorkflowDAG is a workflow's graph with the nodes that memories have to do with.
type WorkflowDAG struct {
	Workflow string      `json:"workflow"`
	Entry    []string    `json:"entry"`
	Exits    []string    `json:"exits"`
	Edges    [][2]string `json:"edges"`
	// Memories are the nodes of each memory, by its id.
	Memories map[string][]string `json:"memories"`
}
