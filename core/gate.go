package core

import "context"

// DefaultMinGateConfidence is what a purge or promotion needs.
const DefaultMinGateConfidence = 0.7

// GateCase is a memory that waits for the gate.
type GateCase struct {
	// Memory mustn't be changed.
	Memory     *Memory
	Governance *Governance
	// Turn is the namespace's turn counter.
	Turn int64
	// Omega are what callers or plugins know, above what is kept as evidence, and Notes
	// a line for each.
	Omega OmegaFactors
	Notes []string
	// Erase is why somebody wants the memory erased; "" for nobody.
	Erase string
}

// GateDecision is what the 3-in-1 gate decided, as it is recorded.
type GateDecision struct {
	ID         string      `json:"decision_id"`
	MemoryID   string      `json:"memory_id"`
	Namespace  string      `json:"namespace"`
	Verdict    string      `json:"verdict"`
	Confidence float64     `json:"confidence"`
	ReactRefs  []string    `json:"react_evidence_refs"`
	GraphRefs  []string    `json:"graph_evidence_refs"`
	Omega      OmegaRecord `json:"omega_factors"`
	Reason     string      `json:"reason"`
	// NextAction is purge, retain or promote.
	NextAction string `json:"next_action"`
	// Evidence is a digest that names the evidence that there was: another one means
	// that some came since.
	Evidence string `json:"evidence,omitempty"`
	// Numbers are what each lane and the formula came to.
	Numbers GateNumbers `json:"numbers"`
	// Policy says which rule decided. Its latency is left out, so that the same
	// evidence gives the same record.
	Policy Decision `json:"policy"`
	// Conditions are those of the engine that a purge or promotion met or failed;
	// none for a policy that retains.
	Conditions []GateCondition `json:"conditions,omitempty"`
	// Unmet names the conditions that turned a purge or promotion into a retain.
	// Intended is the verdict that it would have been, and IntendedConfidence that
	// verdict's.
	Unmet              []string `json:"unmet,omitempty"`
	Intended           string   `json:"intended,omitempty"`
	IntendedConfidence float64  `json:"intended_confidence,omitempty"`
	// GivenTo names who was given the memory, in the answer to who asked for a decision
	// that purged it. It isn't recorded.
	GivenTo *GivenTo `json:"given_to,omitempty"`
}

// GateCondition is one of the engine's conditions for a purge or promotion: it
// is met where Have is at least Need.
type GateCondition struct {
	// Name is stable, such as "confidence" or "failed_turns".
	Name string  `json:"name"`
	Need float64 `json:"need"`
	Have float64 `json:"have"`
	Met  bool    `json:"met"`
}

// What follows from a decision of the gate.
const (
	NextPurge   = "purge"
	NextRetain  = "retain"
	NextPromote = "promote"
)

// OmegaRecord are the factors of a decision; null is one that was absent.
type OmegaRecord struct {
	UpstreamStatus       *float64 `json:"upstream_status_score"`
	CodebaseVerification *float64 `json:"codebase_verification_score"`
	RuntimeUtilityTrend  *float64 `json:"runtime_utility_trend_score"`
	// Erasure is a digest of the reason for which the memory was to be erased.
	Erasure string   `json:"erasure,omitempty"`
	Notes   []string `json:"notes"`
}

// GateNumbers are the figures behind a decision.
type GateNumbers struct {
	React           float64 `json:"react"`
	Good            int64   `json:"good"`
	ToolFailures    int64   `json:"tool_failures"`
	RecoverySuccess int64   `json:"recovery_success"`
	Recurrence      float64 `json:"recurrence_score"`
	Graph           float64 `json:"graph"`
	GraphKnown      bool    `json:"graph_known"`
	PathReachable   bool    `json:"path_reachable"`
	Dependency      float64 `json:"dependency_relevance_score"`
	Decomposition   float64 `json:"decomposition_impact_score"`
	// Workflow is the one whose graph counted; "" without a graph.
	Workflow string  `json:"workflow,omitempty"`
	Omega    float64 `json:"omega"`
	Q        float64 `json:"q_value"`
	// UtilityScore is the memory's own; it is the trend where that is absent.
	UtilityScore float64 `json:"utility_score"`
	// Utility is what the lanes and q come to, by the default policy's weights, and
	// Frequency and EvidenceTTL what its formulas give.
	Utility           float64 `json:"utility"`
	Frequency         float64 `json:"frequency"`
	EvidenceTTL       float64 `json:"evidence_ttl"`
	Uses              int64   `json:"uses"`
	Successes         int64   `json:"successes"`
	Failures          int64   `json:"failures"`
	Named             int64   `json:"named_uses"`
	RelevantTurns     int64   `json:"relevant_turns"`
	Sessions          int64   `json:"sessions"`
	FailureRate       float64 `json:"failure_rate"`
	MinimumConfidence float64 `json:"minimum_confidence"`
}

// Gate decides whether a memory is kept, purged or promoted. It only decides:
// the memory's owner applies the decision, in the same transaction.
type Gate interface {
	// Decide collects the evidence through r and decides. The decision has no id.
	Decide(ctx context.Context, r Reader, c *GateCase) (*GateDecision, error)
}
