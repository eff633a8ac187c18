package policy

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

func loopPoint() point[core.LoopInput, core.LoopOutcome] {
	type in = core.LoopInput
	return point[in, core.LoopOutcome]{
		definition: definition{
			subject: "workflow",
			name:    core.PointLoop, doc: "Whether an attempt passes, and whether a loop gives up, after each verdict.",
			failure: "not accepted, and stop; the run ends with status error",
			safe:    func(named) []any { return []any{false, true} },
			notable: func(n named, out []any) bool { return out[0] != n.get("accepted") || out[1] == true },
		},
		inputs: []input[in]{
			text("ns", "the run's namespace", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("workflow", "the workflow's name", func(x *in) *string { return &x.Workflow }, wordSize),
			truth("valid", "whether the evaluator found the attempt valid", func(x *in) *bool { return &x.Valid }),
			truth("accepted", "whether the workflow accepts it: by its accept rule, or without one if it is valid", func(x *in) *bool { return &x.Accepted }),
			decimal("score", "the attempt's score, 0 to 1", func(x *in) *float64 { return &x.Score }),
			decimal("best_score", "the highest so far", func(x *in) *float64 { return &x.BestScore }),
			whole("iteration", "the attempt's number, from 1", func(x *in) *int64 { return &x.Iteration }),
			computed("errors", "list(dyn)", "what the evaluator found", func(x *in) program.Value { return findings(x.Errors) }, listCount),
			computed("output", "dyn", "the attempt", func(x *in) program.Value { return decoded(x.Output) }),
			computed("history", "list(dyn)", "the judged attempts, this one included: iteration, output, score, valid, errors, feedback", func(x *in) program.Value { return decodedList(x.History) }, listCount),
			computed("usage", "map(string, dyn)", "what the loop consumed: tokens, tokens_in, tokens_out, cost_usd, wall_ms", func(x *in) program.Value { return usage(x.Usage) }),
		},
		fields: []field[core.LoopOutcome]{
			{"accept", "bool", "whether the attempt passes", func(o *core.LoopOutcome, v any) { o.Accept = v.(bool) }, nil, false},
			{"stop", "bool", "whether the loop gives up", func(o *core.LoopOutcome, v any) { o.Stop = v.(bool) }, nil, false},
		},
	}
}

// decoded is a JSON value; null if the text isn't JSON. It is decoded only if a policy
// names it.
func decoded(text json.RawMessage) program.Value {
	v, err := core.DecodeJSON(text)
	if err != nil {
		return program.Any(nil)
	}
	return program.Any(v)
}

// decodedList is a list of JSON values.
func decodedList(texts [][]byte) program.Value {
	list := bytes.Join(texts, []byte{','})
	return decoded(append(append([]byte{'['}, list...), ']'))
}

// findings converts findings to their JSON form.
func findings(list []sdk.Finding) program.Value {
	if len(list) == 0 {
		return program.Any([]any{})
	}
	return decoded(core.MustJSON(list))
}

// usage has the same keys as in stop_when.
func usage(u core.RunUsage) program.Value {
	return program.Any(map[string]any{
		"tokens_in": u.TokensIn, "tokens_out": u.TokensOut, "tokens": u.Tokens(), "cost_usd": u.CostUSD, "wall_ms": u.WallMillis,
	})
}

func injectionPoint() point[core.InjectionInput, core.InjectionOutcome] {
	type in = core.InjectionInput
	type out = core.InjectionOutcome
	return point[in, out]{
		definition: definition{
			name: core.PointInjection, doc: "How much a turn's prompt may hold, in which mode, and with which roles.",
			failure: "the built-in defaults",
			safe: func(named) []any {
				return []any{"classified", "react", int64(12), int64(8000), nil, nil, nil, nil, nil, nil}
			},
			ranges: map[string]program.Range{
				"max_blocks": {Least: 1, Greatest: math.MaxInt32}, "max_chars": {Least: 0, Greatest: math.MaxInt32},
				"max_tokens": {Least: 1, Greatest: math.MaxInt32},
			},
		},
		inputs: []input[in]{
			text("ns", "the session's namespace", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("session_id", "the session", func(x *in) *string { return &x.SessionID }, wordSize),
			whole("turn", "the session's turn counter", func(x *in) *int64 { return &x.Turn }),
			decimal("complexity", "how complex the task is, 0 to 1", func(x *in) *float64 { return &x.Complexity }),
			decimal("risk", "how much harm a mistake would do, 0 to 1", func(x *in) *float64 { return &x.Risk }),
			text("failure_class", "what failed in the turn before: tool_error, policy_error, timeout, …; empty after a success", func(x *in) *string { return &x.FailureClass }, wordSize),
			computed("blocks", "map(string, int)", "how many candidate blocks each category has", func(x *in) program.Value { return program.Any(counts(x.Blocks)) }, 8),
			decimal("window_fill", "the share of a prompt of the default size that the session's earlier turns would take, 0 to 1", func(x *in) *float64 { return &x.WindowFill }),
			decimal("bias", "how the session's turns went, -1 to 1", func(x *in) *float64 { return &x.Bias }),
		},
		fields: []field[out]{
			{"mode", "string", "how blocks share the budget", func(o *out, v any) { o.Mode = v.(string) }, []string{"single", "classified", "hybrid"}, false},
			{"route", "string", "the kind of evidence that matters most, a label that is only recorded in the snapshot", func(o *out, v any) { o.Route = v.(string) }, []string{"react", "graph"}, false},
			{"max_blocks", "int", "the maximum number of blocks", func(o *out, v any) { o.MaxBlocks = v.(int64) }, nil, false},
			{"max_chars", "int", "the maximum number of characters (with 0, only max_tokens limits the prompt)", func(o *out, v any) { o.MaxChars = v.(int64) }, nil, false},
			{"max_tokens", "int", "the maximum number of tokens", func(o *out, v any) { o.MaxTokens = v.(int64) }, nil, true},
			{"category_cap", "map(string, int)", "the maximum number of characters by category", func(o *out, v any) { o.CategoryCap = caps(v.(map[string]any)) }, nil, true},
			{"ordering", "string", "how blocks are sorted", func(o *out, v any) { o.Ordering = v.(string) },
				[]string{"priority_then_category", "fixed_category_order", "stable_prefix"}, true},
			{"dedupe", "string", "which blocks count as the same", func(o *out, v any) { o.Dedupe = v.(string) }, []string{"block_id", "source+category"}, true},
			{"enabled_categories", "list(string)", "categories that may be in the prompt; all of them if left out", func(o *out, v any) { o.EnabledCategories = texts(v.([]any)) }, nil, true},
			{"role_mix", "string", "a role mix profile's id", func(o *out, v any) { o.RoleMix = v.(string) }, nil, true},
		},
	}
}

// caps converts the whole numbers of a map.
func caps(values map[string]any) map[string]int64 {
	out := make(map[string]int64, len(values))
	for category, v := range values {
		if n, ok := v.(int64); ok {
			out[category] = n
		}
	}
	return out
}

// texts converts the texts of a list.
func texts(values []any) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// counts converts a map to a type that policies read without reflection.
func counts(blocks map[string]int64) map[string]any {
	out := make(map[string]any, len(blocks))
	for category, n := range blocks {
		out[category] = n
	}
	return out
}

func routingPoint() point[core.RoutingInput, core.RoutingOutcome] {
	type in = core.RoutingInput
	return point[in, core.RoutingOutcome]{
		definition: definition{
			name: core.PointRouting, doc: "How sure the best candidate of a discovery is: high recommends it, medium asks a question, low recommends nothing (execution_blocked).",
			failure: "low",
			safe:    func(named) []any { return []any{"low"} },
		},
		inputs: []input[in]{
			text("ns", "the namespace of the request", func(x *in) *string { return &x.Namespace }, namespaceSize),
			decimal("score", "how well it matches, 0 to 1", func(x *in) *float64 { return &x.Score }),
			decimal("success_rate", "how often it succeeded, 0 to 1", func(x *in) *float64 { return &x.SuccessRate }),
			decimal("final_score", "score × (.5 + .5·success_rate)", func(x *in) *float64 { return &x.FinalScore }),
			decimal("lead", "how far the next candidate's final_score is below this one's", func(x *in) *float64 { return &x.Lead }),
			whole("candidates", "how many candidates there are", func(x *in) *int64 { return &x.Candidates }),
		},
		fields: []field[core.RoutingOutcome]{
			{"confidence", "string", "the confidence band", func(o *core.RoutingOutcome, v any) { o.Confidence = v.(string) }, []string{"high", "medium", "low"}, false},
		},
	}
}

func admissionPoint() point[core.AdmissionInput, core.Permission] {
	type in = core.AdmissionInput
	return point[in, core.Permission]{
		definition: denying(core.PointAdmission, "plugin", "Whether a plugin may run. It is decided before each run's first call of the plugin, and again after an instance of it has ended.", true),
		inputs: []input[in]{
			text("ns", "the namespace in which it is to run", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("plugin", "publisher/name", func(x *in) *string { return &x.Plugin }, wordSize),
			text("version", "its version", func(x *in) *string { return &x.Version }, wordSize),
			text("digest", "sha256:… of its files", func(x *in) *string { return &x.Digest }, wordSize),
			computed("kinds", "list(string)", "evaluator, generator, corrector", func(x *in) program.Value { return program.Any(x.Kinds) }, 8, wordSize),
			text("runtime", "process or wasm", func(x *in) *string { return &x.Runtime }, wordSize),
			computed("capabilities", "list(string)", "what it was granted: network:host:port, fs:path, env:NAME, host:service", func(x *in) program.Value { return program.Any(x.Capabilities) }, tagCount, namespaceSize),
			truth("shipped", "whether it came with the host", func(x *in) *bool { return &x.Shipped }),
			truth("locked", "whether a lock pins it", func(x *in) *bool { return &x.Locked }),
		},
		fields: permission(),
	}
}

func accessPoint() point[core.AccessInput, core.Permission] {
	type in = core.AccessInput
	return point[in, core.Permission]{
		definition: denying(core.PointAccess, "operation", "Whether a caller may use an operation in a namespace.", false),
		inputs: []input[in]{
			text("subject", "who was authorised: a token's subject, or operator on the command line", func(x *in) *string { return &x.Subject }, wordSize),
			truth("local", "whether the request comes from the command line on this machine", func(x *in) *bool { return &x.Local }),
			text("operation", "what is to be done, such as memory_reflect", func(x *in) *string { return &x.Operation }, wordSize),
			text("scope", "what a token needs for it, such as memory:write", func(x *in) *string { return &x.Scope }, wordSize),
			text("ns", "the namespace; empty for what belongs to the host", func(x *in) *string { return &x.Namespace }, namespaceSize),
			computed("scopes", "list(string)", "the token's scopes; * is all", func(x *in) program.Value { return program.Any(x.Scopes) }, tagCount, wordSize),
			computed("namespaces", "list(string)", "the token's namespaces: a/b, a/**, **", func(x *in) program.Value { return program.Any(x.Namespaces) }, tagCount, namespaceSize),
		},
		fields: permission(),
	}
}
