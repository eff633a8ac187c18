package gate

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Gate implements [core.Gate]. It is safe for concurrent use.
type Gate struct{ policy core.GatePolicy }

var _ core.Gate = (*Gate)(nil)

// New returns a gate that decides by a policy.
func New(policy core.GatePolicy) *Gate { return &Gate{policy: policy} }

// Decide implements [core.Gate]: it collects the evidence of the memory, asks
// the policy, and checks the conditions that hold beyond it. A policy that fails
// or was cancelled retains, with confidence 0. An error is one of the store, or
// of factors and notes that can't be.
func (g *Gate) Decide(ctx context.Context, r core.Reader, c *core.GateCase) (*core.GateDecision, error) {
	if err := checkOmega(c); err != nil {
		return nil, err
	}
	m := c.Memory
	tools, toolRefs, err := react(r, m)
	if err != nil {
		return nil, sdk.Wrap("collect the tool evidence of memory "+m.ID, err)
	}
	found, err := graphs(r, m.ID)
	if err != nil {
		return nil, sdk.Wrap("collect the graph evidence of memory "+m.ID, err)
	}
	s := &m.Signals
	in := &core.GateInput{
		Namespace: m.Namespace, Successes: s.Successes, Partials: s.Partials, Failures: s.Failures,
		RelevantTurns: s.RelevantTurns, Sessions: s.Sessions, LastOutcomeError: s.LastOutcomeError,
		AgeTurns: m.AgeTurns(c.Turn), Q: s.Q, React: tools, Graph: found.GraphEvidence, Omega: c.Omega,
	}
	d := g.decide(ctx, c, in)
	d.ReactRefs, d.GraphRefs = toolRefs, append([]string{}, found.refs...)
	d.Numbers = numbers(c, in)
	d.Numbers.Workflow = found.workflow
	return d, nil
}

// decide asks the policy, and holds its verdict to the engine's conditions.
func (g *Gate) decide(ctx context.Context, c *core.GateCase, in *core.GateInput) *core.GateDecision {
	out := safe(ctx, g.policy.Gate(ctx, in))
	out.Decision.Latency = 0 // a record doesn't depend on the machine's speed
	d := &core.GateDecision{
		MemoryID: c.Memory.ID, Namespace: c.Memory.Namespace,
		Verdict: out.Verdict, Confidence: out.Confidence, Reason: out.Reason, Policy: out.Decision,
		Omega: core.OmegaRecord{
			UpstreamStatus: c.Omega.UpstreamStatus, CodebaseVerification: c.Omega.CodebaseVerification,
			RuntimeUtilityTrend: c.Omega.RuntimeUtilityTrend, Notes: append([]string{}, c.Notes...),
		},
		Conditions: conditions(c, in, out),
	}
	if d.Unmet = unmet(d.Conditions); len(d.Unmet) > 0 {
		d.Intended, d.IntendedConfidence = out.Verdict, out.Confidence
		d.Verdict, d.Confidence = core.VerdictRetain, retainConfidence(utility(in))
		d.Reason = shortfall(out.Verdict, d.Conditions)
	}
	d.NextAction = nextAction(d.Verdict)
	return d
}

// safe is a policy's outcome, or a retain in place of one that nothing may be
// done by.
func safe(ctx context.Context, out core.GateOutcome) core.GateOutcome {
	retain := func(reason string) core.GateOutcome {
		return core.GateOutcome{Verdict: core.VerdictRetain, Reason: reason, Decision: out.Decision}
	}
	switch err := ctx.Err(); {
	case out.Decision.Failure != nil:
		return retain("the policy failed: " + cut(out.Decision.Failure.Message))
	case err != nil:
		return retain("the decision was cancelled")
	case nextAction(out.Verdict) == "":
		return retain(fmt.Sprintf("the policy gave the verdict %.64q, which there isn't", out.Verdict))
	}
	out.Confidence, out.Reason = clamp(out.Confidence), cut(out.Reason)
	return out
}

// maxReason bounds a policy's reason, in characters.
const maxReason = 500

// cut shortens a text that is recorded.
func cut(text string) string {
	if runes := []rune(text); len(runes) > maxReason {
		return string(runes[:maxReason]) + "…"
	}
	return text
}

// nextAction is what follows from a verdict; "" where there is no such verdict.
func nextAction(verdict string) string {
	switch verdict {
	case core.VerdictRetain:
		return core.NextRetain
	case core.VerdictObsolete:
		return core.NextPurge
	case core.VerdictPromote:
		return core.NextPromote
	}
	return ""
}

// numbers are the figures behind a decision.
func numbers(c *core.GateCase, in *core.GateInput) core.GateNumbers {
	rate := 0.0
	if uses := in.Uses(); uses > 0 {
		rate = float64(in.Failures) / float64(uses)
	} else if in.LastOutcomeError {
		rate = 1
	}
	return core.GateNumbers{
		React: in.React.Lane(), ToolFailures: in.React.ToolFailures, RecoverySuccess: in.React.RecoverySuccess,
		Recurrence: in.React.Recurrence,
		Graph:      in.Graph.Lane(), GraphKnown: in.Graph.Known, PathReachable: in.Graph.PathReachable,
		Dependency: in.Graph.Dependency, Decomposition: in.Graph.Decomposition,
		Omega: in.Omega.Lane(), Q: in.Q, Utility: utility(in),
		Uses: in.Uses(), RelevantTurns: in.RelevantTurns, Sessions: in.Sessions, FailureRate: rate,
		MinimumConfidence: minimumConfidence(c.Governance),
	}
}

// checkOmega refuses factors that are no shares, and notes that are too many or
// too long.
func checkOmega(c *core.GateCase) error {
	var p problems
	p.factor("upstream_status_score", c.Omega.UpstreamStatus)
	p.factor("codebase_verification_score", c.Omega.CodebaseVerification)
	p.factor("runtime_utility_trend_score", c.Omega.RuntimeUtilityTrend)
	if p.atMost("notes", len(c.Notes), MaxNotes) {
		for i, note := range c.Notes {
			p.text(note, "note %d", i+1)
		}
	}
	return p.err()
}
