package core

import "time"

// ObserveRequest asks for a new memory. A missing field has the default that its comment
// names.
type ObserveRequest struct {
	// ID is the memory's id; "" means that one is generated. For a caller that doesn't reach every
	// namespace, the stored id is this one with a mark of the namespace, and requests accept both.
	ID        string     `json:"id,omitempty"`
	Namespace string     `json:"namespace"`
	Kind      MemoryKind `json:"kind,omitempty"`
	// Title is the content's first 80 characters if it is missing.
	Title   string `json:"title,omitempty"`
	Content string `json:"content"`
	Attributes
	// Supersedes are memories that this one corrects or replaces, at most [MaxRelated]: it is linked
	// to them in the same transaction, and recall leaves them out.
	Supersedes []string `json:"supersedes,omitempty"`
	// IdempotencyKey makes a repetition return the first outcome.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// ReflectRequest asks for a memory that is derived from others.
type ReflectRequest struct {
	SourceIDs []string   `json:"source_ids"`
	Title     string     `json:"title"`
	Content   string     `json:"content"`
	Kind      MemoryKind `json:"kind,omitempty"`
	// Namespace is the namespace of the first source if it is missing.
	Namespace string `json:"namespace,omitempty"`
	Attributes
	// Depth is the expected depth; if the computed one differs, the request is refused.
	Depth *int `json:"depth,omitempty"`
	// IdempotencyKey makes a repetition return the first outcome.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// ReflectResult is a new reflection, or a pending one.
type ReflectResult struct {
	ID              string   `json:"id,omitempty"`
	ReflectionDepth int      `json:"reflection_depth,omitempty"`
	ReflectsOn      []string `json:"reflects_on,omitempty"`
	Namespace       string   `json:"namespace,omitempty"`
	// Status is "pending", with PendingID, if an approval is needed.
	Status    string `json:"status,omitempty"`
	PendingID string `json:"pending_id,omitempty"`
}

// RecallRequest asks for the memories that match a query best.
type RecallRequest struct {
	// Session names the session of the recall, among the caller's own sessions; without one nothing is
	// recorded. Turn is
	// the session's current turn or a higher one; 0 begins the next turn, and the result
	// has its number.
	Session string `json:"session,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Query   string `json:"query"`
	RecallFilter
	// Limit is how many are returned at most; 0 is the default of 5.
	Limit int `json:"limit,omitempty"`
	// MinP is the lowest p of a memory that counts as relevant, from 0 to 1; nil is what the settings of
	// each namespace say. 0 counts all.
	MinP *float64 `json:"min_p,omitempty"`
	// ForPrompt is whether the result goes into a prompt, for which the settings demand more.
	ForPrompt bool `json:"-"`
	// InHistory is whether later turns of the session see what this one is given, as in a conversation: a
	// memory under test is then left out of the whole session. Given are memories that the turn is given
	// anyway, so leaving them out would show nothing; Anchored is whether nothing recalled may be left out.
	InHistory bool     `json:"-"`
	Given     []string `json:"-"`
	Anchored  bool     `json:"-"`
}

// RecallFilter selects what a recall may return. A zero field selects all.
type RecallFilter struct {
	Namespace string `json:"namespace"`
	// Subtree includes the namespaces below.
	Subtree bool `json:"subtree,omitempty"`
	// Kinds are the kinds to return; none means all but notifications.
	Kinds   []MemoryKind  `json:"kinds,omitempty"`
	Tags    []string      `json:"tags,omitempty"`
	States  []MemoryState `json:"states,omitempty"`
	AgentID string        `json:"agent_id,omitempty"`
	// MinScore leaves out memories with a lower score.
	MinScore float64 `json:"min_score,omitempty"`
	// IncludeSuperseded includes memories that another recallable memory, or one that was
	// purged, supersedes.
	IncludeSuperseded bool `json:"include_superseded,omitempty"`
	// From and To leave out memories of what happened before From, or at To and later; of a memory that
	// doesn't say when it happened, the time at which it was stored counts.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// AsOf searches what was known at that time: memories that were stored by then, and that none stored
	// by then supersedes. What was archived or purged since isn't known any more.
	AsOf time.Time `json:"as_of,omitzero"`
}

// RecallResult is what a recall returned, the best first.
type RecallResult struct {
	Session  string     `json:"session,omitempty"`
	Turn     int64      `json:"turn,omitempty"`
	Memories []Recalled `json:"memories"`
	// Answerable is whether some memory answers the query, with p ≥ 0.5.
	Answerable bool `json:"answerable"`
	// NothingRelevant is whether no memory is relevant: none has the lowest p that the request or the
	// settings demand. Memories then has the nearest two at most.
	NothingRelevant bool `json:"nothing_relevant,omitempty"`
	// EmbeddingFailure is the reason why only words were used, if there is an embedder.
	EmbeddingFailure string `json:"embedding_failure,omitempty"`
	// Withheld are memories under test that were left out by chance, one at most. No surface shows it to
	// who asked.
	Withheld []string `json:"-"`
}

// Recalled is a memory with the reasons for its rank.
type Recalled struct {
	*Memory
	// Handle is its short name in the turn, such as m3, which feedback takes for its id; "" without a
	// turn.
	Handle string `json:"handle,omitempty"`
	// Rank counts from 0.
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
	// P is how probably it is relevant, from 0 to 1, by its words and by how it did lately. It is
	// calibrated: of memories with a p of 0.3, about 3 in 10 are. Where a model's vectors were compared, it
	// knows nothing of these, and nothing is left out for it.
	P   float64 `json:"p"`
	Why Reasons `json:"why"`
	// SupersededBy and ContradictedBy are the recallable memories that supersede or
	// contradict it, at most [MaxRelated] each; "purged" stands for those that superseded it
	// and were purged.
	SupersededBy   []string `json:"superseded_by,omitempty"`
	ContradictedBy []string `json:"contradicted_by,omitempty"`
	// FailureRate is the share of its uses that failed; nil before the first use.
	FailureRate *float64 `json:"failure_rate,omitempty"`
	// SameAs are the memories with the same content that it represents, at most
	// [MaxRelated]. They don't count as recalled, and get no feedback.
	SameAs []string `json:"same_as,omitempty"`
	// KnowledgeID is the knowledge that a promoted memory became.
	KnowledgeID string `json:"knowledge_id,omitempty"`
	// Record is how it did lately for the caller, as prompts say it: such as "proven 4 of 5".
	Record string `json:"record,omitempty"`
	// Question is the memory before it of its source, if that is a question.
	Question string `json:"question,omitempty"`
	// About are the memories that it reflects on, at most [MaxRelated].
	About []string `json:"reflects_on,omitempty"`
	// Archived is whether it is from the archive, which is searched where the memories in use have
	// no answer. A feedback that names it as used restores it.
	Archived bool `json:"archived,omitempty"`
}

// SupersededByPurged is what [Recalled].SupersededBy has for purged memories: what they superseded
// stays out of date.
const SupersededByPurged = "purged"

// MaxRelated is how many ids of one sort a recalled memory names at most.
const MaxRelated = 100

// Reasons are the parts of a recalled memory's score.
type Reasons struct {
	// Similarity is the cosine to the query, clamped to [0,1]; nil if vectors weren't
	// compared.
	Similarity *float64 `json:"similarity,omitempty"`
	// LexicalRank is its rank among the candidates that share words with the query, from
	// 1; 0 if it shares none.
	LexicalRank int `json:"lexical_rank,omitempty"`
	// Fused combines similarity and words, in [0,1]: it counts as the similarity.
	Fused float64 `json:"fused"`
	Q     float64 `json:"q_value"`
	// DepthBoost is the factor for reflections; 1 is none.
	DepthBoost float64 `json:"depth_boost"`
	// FailureFactor is the factor for uses that failed lately, from 1 down to 0.1.
	FailureFactor float64 `json:"failure_factor"`
	// UseFactor is the factor for turns lately that passed it over, from 1 down to 0.5.
	UseFactor float64 `json:"use_factor"`
	// Near is whether it is one of the memories most similar to the query, which come
	// before all others whatever their score.
	Near bool `json:"near,omitempty"`
}

// Outcome is how a turn went.
type Outcome string

// The outcomes of a turn.
const (
	OutcomeSuccess Outcome = "success"
	OutcomeFailure Outcome = "failure"
	OutcomePartial Outcome = "partial"
)

// FailureClass is the kind of failure in a turn.
type FailureClass string

// The classes of failures.
const (
	FailureToolError     FailureClass = "tool_error"
	FailurePolicyError   FailureClass = "policy_error"
	FailureTimeout       FailureClass = "timeout"
	FailurePermission    FailureClass = "permission"
	FailureInvalidOutput FailureClass = "invalid_output"
	FailureWrongAnswer   FailureClass = "wrong_answer"
	FailureOther         FailureClass = "other"
)

// FailureClasses lists all classes of failures.
func FailureClasses() []FailureClass {
	return []FailureClass{
		FailureToolError, FailurePolicyError, FailureTimeout, FailurePermission, FailureInvalidOutput, FailureWrongAnswer, FailureOther,
	}
}

// FeedbackRequest reports how a turn went.
type FeedbackRequest struct {
	Session string  `json:"session"`
	Turn    int64   `json:"turn"`
	Outcome Outcome `json:"outcome"`
	// Used are the ids or handles of recalled memories that were named as used. Assumed are other
	// memories that are assumed to have been used, such as the first result of a recall
	// that a prompt referred to. They earn the same credit, but don't count for a purge
	// or promotion.
	Used         []string      `json:"used,omitempty"`
	Assumed      []string      `json:"assumed,omitempty"`
	ToolOutcomes []ToolOutcome `json:"tool_outcomes,omitempty"`
	// Reply is what the turn produced: its answer, tool calls or patch (limit 1,048,576 bytes). If no
	// memories are named, the reply shows which were used: it has something of them that neither the
	// query nor another memory could have given. Such a use earns half the credit of a named one, and
	// takes the place of assumed ones. The reply isn't stored.
	Reply string `json:"reply,omitempty"`
	// Source is the source of the outcome: "user", "tool", "text" or "inferred", the best first; ""
	// is text. Inferred is what a program concluded by itself, as the gateway does. An outcome from a better source replaces other outcomes of the same turn,
	// even an outcome from earlier feedback.
	Source string `json:"source,omitempty"`
	// FailureClass is the kind of failure in a turn that didn't succeed; "" is
	// tool_error if a tool failed, else other. A success has none.
	FailureClass FailureClass `json:"failure_class,omitempty"`
	// CorrectiveAction is what was or should be done about the failure, NextTurnHint a
	// text for the prompt of the session's next turn, and Summary a text about this turn
	// for the prompts of the window's later turns. Each has at most 2,000 characters. A
	// purge of a memory that the turn recalled removes them.
	CorrectiveAction string `json:"corrective_action,omitempty"`
	NextTurnHint     string `json:"next_turn_hint,omitempty"`
	Summary          string `json:"summary,omitempty"`
	// AgentID is the agent that had the turn, for the events; "" is the caller's label.
	AgentID string `json:"agent_id,omitempty"`
}

// FeedbackResult is what feedback changed.
type FeedbackResult struct {
	Session string  `json:"session"`
	Turn    int64   `json:"turn"`
	Outcome Outcome `json:"outcome"`
	// Source is the source of the outcome.
	Source string `json:"source,omitempty"`
	// Duplicate is whether the turn already had its feedback, from a source that is at least
	// as good: the other fields are then from the first feedback.
	Duplicate bool `json:"duplicate,omitempty"`
	// Bias is the session's bias, in [-1,1].
	Bias  float64        `json:"bias"`
	Items []FeedbackItem `json:"items"`
	// Revalidate are the memories that wait for the gate because of this feedback. The
	// gate's decisions are listed with each memory.
	Revalidate []string `json:"revalidate"`
	// Purged lists, for each memory that the gate purged right after the feedback, what
	// was derived from it. It isn't recorded, so the result of repeated feedback doesn't
	// have it.
	Purged []GivenTo `json:"purged,omitempty"`
}

// FeedbackItem is what a feedback did to one memory.
type FeedbackItem struct {
	ID   string `json:"id"`
	Used bool   `json:"used"`
	// Assumed is whether the use wasn't named.
	Assumed bool `json:"assumed,omitempty"`
	// Shared is whether the use was named, and other memories were too.
	Shared bool `json:"shared,omitempty"`
	// PassedOver is whether the turn didn't use it although it was as near to the query as what was
	// used, or, if the turn failed and used nothing, nearly as near as the nearest. It then ranks
	// lower for a while.
	PassedOver bool `json:"passed_over,omitempty"`
	// Inferred is how strongly the turn's reply shows the use, from .5 to 1; 0 if the use wasn't
	// inferred.
	Inferred float64 `json:"inferred,omitempty"`
	// Weight is the share of the credit that its rank in the recall gave it, .15 to 1, and half of
	// that if the use was inferred; 0 if it wasn't used.
	Weight   float64     `json:"weight,omitempty"`
	Reward   float64     `json:"reward"`
	Q        float64     `json:"q_value"`
	TTLScore float64     `json:"ttl_score"`
	Before   MemoryState `json:"state_before"`
	After    MemoryState `json:"state_after"`
}

// ToolOutcome is the outcome of one call of a tool that involved a memory.
type ToolOutcome struct {
	MemoryID string `json:"memory_id"`
	Session  string `json:"session,omitempty"`
	Turn     int64  `json:"turn,omitempty"`
	Tool     string `json:"tool"`
	OK       bool   `json:"ok"`
	// Recovered is whether the failure was recovered from.
	Recovered bool `json:"recovered,omitempty"`
	// Ref is the place where the call is recorded, such as a line of a log.
	Ref string `json:"ref,omitempty"`
}

// WorkflowDAG is a workflow's graph with the nodes that involve memories.
type WorkflowDAG struct {
	Workflow string      `json:"workflow"`
	Entry    []string    `json:"entry"`
	Exits    []string    `json:"exits"`
	Edges    [][2]string `json:"edges"`
	// Memories are the nodes of each memory, by its id.
	Memories map[string][]string `json:"memories"`
}
