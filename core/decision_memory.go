package core

import "math"

// MemoryFacts are what a memory is, apart from what its use has shown, for policies.
type MemoryFacts struct {
	MemoryID               string
	Kind, AgentID          string
	Tags                   []string
	Priority               int64
	Importance, Confidence float64
	ReflectionDepth        int64
	// Revalidation is the utility that the gate's last decision found, 0 before the
	// first.
	Revalidation float64
}

// FactsOf are the facts of a memory. Its tags must not change while a policy decides.
func FactsOf(m *Memory) MemoryFacts {
	f := MemoryFacts{
		MemoryID: m.ID, Kind: string(m.Kind), AgentID: m.AgentID, Tags: m.Tags, Priority: int64(m.Priority),
		Importance: m.Importance, Confidence: m.Confidence, ReflectionDepth: int64(m.ReflectionDepth),
	}
	if m.Signals.Revalidation != nil {
		f.Revalidation = *m.Signals.Revalidation
	}
	return f
}

// RetentionInput is what the retention policy sees of a memory.
type RetentionInput struct {
	Namespace string
	// State is the one that the memory is in.
	State string
	// Turn is the namespace's turn counter. LastHitTurn counts only if Hits > 0.
	Turn, CreatedTurn, LastHitTurn int64
	// AgeTurns are the turns since what it tells of happened, else since it was
	// written.
	AgeTurns         int64
	Hits, MissStreak int64
	// RelevantTurns counts the turns in which recall returned the memory.
	RelevantTurns int64
	// Gated is whether the gate ever decided on it, and SinceGate the relevant
	// turns since then.
	Gated     bool
	SinceGate int64
	// GateRest is how many relevant turns the gate isn't asked for after a decision.
	GateRest int64
	// SinceCooled are the relevant turns since it cooled, of which it needs CoolingWait
	// before it may be active again. They count only while it is cooling.
	SinceCooled, CoolingWait int64
	// Sessions counts the sessions that used it.
	Sessions                      int64
	Successes, Partials, Failures int64
	HitRate, Utility, Q           float64
	// TTLScore is the last one, which stays where the policy fails.
	TTLScore float64
	// Weights and thresholds come from the namespace's governance.
	Weights RetentionWeights
	Facts   MemoryFacts
}

// RetentionWeights are the settings of the retention formula.
type RetentionWeights struct {
	Hit, Utility, Miss, Stale      float64
	Active, Revalidate, Hysteresis float64
}

// DefaultRetentionWeights are those that hold where no namespace sets them.
func DefaultRetentionWeights() RetentionWeights {
	return RetentionWeights{Hit: 0.5, Utility: 0.5, Miss: 0.03, Stale: 0.005, Active: 0.35, Revalidate: 0.15, Hysteresis: 0.15}
}

// averageLeft is how much of an average a relevant turn leaves: it moves by a tenth.
const averageLeft = 0.9

// CorrectedHitRate is the hit rate without the weight of its start: the average of
// what the relevant turns earned, the newest counting most, from 0 to 1. Before the
// first it is 0.
func (in *RetentionInput) CorrectedHitRate() float64 {
	if in.RelevantTurns <= 0 {
		return 0
	}
	return min(1, in.HitRate/(1-math.Pow(averageLeft, float64(in.RelevantTurns))))
}

// maxInactivityGap is where the inactivity gap ends.
const maxInactivityGap = 40

// InactivityGap is how many turns the memory wasn't hit, at most 40.
func (in *RetentionInput) InactivityGap() int64 {
	since := in.CreatedTurn
	if in.Hits > 0 {
		since = in.LastHitTurn
	}
	return max(0, min(maxInactivityGap, in.Turn-since))
}

// Uses counts the turns in which the memory was used.
func (in *RetentionInput) Uses() int64 { return in.Successes + in.Partials + in.Failures }

// RetentionOutcome is the state that a memory should be in: the one that it is
// in, where nothing changes or the policy fails.
type RetentionOutcome struct {
	TTLScore float64
	State    string
	Decision Decision
}

// GateInput is what the gate's policy sees of a memory.
type GateInput struct {
	Namespace                     string
	Successes, Partials, Failures int64
	// Named counts the uses that somebody named, NamedSessions the sessions that they
	// were in, NamedFailures the turns in which they failed.
	Named, NamedSessions, NamedFailures int64
	// MinConfidence is what a purge or promotion needs at least, by governance;
	// SettingsFail is whether the namespace's settings can't be read.
	MinConfidence           float64
	SettingsFail            bool
	RelevantTurns, Sessions int64
	// AgeTurns are the turns since what it tells of happened, else since it was
	// written.
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

// UpstreamStatus, CodebaseVerification and RuntimeUtilityTrend are the factors: .5 where
// one is absent, but for an absent trend, which is the memory's utility.
func (in *GateInput) UpstreamStatus() float64 { return orElse(in.Omega.UpstreamStatus, 0.5) }
func (in *GateInput) CodebaseVerification() float64 {
	return orElse(in.Omega.CodebaseVerification, 0.5)
}
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
	// Good counts the calls that went well, or failed and were recovered from, in turns
	// that used the memory; RecoverySuccess those of all turns that were recovered
	// from, and ToolFailures those that failed.
	Good, ToolFailures, RecoverySuccess int64
	// Recurrence is the share of the last 20 turns that used it with a recorded outcome.
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

// OmegaFactors are supplied by callers and plugins; nil is one that is absent.
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

// GateOutcome is what the gate's policy says. A policy that fails retains, with
// confidence 0. What a purge or promotion needs besides is checked by the gate.
type GateOutcome struct {
	Verdict    string
	Confidence float64
	Reason     string
	Decision   Decision
}

// ReflectInput is what the reflect policy sees of a reflection to be written.
type ReflectInput struct {
	Namespace, AgentID, Kind, Title string
	Tags                            []string
	// Depth is the new one; Cap the namespace's, which holds whatever the policy
	// says.
	Depth, Cap       int64
	Priority         int64
	Confidence       float64
	SourceIDs        []string
	SourceNamespaces []string
	SourceKinds      []string
}
