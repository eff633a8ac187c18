package verdict

import (
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// GateCase is a memory that waits for the gate.
type GateCase struct {
	// Memory mustn't be changed.
	Memory     *core.Memory
	Governance *core.Governance
	// Merged are memories that were merged into it, whose evidence is its own.
	Merged []string
	// Turn is the namespace's turn counter.
	Turn int64
	// Omega are factors that callers or plugins give instead of the recorded ones, and
	// Notes has a line for each.
	Omega policypoint.OmegaFactors
	Notes []string
	// Effect is what its trial shows; nil unless its namespace experiments.
	Effect *core.Effect
	// Erase is the reason for a requested erasure; "" if none was requested.
	Erase string
}

// GateDecision is what the gate decided, as it is recorded.
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
	// NextAction is purge, retain, promote or demote.
	NextAction string `json:"next_action"`
	// Evidence is a digest that identifies the evidence: if it changes, there is new
	// evidence.
	Evidence string `json:"evidence,omitempty"`
	// Numbers are the results of each lane and the formula.
	Numbers GateNumbers `json:"numbers"`
	// Workings are the figures of the policy that decided, the figures of the default policy that
	// the gate used in their place, and the conditions that were tried.
	Workings policypoint.GateWorkings `json:"workings,omitzero"`
	// Policy names the rule that decided. Its latency is left out, so that the same
	// evidence gives the same record.
	Policy policypoint.Decision `json:"policy"`
	// Conditions are the gate's own conditions that a purge or promotion met or failed;
	// none for a policy that retains.
	Conditions []GateCondition `json:"conditions,omitempty"`
	// Unmet names the conditions that turned a purge or promotion into a retain. Intended
	// is the verdict that the policy gave, and IntendedConfidence its confidence.
	Unmet              []string `json:"unmet,omitempty"`
	Intended           string   `json:"intended,omitempty"`
	IntendedConfidence float64  `json:"intended_confidence,omitempty"`
	// GivenTo lists what was derived from the memory, in the result for the caller whose
	// request purged it. It isn't recorded.
	GivenTo *core.GivenTo `json:"given_to,omitempty"`
	// SameContent are the recallable memories of the namespace that still have the content of
	// an erased memory, sorted, at most 100; ErasedCopies are those that were erased
	// with it because the caller wanted it. Neither is recorded.
	SameContent  []string `json:"same_content,omitempty"`
	ErasedCopies []string `json:"erased_copies,omitempty"`
}

// GateCondition is one of the gate's own conditions for a purge or promotion: it is met if
// Have is at least Need.
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
	NextDemote  = "demote"
)

// OmegaRecord has the factors of a decision; null is an absent factor.
type OmegaRecord struct {
	UpstreamStatus       *float64 `json:"upstream_status_score"`
	CodebaseVerification *float64 `json:"codebase_verification_score"`
	RuntimeUtilityTrend  *float64 `json:"runtime_utility_trend_score"`
	// Erasure is a digest of the reason for the requested erasure.
	Erasure string   `json:"erasure,omitempty"`
	Notes   []string `json:"notes"`
}

// Answer is the decision as answers have it; nil of nil.
func (d *GateDecision) Answer() *GateAnswer {
	if d == nil {
		return nil
	}
	factors := []string{}
	number := func(name string, score *float64) {
		if score != nil {
			factors = append(factors, name+"="+strconv.FormatFloat(*score, 'f', -1, 64))
		}
	}
	number("codebase_verification_score", d.Omega.CodebaseVerification)
	if d.Omega.Erasure != "" {
		factors = append(factors, "erasure="+d.Omega.Erasure)
	}
	for _, note := range d.Omega.Notes {
		factors = append(factors, "note="+note)
	}
	number("runtime_utility_trend_score", d.Omega.RuntimeUtilityTrend)
	number("upstream_status_score", d.Omega.UpstreamStatus)
	return &GateAnswer{d, factors}
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
	// Workflow is the workflow whose graph counted; "" without a graph.
	Workflow string  `json:"workflow,omitempty"`
	Omega    float64 `json:"omega"`
	Q        float64 `json:"q_value"`
	// UtilityScore is the memory's own; it is used if the trend is absent.
	UtilityScore float64 `json:"utility_score"`
	// Utility, Frequency, EvidenceTTL and FailureRate are the policy's figures of these names;
	// the default policy's if it has none.
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
	// Effect is what the memory's trial shows; nil if there is none.
	Effect *core.Effect `json:"effect,omitempty"`
}

// Gate decides whether a memory is kept, purged or promoted. It only decides:
// the memory's owner applies the decision, in the same transaction.
type Gate interface {
	// Decide collects the evidence through r and decides. The decision has no id.
	Decide(ctx context.Context, r core.Reader, c *GateCase) (*GateDecision, error)
}
