package core

// RetentionInput is what the retention policy sees of a memory (spec 3.4).
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
	// Sessions counts the sessions that used it.
	Sessions                      int64
	Successes, Partials, Failures int64
	HitRate, Utility, Q           float64
	// TTLScore is the last one, which stays where the policy fails.
	TTLScore float64
	// Weights and thresholds come from the namespace's governance.
	Weights RetentionWeights
}

// RetentionWeights are the settings of the retention formula.
type RetentionWeights struct {
	Hit, Utility, Miss, Stale      float64
	Active, Revalidate, Hysteresis float64
}

// DefaultRetentionWeights are those of spec 3.4.
func DefaultRetentionWeights() RetentionWeights {
	return RetentionWeights{Hit: 0.5, Utility: 0.5, Miss: 0.03, Stale: 0.005, Active: 0.35, Revalidate: 0.15, Hysteresis: 0.05}
}

// maxInactivityGap is where the inactivity gap ends (spec 3.4).
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

// GateInput is what the gate's policy sees of a memory (spec 3.5).
type GateInput struct {
	Namespace                     string
	Successes, Partials, Failures int64
	RelevantTurns, Sessions       int64
	// AgeTurns are the turns since what it tells of happened, else since it was
	// written.
	AgeTurns int64
	// LastOutcomeError is whether the last outcome was an error.
	LastOutcomeError bool
	Q                float64
	React            ReactEvidence
	Graph            GraphEvidence
	Omega            OmegaFactors
}

// Uses counts the turns in which the memory was used.
func (in *GateInput) Uses() int64 { return in.Successes + in.Partials + in.Failures }

// ReactEvidence comes from recorded tool outcomes.
type ReactEvidence struct {
	ToolFailures, RecoverySuccess int64
	Recurrence                    float64
	// Refs counts the references behind it.
	Refs int64
}

// Lane is the score of the evidence, from 0 to 1 (spec 3.5).
func (e ReactEvidence) Lane() float64 {
	p := float64(e.RecoverySuccess+1) / float64(e.RecoverySuccess+e.ToolFailures+2)
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

// Lane is the score of the evidence, from 0 to 1 (spec 3.5).
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
	UpstreamStatus, CodebaseVerification, RuntimeUtilityTrend *float64
}

// Lane is the mean of the factors, an absent one .5 (spec 3.5).
func (f OmegaFactors) Lane() float64 {
	sum := 0.0
	for _, factor := range []*float64{f.UpstreamStatus, f.CodebaseVerification, f.RuntimeUtilityTrend} {
		sum += OrHalf(factor)
	}
	return sum / 3
}

// OrHalf is a factor's value, .5 for one that is absent.
func OrHalf(factor *float64) float64 {
	if factor == nil {
		return 0.5
	}
	return *factor
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

// ReflectInput is what the reflect policy sees of a reflection to be written
// (spec 3.2).
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
