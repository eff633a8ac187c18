package host

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// Engine applies the host's own conditions to a policy's output at a point. A verdict has
// to meet the gate's conditions for a purge or promotion. A state has to agree with the
// table of transitions and with the rest after the gate's last decision. A score or a
// confidence alone changes nothing. At other points the output takes effect unchanged.
func Engine(point core.Point, inputs, output map[string]any) (effect map[string]any, unmet []string) {
	switch point {
	case core.PointGate:
		return gateEngine(inputs, output)
	case core.PointRetention:
		return retentionEngine(inputs, output)
	}
	return output, nil
}

func gateEngine(inputs, output map[string]any) (map[string]any, []string) {
	out := gateOutcome(output)
	if _, known := inputs["named_uses"]; !known { // an older record: its conditions aren't known
		return map[string]any{"verdict": out.Verdict}, nil
	}
	in, _ := gateInput(inputs)
	unmet := gate.Unmet(gate.Conditions(in, out))
	if len(unmet) > 0 {
		out.Verdict = core.VerdictRetain
	}
	return map[string]any{"verdict": out.Verdict}, unmet
}

// ExplainGate explains what the gate decided by a recorded outcome of its policy, and why. It is
// nil if the record lacks inputs: it is older, or a policy masks them.
func ExplainGate(ctx context.Context, inputs, output map[string]any, failure *core.ErrorInfo) *gate.Explanation {
	in, whole := gateInput(inputs)
	if !whole {
		return nil
	}
	out := gateOutcome(output)
	out.Decision.Failure = failure
	return gate.Recorded(ctx, in, out)
}

// gateInput is the recorded input of the gate's policy, and whether the record has all of it.
func gateInput(inputs map[string]any) (in *core.GateInput, whole bool) {
	in, whole = &core.GateInput{}, true
	r, g := &in.React, &in.Graph
	var upstream, codebase, trend float64
	for name, to := range map[string]any{
		"success_count": &in.Successes, "partial_count": &in.Partials, "failure_count": &in.Failures, "named_uses": &in.Named,
		"named_sessions": &in.NamedSessions, "named_failures": &in.NamedFailures, "minimum_confidence": &in.MinConfidence,
		"settings_fail": &in.SettingsFail, "relevant_turns": &in.RelevantTurns, "sessions": &in.Sessions, "age_turns": &in.AgeTurns,
		"last_outcome_error": &in.LastOutcomeError, "q_value": &in.Q, "utility_score": &in.Utility, "gated": &in.Gated,
		"revalidation_score": &in.Facts.Revalidation, "good": &r.Good, "tool_failures": &r.ToolFailures, "recovery_success": &r.RecoverySuccess,
		"recurrence_score": &r.Recurrence, "react_refs": &r.Refs, "graph_known": &g.Known, "path_reachable": &g.PathReachable,
		"dependency_relevance_score": &g.Dependency, "decomposition_impact_score": &g.Decomposition, "graph_refs": &g.Refs,
		"upstream_status_score": &upstream, "codebase_verification_score": &codebase, "runtime_utility_trend_score": &trend,
	} {
		value, recorded := inputs[name]
		whole = whole && recorded
		switch to := to.(type) {
		case *int64:
			*to = int64(number(value))
		case *float64:
			*to = number(value)
		case *bool:
			*to = value == true
		}
	}
	in.Namespace, _ = inputs["ns"].(string)
	in.Facts.MemoryID, _ = inputs["memory_id"].(string)
	in.Omega = core.OmegaFactors{UpstreamStatus: &upstream, CodebaseVerification: &codebase, RuntimeUtilityTrend: &trend}
	return in, whole
}

// gateOutcome is the recorded outcome of the gate's policy.
func gateOutcome(output map[string]any) (out core.GateOutcome) {
	out.Verdict, _ = output["verdict"].(string)
	out.Reason, _ = output["reason"].(string)
	out.Confidence = number(output["confidence"])
	return out
}

func retentionEngine(inputs, output map[string]any) (effect map[string]any, unmet []string) {
	from, _ := inputs["state"].(string)
	to, _ := output["state"].(string)
	switch {
	case from == to:
	case lifecycle.Check(core.MemoryState(from), core.MemoryState(to), lifecycle.ByRetention) != nil:
		unmet = []string{"transition"}
	case to == string(core.StateRevalidatePending) && inputs["gated"] == true && number(inputs["since_gate"]) < number(inputs["gate_rest"]):
		unmet = []string{"gate_rest"}
	}
	if unmet != nil {
		to = from
	}
	return map[string]any{"state": to}, unmet
}

// number is a recorded number, whole or not; 0 if it wasn't recorded.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}
