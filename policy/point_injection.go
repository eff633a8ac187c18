package policy

import (
	"context"
	"math"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

func injectionPoint() point[policypoint.InjectionInput, policypoint.InjectionOutcome] {
	type in = policypoint.InjectionInput
	type out = policypoint.InjectionOutcome
	return point[in, out]{
		definition: definition{
			name: policypoint.Injection, doc: "How much a turn's prompt may hold, in which mode, and with which roles.",
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

// Injection decides what a turn's prompt context holds.
func (p *Policies) Injection(ctx context.Context, in *policypoint.InjectionInput) (out policypoint.InjectionOutcome) {
	out, out.Decision = decide(ctx, nil, p, p.points.injection, in.Namespace, in)
	return out
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
