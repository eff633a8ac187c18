package policypoint

import "github.com/reflectory/reflectory/core"

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
	// Effect is what its trial shows; nil unless its namespace experiments. Tested is whether nothing else
	// promotes it there, since its uses may be other memories' merit.
	Effect *core.Effect
	Tested bool
}

// Shown is what its trial shows: of no trial, that nothing is known.
func (in *GateInput) Shown() core.Effect {
	if in.Effect == nil {
		return core.Effect{Low: -1, High: 1, EValue: 1}
	}
	return *in.Effect
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

// Word is the verdict.
func (o GateOutcome) Word() string { return o.Verdict }

// GateWorkings are how the policy came to its outcome.
type GateWorkings struct {
	// Figures are the numbers among its variables, in the file's order.
	Figures []GateFigure `json:"figures,omitempty"`
	// Tried are its conditions up to the one that decided.
	Tried []GateTried `json:"tried,omitempty"`
}

// GateFigure is a variable of a policy that is a number.
type GateFigure struct {
	Name string `json:"name"`
	// Expression is its source on one line, and File the policy's file.
	Expression string  `json:"expression"`
	Value      float64 `json:"value"`
	File       string  `json:"file"`
}

// GateTried is a condition that was evaluated.
type GateTried struct {
	Condition string `json:"condition"`
	// Holds is whether it holds.
	Holds bool `json:"holds"`
}

// Figure is the first figure with a name; a zero one if there is none.
func (w *GateWorkings) Figure(name string) GateFigure {
	for _, f := range w.Figures {
		if f.Name == name {
			return f
		}
	}
	return GateFigure{}
}
