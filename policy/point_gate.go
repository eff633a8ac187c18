package policy

import (
	"context"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

func gatePoint() point[policypoint.GateInput, policypoint.GateOutcome] {
	type in = policypoint.GateInput
	return point[in, policypoint.GateOutcome]{
		definition: definition{
			subject: "memory_id",
			name:    policypoint.Gate, doc: "Whether a memory is kept, purged or promoted. The gate itself checks what else a purge or promotion needs.",
			failure: "retain, with confidence 0",
			safe:    func(named) []any { return []any{policypoint.VerdictRetain, 0.0, "the policy failed"} },
			ranges:  map[string]program.Range{"confidence": {Least: 0, Greatest: 1}},
			notable: func(named, []any) bool { return true },
		},
		inputs: append([]input[in]{
			text("ns", "the memory's namespace", func(x *in) *string { return &x.Namespace }, namespaceSize),
			whole("success_count", "uses that succeeded", func(x *in) *int64 { return &x.Successes }),
			whole("partial_count", "uses that succeeded in part", func(x *in) *int64 { return &x.Partials }),
			whole("failure_count", "uses that failed", func(x *in) *int64 { return &x.Failures }),
			computed("uses", "int", "the sum of the three", func(x *in) program.Value { return program.Int(x.Uses()) }),
			whole("relevant_turns", "turns in which recall returned it", func(x *in) *int64 { return &x.RelevantTurns }),
			whole("sessions", "sessions that used it", func(x *in) *int64 { return &x.Sessions }),
			whole("age_turns", "turns since the event that it describes (occurred_at), else since it was written", func(x *in) *int64 { return &x.AgeTurns }),
			truth("last_outcome_error", "whether the last outcome was an error", func(x *in) *bool { return &x.LastOutcomeError }),
			whole("named_uses", "uses that feedback named, rather than assumed", func(x *in) *int64 { return &x.Named }),
			whole("named_sessions", "sessions of those uses", func(x *in) *int64 { return &x.NamedSessions }),
			whole("named_failures", "turns in which they failed", func(x *in) *int64 { return &x.NamedFailures }),
			decimal("minimum_confidence", "governance: the lowest confidence with which a memory is purged or promoted", func(x *in) *float64 { return &x.MinConfidence }),
			truth("settings_fail", "whether the namespace's settings can't be read; if so, nothing is purged or promoted", func(x *in) *bool { return &x.SettingsFail }),
			truth("gated", "whether the gate decided on it before", func(x *in) *bool { return &x.Gated }),
			decimal("utility_score", "moving average of its uses' rewards, 0 to 1", func(x *in) *float64 { return &x.Utility }),
			truth("effect_tested", "whether only its effect promotes it: its namespace experiments, and most of its uses were shared, assumed or inferred", func(x *in) *bool { return &x.Tested }),
			computed("effect", "double", "success with it less success without it, -1 to 1, from turns that left it out by chance; 0 if unknown", func(x *in) program.Value { return program.Double(x.Shown().Estimate) }),
			computed("effect_low", "double", "least effect that the turns allow", func(x *in) program.Value { return program.Double(x.Shown().Low) }),
			computed("effect_high", "double", "greatest effect that they allow", func(x *in) program.Value { return program.Double(x.Shown().High) }),
			computed("effect_e_value", "double", "evidence that it helps: by chance 1 of 20 useless memories reaches 20 at most; 1 if unknown", func(x *in) program.Value { return program.Double(x.Shown().EValue) }),
			decimal("q_value", "how useful it is, as learned from the outcomes of earlier turns, 0 to 1", func(x *in) *float64 { return &x.Q }),
		}, slices.Concat(gateLanes(), facts(func(x *in) *policypoint.MemoryFacts { return &x.Facts }))...),
		fields: []field[policypoint.GateOutcome]{
			{"verdict", "string", "what happens to the memory", func(o *policypoint.GateOutcome, v any) { o.Verdict = v.(string) },
				[]string{policypoint.VerdictRetain, policypoint.VerdictObsolete, policypoint.VerdictPromote}, false},
			{"confidence", "double", "how sure the verdict is", func(o *policypoint.GateOutcome, v any) { o.Confidence = v.(float64) }, nil, false},
			{"reason", "string", "a line that says why", func(o *policypoint.GateOutcome, v any) { o.Reason = v.(string) }, nil, true},
		},
	}
}

// Gate implements gate.Policy.
func (p *Policies) Gate(ctx context.Context, r core.Reader, in *policypoint.GateInput) (out policypoint.GateOutcome) {
	out, out.Decision = decide(ctx, r, p, p.points.gate, in.Namespace, in)
	return out
}

// GateWorkings implements gate.Policy: how the policy that made a decision came to it. If that
// version of it isn't in force, nothing of it is known. The figures that it lacks are the default
// policy's, after its own.
func (p *Policies) GateWorkings(ctx context.Context, r core.Reader, in *policypoint.GateInput, made policypoint.Decision) (w policypoint.GateWorkings) {
	at := p.points.gate
	set, _ := p.deciding(ctx, r)
	figures := func(policy *Policy) []program.TraceStep {
		// A cancelled caller's decision is recorded with its numbers too.
		trace := policy.program.Workings(context.WithoutCancel(ctx), &bound[policypoint.GateInput]{in, at.gets})
		for _, v := range trace.Variables {
			known := slices.ContainsFunc(w.Figures, func(f policypoint.GateFigure) bool { return f.Name == v.Name })
			if n, is := asFloat(v.Value); is && !known && !math.IsNaN(n) && !math.IsInf(n, 0) {
				w.Figures = append(w.Figures, policypoint.GateFigure{Name: v.Name, Expression: v.Expression, Value: n, File: policy.File()})
			}
		}
		return trace.Steps
	}
	for policy := range set.chain(&at.definition, in.Namespace) {
		if policy.File() != made.File || policy.Digest() != made.Digest {
			continue
		}
		for _, step := range figures(policy) {
			if step.Condition != "" {
				w.Tried = append(w.Tried, policypoint.GateTried{Condition: step.Condition, Holds: step.Holds})
			}
		}
	}
	figures(at.base())
	return w
}

// gateLanes are the gate's inputs that come from evidence.
func gateLanes() []input[policypoint.GateInput] {
	type in = policypoint.GateInput
	return []input[in]{
		computed("react", "double", "score of the evidence from tool calls, 0 to 1", func(x *in) program.Value { return program.Double(x.React.Lane()) }),
		whole("good", "tool calls that went well or were recovered from, in turns that used it", func(x *in) *int64 { return &x.React.Good }),
		whole("tool_failures", "tool calls that failed", func(x *in) *int64 { return &x.React.ToolFailures }),
		whole("recovery_success", "tool failures that were recovered from", func(x *in) *int64 { return &x.React.RecoverySuccess }),
		decimal("recurrence_score", "of the last 20 turns that used it, the share with a recorded outcome", func(x *in) *float64 { return &x.React.Recurrence }),
		whole("react_refs", "how many references the tool evidence has", func(x *in) *int64 { return &x.React.Refs }),
		computed("graph", "double", "score of the evidence from the workflow's graph, 0 to 1", func(x *in) program.Value { return program.Double(x.Graph.Lane()) }),
		truth("graph_known", "whether there is a graph", func(x *in) *bool { return &x.Graph.Known }),
		truth("path_reachable", "whether a node of the graph that has the memory can be reached, if graph_known", func(x *in) *bool { return &x.Graph.PathReachable }),
		decimal("dependency_relevance_score", "share of exits that can be reached only through the memory's nodes", func(x *in) *float64 { return &x.Graph.Dependency }),
		decimal("decomposition_impact_score", "share of nodes that are downstream of the memory's nodes", func(x *in) *float64 { return &x.Graph.Decomposition }),
		whole("graph_refs", "how many references the graph's evidence has", func(x *in) *int64 { return &x.Graph.Refs }),
		computed("omega", "double", "mean of the three factors below, 0 to 1", func(x *in) program.Value { return program.Double(x.OmegaLane()) }),
		factor("upstream_status_score", "factor, .5 if absent", (*in).UpstreamStatus, func(x *in) **float64 { return &x.Omega.UpstreamStatus }),
		factor("codebase_verification_score", "factor, .5 if absent", (*in).CodebaseVerification, func(x *in) **float64 { return &x.Omega.CodebaseVerification }),
		factor("runtime_utility_trend_score", "factor, the utility_score if absent", (*in).RuntimeUtilityTrend, func(x *in) **float64 { return &x.Omega.RuntimeUtilityTrend }),
	}
}

// RecordedGate is the gate's input in a recorded decision, and whether the record has all of it,
// texts aside.
func (p *Points) RecordedGate(inputs map[string]any) (in *policypoint.GateInput, whole bool) {
	return p.gate.recorded(inputs)
}
