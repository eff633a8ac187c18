package policy

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

func retentionPoint() point[policypoint.RetentionInput, policypoint.RetentionOutcome] {
	type in = policypoint.RetentionInput
	return point[in, policypoint.RetentionOutcome]{
		definition: definition{
			subject: "memory_id",
			name:    policypoint.Retention, doc: "Which state a memory is in, after feedback or a sweep.",
			failure: "no transition",
			safe:    func(n named) []any { return []any{n.get("ttl_score"), n.get("state")} },
			notable: func(n named, out []any) bool { return n.get("state") != out[1] },
		},
		inputs: append([]input[in]{
			text("ns", "the memory's namespace", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("state", "the state that it is in", func(x *in) *string { return &x.State }, wordSize),
			whole("turn", "the namespace's turn counter", func(x *in) *int64 { return &x.Turn }),
			whole("created_turn", "the turn that it was written in", func(x *in) *int64 { return &x.CreatedTurn }),
			whole("age_turns", "turns since the event that it describes (occurred_at), else since it was written", func(x *in) *int64 { return &x.AgeTurns }),
			whole("last_hit_turn", "the turn of its last hit, if hit_count > 0", func(x *in) *int64 { return &x.LastHitTurn }),
			computed("inactivity_turn_gap", "int", "turns since its last hit, or since it was written, at most 40", func(x *in) program.Value { return program.Int(x.InactivityGap()) }),
			whole("hit_count", "turns that reported it as used", func(x *in) *int64 { return &x.Hits }),
			whole("miss_streak", "relevant turns in a row without a good use", func(x *in) *int64 { return &x.MissStreak }),
			whole("relevant_turns", "turns in which recall returned it", func(x *in) *int64 { return &x.RelevantTurns }),
			whole("since_cooled", "relevant turns since it cooled, while it is cooling", func(x *in) *int64 { return &x.SinceCooled }),
			whole("cooling_wait", "the value of since_cooled from which it may be active again: 10, doubled (up to 160) each time it cools again within 50 relevant turns of becoming active", func(x *in) *int64 { return &x.CoolingWait }),
			truth("gated", "whether the gate ever decided on it", func(x *in) *bool { return &x.Gated }),
			whole("since_gate", "relevant turns since the gate's last decision, if gated", func(x *in) *int64 { return &x.SinceGate }),
			whole("gate_rest", "the value of since_gate from which the gate is asked again: 10, doubled (up to 160) while no new evidence comes", func(x *in) *int64 { return &x.GateRest }),
			whole("sessions", "sessions that used it", func(x *in) *int64 { return &x.Sessions }),
			whole("success_count", "uses that succeeded", func(x *in) *int64 { return &x.Successes }),
			whole("partial_count", "uses that succeeded in part", func(x *in) *int64 { return &x.Partials }),
			whole("failure_count", "uses that failed", func(x *in) *int64 { return &x.Failures }),
			computed("uses", "int", "the sum of the three", func(x *in) program.Value { return program.Int(x.Uses()) }),
			computed("hit_rate", "double", "moving average of what its relevant turns earned, 0 to 1", func(x *in) program.Value { return program.Double(x.CorrectedHitRate()) }),
			decimal("hit_rate_ewma", "the same average without the correction for its start value of 0", func(x *in) *float64 { return &x.HitRate }),
			decimal("utility_score", "moving average of its uses' rewards, 0 to 1", func(x *in) *float64 { return &x.Utility }),
			decimal("q_value", "how useful it is, as learned from the outcomes of earlier turns, 0 to 1", func(x *in) *float64 { return &x.Q }),
			decimal("ttl_score", "its last score", func(x *in) *float64 { return &x.TTLScore }),
		}, slices.Concat(retentionWeights(), facts(func(x *in) *policypoint.MemoryFacts { return &x.Facts }))...),
		fields: []field[policypoint.RetentionOutcome]{
			{"ttl_score", "double", "the memory's new score", func(o *policypoint.RetentionOutcome, v any) { o.TTLScore = v.(float64) }, nil, false},
			{"state", "string", "the state that it should be in", func(o *policypoint.RetentionOutcome, v any) { o.State = v.(string) },
				[]string{"open", "active", "cooling", "revalidate_pending"}, false},
		},
	}
}

// Retention implements [policypoint.RetentionPolicy].
func (p *Policies) Retention(ctx context.Context, r core.Reader, in *policypoint.RetentionInput) (out policypoint.RetentionOutcome) {
	out, out.Decision = decide(ctx, r, p, p.points.retention, in.Namespace, in)
	return out
}

// retentionWeights are the retention's inputs that come from governance.
func retentionWeights() []input[policypoint.RetentionInput] {
	type in = policypoint.RetentionInput
	return []input[in]{
		decimal("w_hit", "governance: weight of hit_rate", func(x *in) *float64 { return &x.Weights.Hit }),
		decimal("w_utility", "governance: weight of utility_score", func(x *in) *float64 { return &x.Weights.Utility }),
		decimal("w_miss", "governance: weight of each miss in a row", func(x *in) *float64 { return &x.Weights.Miss }),
		decimal("w_stale", "governance: weight of each turn of inactivity", func(x *in) *float64 { return &x.Weights.Stale }),
		decimal("active_threshold", "governance: the lowest score of an active memory", func(x *in) *float64 { return &x.Weights.Active }),
		decimal("revalidate_threshold", "governance: the score below which the gate decides", func(x *in) *float64 { return &x.Weights.Revalidate }),
		decimal("hysteresis", "governance: how far above active_threshold a cooling memory must be to become active again", func(x *in) *float64 { return &x.Weights.Hysteresis }),
	}
}

// RecordedRetention is the retention's input in a recorded decision.
func (p *Points) RecordedRetention(inputs map[string]any) *policypoint.RetentionInput {
	in, _ := p.retention.recorded(inputs)
	return in
}
