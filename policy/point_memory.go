package policy

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/policy/program"
)

// Sizes of texts, for the static cost.
const (
	namespaceSize = 512
	titleSize     = 512
	wordSize      = 128 // ids, kinds, tags
	tagCount      = 50
	listCount     = 1000
)

func retentionPoint() point[core.RetentionInput, core.RetentionOutcome] {
	type in = core.RetentionInput
	return point[in, core.RetentionOutcome]{
		definition: definition{
			subject: "memory_id",
			name:    core.PointRetention, doc: "Which state a memory is in, after feedback or a sweep.",
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
		}, slices.Concat(retentionWeights(), facts(func(x *in) *core.MemoryFacts { return &x.Facts }))...),
		fields: []field[core.RetentionOutcome]{
			{"ttl_score", "double", "the memory's new score", func(o *core.RetentionOutcome, v any) { o.TTLScore = v.(float64) }, nil, false},
			{"state", "string", "the state that it should be in", func(o *core.RetentionOutcome, v any) { o.State = v.(string) },
				[]string{"open", "active", "cooling", "revalidate_pending"}, false},
		},
	}
}

// facts are the inputs that describe a memory.
func facts[I any](of func(*I) *core.MemoryFacts) []input[I] {
	return []input[I]{
		text("memory_id", "the memory's id", func(x *I) *string { return &of(x).MemoryID }, wordSize),
		text("kind", "observation, reflection, semantic, procedural or notification", func(x *I) *string { return &of(x).Kind }, wordSize),
		text("agent_id", "who wrote it", func(x *I) *string { return &of(x).AgentID }, wordSize),
		computed("tags", "list(string)", "its tags", func(x *I) program.Value { return program.Any(of(x).Tags) }, tagCount, wordSize),
		whole("priority", "1 to 10", func(x *I) *int64 { return &of(x).Priority }),
		decimal("importance", "0 to 1", func(x *I) *float64 { return &of(x).Importance }),
		decimal("confidence", "0 to 1: how sure its author was", func(x *I) *float64 { return &of(x).Confidence }),
		whole("reflection_depth", "its depth: 0 for an observation", func(x *I) *int64 { return &of(x).ReflectionDepth }),
		decimal("revalidation_score", "utility that the gate's last decision found, if gated", func(x *I) *float64 { return &of(x).Revalidation }),
	}
}

// retentionWeights are the retention's inputs that come from governance.
func retentionWeights() []input[core.RetentionInput] {
	type in = core.RetentionInput
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

func gatePoint() point[core.GateInput, core.GateOutcome] {
	type in = core.GateInput
	return point[in, core.GateOutcome]{
		definition: definition{
			subject: "memory_id",
			name:    core.PointGate, doc: "Whether a memory is kept, purged or promoted. The gate itself checks what else a purge or promotion needs.",
			failure: "retain, with confidence 0",
			safe:    func(named) []any { return []any{core.VerdictRetain, 0.0, "the policy failed"} },
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
			decimal("q_value", "how useful it is, as learned from the outcomes of earlier turns, 0 to 1", func(x *in) *float64 { return &x.Q }),
		}, slices.Concat(gateLanes(), facts(func(x *in) *core.MemoryFacts { return &x.Facts }))...),
		fields: []field[core.GateOutcome]{
			{"verdict", "string", "what happens to the memory", func(o *core.GateOutcome, v any) { o.Verdict = v.(string) },
				[]string{core.VerdictRetain, core.VerdictObsolete, core.VerdictPromote}, false},
			{"confidence", "double", "how sure the verdict is", func(o *core.GateOutcome, v any) { o.Confidence = v.(float64) }, nil, false},
			{"reason", "string", "a line that says why", func(o *core.GateOutcome, v any) { o.Reason = v.(string) }, nil, true},
		},
	}
}

// gateLanes are the gate's inputs that come from evidence.
func gateLanes() []input[core.GateInput] {
	type in = core.GateInput
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

func reflectPoint() point[core.ReflectInput, core.Permission] {
	type in = core.ReflectInput
	return point[in, core.Permission]{
		definition: denying(core.PointReflect, "agent_id", "Whether a reflection may be written. Whatever a policy decides, the namespace's depth cap applies.", true),
		inputs: []input[in]{
			text("ns", "where the reflection goes", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("agent_id", "who reflects", func(x *in) *string { return &x.AgentID }, wordSize),
			text("kind", "reflection, semantic or procedural", func(x *in) *string { return &x.Kind }, wordSize),
			text("title", "its title", func(x *in) *string { return &x.Title }, titleSize),
			computed("tags", "list(string)", "its tags", func(x *in) program.Value { return program.Any(x.Tags) }, tagCount, wordSize),
			whole("depth", "its depth: 1 if all its sources are observations", func(x *in) *int64 { return &x.Depth }),
			whole("cap", "the greatest depth that the namespace allows", func(x *in) *int64 { return &x.Cap }),
			whole("priority", "1 to 10", func(x *in) *int64 { return &x.Priority }),
			decimal("confidence", "0 to 1", func(x *in) *float64 { return &x.Confidence }),
			computed("source_ids", "list(string)", "what it reflects on", func(x *in) program.Value { return program.Any(x.SourceIDs) }, listCount, wordSize),
			computed("source_namespaces", "list(string)", "the sources' namespaces, one for each", func(x *in) program.Value { return program.Any(x.SourceNamespaces) }, listCount, namespaceSize),
			computed("source_kinds", "list(string)", "the sources' kinds, one for each", func(x *in) program.Value { return program.Any(x.SourceKinds) }, listCount, wordSize),
		},
		fields: permission(),
	}
}

// denying is the definition of a point that allows or denies, and denies if it fails.
// subject is the input that names the subject of a decision; everything is whether
// permissions are logged too.
func denying(name core.Point, subject, doc string, everything bool) definition {
	return definition{
		name: name, subject: subject, doc: doc, failure: "deny",
		safe:    func(named) []any { return []any{false, "policy_failed", "the policy failed"} },
		notable: func(_ named, out []any) bool { return everything || out[0] == false },
	}
}

// permission are the fields of a point that allows or denies.
func permission() []field[core.Permission] {
	return []field[core.Permission]{
		{"allow", "bool", "whether it is allowed", func(o *core.Permission, v any) { o.Allow = v.(bool) }, nil, false},
		{"code", "string", "a name for the refusal, in snake_case", func(o *core.Permission, v any) { o.Code = v.(string) }, nil, true},
		{"reason", "string", "a line that says why", func(o *core.Permission, v any) { o.Reason = v.(string) }, nil, true},
	}
}
