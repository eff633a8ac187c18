package core

import (
	"context"
	"strconv"
	"strings"
)

// DefaultMinGateConfidence is the least confidence of a purge or promotion.
const DefaultMinGateConfidence = 0.7

// GateInput is what the gate's policy sees of a memory.
type GateInput struct {
	Namespace                     string
	Successes, Partials, Failures int64
	// Named counts the named uses, NamedSessions their sessions, and NamedFailures the
	// turns in which they failed.
	Named, NamedSessions, NamedFailures int64
	// MinConfidence is the least confidence of a purge or promotion, from the settings;
	// SettingsFail is true if the namespace's settings can't be read.
	MinConfidence           float64
	SettingsFail            bool
	RelevantTurns, Sessions int64
	// AgeTurns are the turns since the described event happened, or else since the memory
	// was written.
	AgeTurns int64
	// LastOutcomeError is whether the last outcome was an error.
	LastOutcomeError bool
	Q                float64
	// Utility is the memory's utility_score.
	Utility float64
	React   ReactEvidence
	Graph   GraphEvidence
	Omega   OmegaFactors
	// Gated is whether the gate ever decided on it.
	Gated bool
	Facts MemoryFacts
}

// Uses counts the turns in which the memory was used.
func (in *GateInput) Uses() int64 { return in.Successes + in.Partials + in.Failures }

// OmegaLane is the mean of the three factors, from 0 to 1.
func (in *GateInput) OmegaLane() float64 {
	return (in.UpstreamStatus() + in.CodebaseVerification() + in.RuntimeUtilityTrend()) / 3
}

// UpstreamStatus is the factor of that name; .5 if it is absent.
func (in *GateInput) UpstreamStatus() float64 { return orElse(in.Omega.UpstreamStatus, 0.5) }

// CodebaseVerification is the factor of that name; .5 if it is absent.
func (in *GateInput) CodebaseVerification() float64 {
	return orElse(in.Omega.CodebaseVerification, 0.5)
}

// RuntimeUtilityTrend is the factor of that name; the memory's utility if it is absent.
func (in *GateInput) RuntimeUtilityTrend() float64 {
	return orElse(in.Omega.RuntimeUtilityTrend, in.Utility)
}

func orElse(factor *float64, absent float64) float64 {
	if factor == nil {
		return absent
	}
	return *factor
}

// ReactEvidence comes from recorded tool outcomes.
type ReactEvidence struct {
	// Good counts the calls that succeeded, or failed and were recovered from, in turns
	// that used the memory; RecoverySuccess counts the calls of all turns that were
	// recovered from, and ToolFailures the calls that failed.
	Good, ToolFailures, RecoverySuccess int64
	// Recurrence is the share of the last 20 turns that used it which have a recorded
	// outcome.
	Recurrence float64
	// Refs counts the references behind it.
	Refs int64
}

// Lane is the score of the evidence, from 0 to 1.
func (e ReactEvidence) Lane() float64 {
	p := float64(e.Good+1) / float64(e.Good+e.ToolFailures+2)
	return p * (0.4 + 0.6*e.Recurrence)
}

// GraphEvidence comes from a workflow's graph.
type GraphEvidence struct {
	// Known is whether there is a graph at all.
	Known, PathReachable      bool
	Dependency, Decomposition float64
	// Refs counts the references behind it.
	Refs int64
}

// Lane is the score of the evidence, from 0 to 1.
func (e GraphEvidence) Lane() float64 {
	switch {
	case !e.Known:
		return 0.5
	case !e.PathReachable:
		return 0
	}
	return 0.4 + 0.35*e.Dependency + 0.25*e.Decomposition
}

// OmegaFactors are supplied by callers and plugins; nil is an absent factor.
type OmegaFactors struct {
	UpstreamStatus       *float64 `json:"upstream_status,omitempty"`
	CodebaseVerification *float64 `json:"codebase_verification,omitempty"`
	RuntimeUtilityTrend  *float64 `json:"runtime_utility_trend,omitempty"`
}

// The verdicts of the gate.
const (
	VerdictRetain   = "retain"
	VerdictObsolete = "obsolete"
	VerdictPromote  = "promote"
)

// GateOutcome is the answer of the gate's policy. A policy that fails retains, with
// confidence 0. The gate checks the other conditions of a purge or promotion.
type GateOutcome struct {
	Verdict    string
	Confidence float64
	Reason     string
	Decision   Decision
}

// GateCase is a memory that waits for the gate.
type GateCase struct {
	// Memory mustn't be changed.
	Memory     *Memory
	Governance *Governance
	// Merged are memories that were merged into it, whose evidence is its own.
	Merged []string
	// Turn is the namespace's turn counter.
	Turn int64
	// Omega are factors that callers or plugins give instead of the recorded ones, and
	// Notes has a line for each.
	Omega OmegaFactors
	Notes []string
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
	// NextAction is purge, retain or promote.
	NextAction string `json:"next_action"`
	// Evidence is a digest that identifies the evidence: if it changes, there is new
	// evidence.
	Evidence string `json:"evidence,omitempty"`
	// Numbers are the results of each lane and the formula.
	Numbers GateNumbers `json:"numbers"`
	// Policy names the rule that decided. Its latency is left out, so that the same
	// evidence gives the same record.
	Policy Decision `json:"policy"`
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
	GivenTo *GivenTo `json:"given_to,omitempty"`
	// SameContent are the recallable memories of the namespace that still have the content of
	// an erased memory, sorted, at most [MaxRelated]; ErasedCopies are those that were erased
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

// GateAnswer is a decision as answers have it.
type GateAnswer struct {
	*GateDecision
	// Omega is what was known about the memory's sources: name=value texts of the known scores,
	// the notes, each as note=TEXT, and the digest of the reason for a requested erasure, by name.
	Omega []string `json:"omega_factors"`
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

// Notes are the notes among the factors, in their order.
func (a *GateAnswer) Notes() (notes []string) {
	for _, factor := range a.Omega {
		if note, is := strings.CutPrefix(factor, "note="); is {
			notes = append(notes, note)
		}
	}
	return notes
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
	// Utility is the weighted sum of the lanes and q, with the default policy's weights,
	// and Frequency and EvidenceTTL are results of its formulas.
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
