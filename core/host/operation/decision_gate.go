package operation

import (
	"context"
	"maps"

	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// A decision of the gate has two records: the policy's log has what the policy was asked and
// what it answered, under an id of its own, and the memory's decision has what followed. Events,
// memories and knowledge name the second, so that id is found here too.

// decision returns the decision with an id, or the only one whose id begins with it.
func (c *Call) decision(ctx context.Context, id string) (*Decision, error) {
	found, err := decisions.Find(ctx, c.Host.Store, id)
	if sdk.CodeOf(err) == sdk.NotFound {
		made, lost := c.Host.Memories.Gate.Decision(ctx, id)
		if sdk.CodeOf(lost) == sdk.NotFound {
			return nil, err
		}
		return c.gateDecision(ctx, made, lost)
	}
	if err != nil {
		return nil, err
	}
	record, err := policy.DecodeRecord(found.Value)
	if err != nil {
		return nil, err
	}
	d := &Decision{ID: found.ID, Record: record}
	if record.Point == policypoint.Gate && !record.Omitted {
		d.Gate = c.Host.Policies.ExplainGate(ctx, record)
	}
	return d, nil
}

// gateDecision is a decision of the gate in the form of a recorded decision.
func (c *Call) gateDecision(ctx context.Context, made *verdict.GateDecision, err error) (*Decision, error) {
	if err != nil {
		return nil, err
	}
	e, err := c.Host.Memories.Explain(ctx, made.MemoryID)
	if err != nil {
		return nil, err
	}
	record, err := c.recordOf(made)
	if err != nil {
		return nil, err
	}
	for i := range e.History {
		if event, is := journal.As[journal.RevalidateDecision](&e.History[i]); is && event.DecisionID == made.ID {
			record.At = e.History[i].At
		}
	}
	return &Decision{ID: made.ID, Record: record, Gate: gate.Explain(made)}, nil
}

// recordOf is the record of a decision of the gate, with the numbers that the gate kept as
// inputs. Other inputs are masked.
func (c *Call) recordOf(made *verdict.GateDecision) (*policy.Record, error) {
	n := &made.Numbers
	record := &policy.Record{
		Decision: made.Policy,
		Inputs: map[string]any{
			"ns": made.Namespace, "memory_id": made.MemoryID, "success_count": n.Successes, "partial_count": n.Uses - n.Successes - n.Failures,
			"failure_count": n.Failures, "uses": n.Uses, "named_uses": n.Named, "relevant_turns": n.RelevantTurns, "sessions": n.Sessions,
			"minimum_confidence": n.MinimumConfidence, "utility_score": n.UtilityScore, "q_value": n.Q, "react": n.React, "good": n.Good,
			"tool_failures": n.ToolFailures, "recovery_success": n.RecoverySuccess, "recurrence_score": n.Recurrence,
			"react_refs": int64(len(made.ReactRefs)), "graph": n.Graph, "graph_known": n.GraphKnown, "path_reachable": n.PathReachable,
			"dependency_relevance_score": n.Dependency, "decomposition_impact_score": n.Decomposition, "graph_refs": int64(len(made.GraphRefs)), "omega": n.Omega,
		},
		Output: map[string]any{"verdict": made.Verdict, "confidence": made.Confidence, "reason": made.Reason},
	}
	points := c.Host.Policies.Points
	byDefault, err := points.Default(policypoint.Gate)
	if err != nil {
		return nil, err
	}
	if n.Uses == 0 || made.Policy.Digest == byDefault.Digest() {
		// Without uses the failure rate shows it, and with uses the default policy doesn't read it.
		record.Inputs["last_outcome_error"] = n.Uses == 0 && n.FailureRate == 1
	}
	shown := (&policypoint.GateInput{Effect: n.Effect}).Shown()
	maps.Copy(record.Inputs, map[string]any{"effect": shown.Estimate, "effect_low": shown.Low, "effect_high": shown.High, "effect_e_value": shown.EValue})
	if n.Effect == nil {
		record.Inputs["effect_tested"] = false // its namespace didn't experiment
	}
	all, err := points.Describe(policypoint.Gate)
	if err != nil {
		return nil, err
	}
	for _, in := range all.Inputs {
		if _, kept := record.Inputs[in.Name]; !kept {
			record.Masked = append(record.Masked, in.Name)
		}
	}
	return record, nil
}
