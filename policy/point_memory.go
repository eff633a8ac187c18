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
			{"ns", "string", "the memory's namespace", func(x *in) program.Value { return program.Text(x.Namespace) }, []uint64{namespaceSize}},
			{"state", "string", "the state that it is in", func(x *in) program.Value { return program.Text(x.State) }, []uint64{wordSize}},
			{"turn", "int", "the namespace's turn counter", func(x *in) program.Value { return program.Int(x.Turn) }, nil},
			{"created_turn", "int", "the turn that it was written in", func(x *in) program.Value { return program.Int(x.CreatedTurn) }, nil},
			{"age_turns", "int", "turns since the event that it describes (occurred_at), else since it was written", func(x *in) program.Value { return program.Int(x.AgeTurns) }, nil},
			{"last_hit_turn", "int", "the turn of its last hit, if hit_count > 0", func(x *in) program.Value { return program.Int(x.LastHitTurn) }, nil},
			{"inactivity_turn_gap", "int", "turns since its last hit, or since it was written, at most 40", func(x *in) program.Value { return program.Int(x.InactivityGap()) }, nil},
			{"hit_count", "int", "turns that reported it as used", func(x *in) program.Value { return program.Int(x.Hits) }, nil},
			{"miss_streak", "int", "relevant turns in a row without a good use", func(x *in) program.Value { return program.Int(x.MissStreak) }, nil},
			{"relevant_turns", "int", "turns in which recall returned it", func(x *in) program.Value { return program.Int(x.RelevantTurns) }, nil},
			{"since_cooled", "int", "relevant turns since it cooled, while it is cooling", func(x *in) program.Value { return program.Int(x.SinceCooled) }, nil},
			{"cooling_wait", "int", "the value of since_cooled from which it may be active again: 10, doubled (up to 160) each time it cools again within 50 relevant turns of becoming active", func(x *in) program.Value { return program.Int(x.CoolingWait) }, nil},
			{"gated", "bool", "whether the gate ever decided on it", func(x *in) program.Value { return program.Bool(x.Gated) }, nil},
			{"since_gate", "int", "relevant turns since the gate's last decision, if gated", func(x *in) program.Value { return program.Int(x.SinceGate) }, nil},
			{"gate_rest", "int", "the value of since_gate from which the gate is asked again: 10, doubled (up to 160) while no new evidence comes", func(x *in) program.Value { return program.Int(x.GateRest) }, nil},
			{"sessions", "int", "sessions that used it", func(x *in) program.Value { return program.Int(x.Sessions) }, nil},
			{"success_count", "int", "uses that succeeded", func(x *in) program.Value { return program.Int(x.Successes) }, nil},
			{"partial_count", "int", "uses that succeeded in part", func(x *in) program.Value { return program.Int(x.Partials) }, nil},
			{"failure_count", "int", "uses that failed", func(x *in) program.Value { return program.Int(x.Failures) }, nil},
			{"uses", "int", "the sum of the three", func(x *in) program.Value { return program.Int(x.Uses()) }, nil},
			{"hit_rate", "double", "moving average of what its relevant turns earned, 0 to 1", func(x *in) program.Value { return program.Double(x.CorrectedHitRate()) }, nil},
			{"hit_rate_ewma", "double", "the same average without the correction for its start value of 0", func(x *in) program.Value { return program.Double(x.HitRate) }, nil},
			{"utility_score", "double", "moving average of its uses' rewards, 0 to 1", func(x *in) program.Value { return program.Double(x.Utility) }, nil},
			{"q_value", "double", "how useful it is, as learned from the outcomes of earlier turns, 0 to 1", func(x *in) program.Value { return program.Double(x.Q) }, nil},
			{"ttl_score", "double", "its last score", func(x *in) program.Value { return program.Double(x.TTLScore) }, nil},
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
		{"memory_id", "string", "the memory's id", func(x *I) program.Value { return program.Text(of(x).MemoryID) }, []uint64{wordSize}},
		{"kind", "string", "observation, reflection, semantic, procedural or notification", func(x *I) program.Value { return program.Text(of(x).Kind) }, []uint64{wordSize}},
		{"agent_id", "string", "who wrote it", func(x *I) program.Value { return program.Text(of(x).AgentID) }, []uint64{wordSize}},
		{"tags", "list(string)", "its tags", func(x *I) program.Value { return program.Any(of(x).Tags) }, []uint64{tagCount, wordSize}},
		{"priority", "int", "1 to 10", func(x *I) program.Value { return program.Int(of(x).Priority) }, nil},
		{"importance", "double", "0 to 1", func(x *I) program.Value { return program.Double(of(x).Importance) }, nil},
		{"confidence", "double", "0 to 1: how sure its author was", func(x *I) program.Value { return program.Double(of(x).Confidence) }, nil},
		{"reflection_depth", "int", "its depth: 0 for an observation", func(x *I) program.Value { return program.Int(of(x).ReflectionDepth) }, nil},
		{"revalidation_score", "double", "utility that the gate's last decision found, if gated", func(x *I) program.Value { return program.Double(of(x).Revalidation) }, nil},
	}
}

// retentionWeights are the retention's inputs that come from governance.
func retentionWeights() []input[core.RetentionInput] {
	type in = core.RetentionInput
	return []input[in]{
		{"w_hit", "double", "governance: weight of hit_rate", func(x *in) program.Value { return program.Double(x.Weights.Hit) }, nil},
		{"w_utility", "double", "governance: weight of utility_score", func(x *in) program.Value { return program.Double(x.Weights.Utility) }, nil},
		{"w_miss", "double", "governance: weight of each miss in a row", func(x *in) program.Value { return program.Double(x.Weights.Miss) }, nil},
		{"w_stale", "double", "governance: weight of each turn of inactivity", func(x *in) program.Value { return program.Double(x.Weights.Stale) }, nil},
		{"active_threshold", "double", "governance: the lowest score of an active memory", func(x *in) program.Value { return program.Double(x.Weights.Active) }, nil},
		{"revalidate_threshold", "double", "governance: the score below which the gate decides", func(x *in) program.Value { return program.Double(x.Weights.Revalidate) }, nil},
		{"hysteresis", "double", "governance: how far above active_threshold a cooling memory must be to become active again", func(x *in) program.Value { return program.Double(x.Weights.Hysteresis) }, nil},
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
			{"ns", "string", "the memory's namespace", func(x *in) program.Value { return program.Text(x.Namespace) }, []uint64{namespaceSize}},
			{"success_count", "int", "uses that succeeded", func(x *in) program.Value { return program.Int(x.Successes) }, nil},
			{"partial_count", "int", "uses that succeeded in part", func(x *in) program.Value { return program.Int(x.Partials) }, nil},
			{"failure_count", "int", "uses that failed", func(x *in) program.Value { return program.Int(x.Failures) }, nil},
			{"uses", "int", "the sum of the three", func(x *in) program.Value { return program.Int(x.Uses()) }, nil},
			{"relevant_turns", "int", "turns in which recall returned it", func(x *in) program.Value { return program.Int(x.RelevantTurns) }, nil},
			{"sessions", "int", "sessions that used it", func(x *in) program.Value { return program.Int(x.Sessions) }, nil},
			{"age_turns", "int", "turns since the event that it describes (occurred_at), else since it was written", func(x *in) program.Value { return program.Int(x.AgeTurns) }, nil},
			{"last_outcome_error", "bool", "whether the last outcome was an error", func(x *in) program.Value { return program.Bool(x.LastOutcomeError) }, nil},
			{"named_uses", "int", "uses that feedback named, rather than assumed", func(x *in) program.Value { return program.Int(x.Named) }, nil},
			{"named_sessions", "int", "sessions of those uses", func(x *in) program.Value { return program.Int(x.NamedSessions) }, nil},
			{"named_failures", "int", "turns in which they failed", func(x *in) program.Value { return program.Int(x.NamedFailures) }, nil},
			{"minimum_confidence", "double", "governance: the lowest confidence with which a memory is purged or promoted", func(x *in) program.Value { return program.Double(x.MinConfidence) }, nil},
			{"settings_fail", "bool", "whether the namespace's settings can't be read; if so, nothing is purged or promoted", func(x *in) program.Value { return program.Bool(x.SettingsFail) }, nil},
			{"gated", "bool", "whether the gate decided on it before", func(x *in) program.Value { return program.Bool(x.Gated) }, nil},
			{"utility_score", "double", "moving average of its uses' rewards, 0 to 1", func(x *in) program.Value { return program.Double(x.Utility) }, nil},
			{"q_value", "double", "how useful it is, as learned from the outcomes of earlier turns, 0 to 1", func(x *in) program.Value { return program.Double(x.Q) }, nil},
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
		{"react", "double", "score of the evidence from tool calls, 0 to 1", func(x *in) program.Value { return program.Double(x.React.Lane()) }, nil},
		{"good", "int", "tool calls that went well or were recovered from, in turns that used it", func(x *in) program.Value { return program.Int(x.React.Good) }, nil},
		{"tool_failures", "int", "tool calls that failed", func(x *in) program.Value { return program.Int(x.React.ToolFailures) }, nil},
		{"recovery_success", "int", "tool failures that were recovered from", func(x *in) program.Value { return program.Int(x.React.RecoverySuccess) }, nil},
		{"recurrence_score", "double", "of the last 20 turns that used it, the share with a recorded outcome", func(x *in) program.Value { return program.Double(x.React.Recurrence) }, nil},
		{"react_refs", "int", "how many references the tool evidence has", func(x *in) program.Value { return program.Int(x.React.Refs) }, nil},
		{"graph", "double", "score of the evidence from the workflow's graph, 0 to 1", func(x *in) program.Value { return program.Double(x.Graph.Lane()) }, nil},
		{"graph_known", "bool", "whether there is a graph", func(x *in) program.Value { return program.Bool(x.Graph.Known) }, nil},
		{"path_reachable", "bool", "whether a node of the graph that has the memory can be reached, if graph_known", func(x *in) program.Value { return program.Bool(x.Graph.PathReachable) }, nil},
		{"dependency_relevance_score", "double", "share of exits that can be reached only through the memory's nodes", func(x *in) program.Value { return program.Double(x.Graph.Dependency) }, nil},
		{"decomposition_impact_score", "double", "share of nodes that are downstream of the memory's nodes", func(x *in) program.Value { return program.Double(x.Graph.Decomposition) }, nil},
		{"graph_refs", "int", "how many references the graph's evidence has", func(x *in) program.Value { return program.Int(x.Graph.Refs) }, nil},
		{"omega", "double", "mean of the three factors below, 0 to 1", func(x *in) program.Value { return program.Double(x.OmegaLane()) }, nil},
		{"upstream_status_score", "double", "factor, .5 if absent", func(x *in) program.Value { return program.Double(x.UpstreamStatus()) }, nil},
		{"codebase_verification_score", "double", "factor, .5 if absent", func(x *in) program.Value { return program.Double(x.CodebaseVerification()) }, nil},
		{"runtime_utility_trend_score", "double", "factor, the utility_score if absent", func(x *in) program.Value { return program.Double(x.RuntimeUtilityTrend()) }, nil},
	}
}

func reflectPoint() point[core.ReflectInput, core.Permission] {
	type in = core.ReflectInput
	return point[in, core.Permission]{
		definition: denying(core.PointReflect, "agent_id", "Whether a reflection may be written. Whatever a policy decides, the namespace's depth cap applies.", true),
		inputs: []input[in]{
			{"ns", "string", "where the reflection goes", func(x *in) program.Value { return program.Text(x.Namespace) }, []uint64{namespaceSize}},
			{"agent_id", "string", "who reflects", func(x *in) program.Value { return program.Text(x.AgentID) }, []uint64{wordSize}},
			{"kind", "string", "reflection, semantic or procedural", func(x *in) program.Value { return program.Text(x.Kind) }, []uint64{wordSize}},
			{"title", "string", "its title", func(x *in) program.Value { return program.Text(x.Title) }, []uint64{titleSize}},
			{"tags", "list(string)", "its tags", func(x *in) program.Value { return program.Any(x.Tags) }, []uint64{tagCount, wordSize}},
			{"depth", "int", "its depth: 1 if all its sources are observations", func(x *in) program.Value { return program.Int(x.Depth) }, nil},
			{"cap", "int", "the greatest depth that the namespace allows", func(x *in) program.Value { return program.Int(x.Cap) }, nil},
			{"priority", "int", "1 to 10", func(x *in) program.Value { return program.Int(x.Priority) }, nil},
			{"confidence", "double", "0 to 1", func(x *in) program.Value { return program.Double(x.Confidence) }, nil},
			{"source_ids", "list(string)", "what it reflects on", func(x *in) program.Value { return program.Any(x.SourceIDs) }, []uint64{listCount, wordSize}},
			{"source_namespaces", "list(string)", "the sources' namespaces, one for each", func(x *in) program.Value { return program.Any(x.SourceNamespaces) }, []uint64{listCount, namespaceSize}},
			{"source_kinds", "list(string)", "the sources' kinds, one for each", func(x *in) program.Value { return program.Any(x.SourceKinds) }, []uint64{listCount, wordSize}},
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
