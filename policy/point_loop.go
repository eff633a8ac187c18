package policy

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

func loopPoint() point[policypoint.LoopInput, policypoint.LoopOutcome] {
	type in = policypoint.LoopInput
	return point[in, policypoint.LoopOutcome]{
		definition: definition{
			subject: "workflow",
			name:    policypoint.Loop, doc: "Whether an attempt passes, and whether a loop gives up, after each verdict.",
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
		fields: []field[policypoint.LoopOutcome]{
			{"accept", "bool", "whether the attempt passes", func(o *policypoint.LoopOutcome, v any) { o.Accept = v.(bool) }, nil, false},
			{"stop", "bool", "whether the loop gives up", func(o *policypoint.LoopOutcome, v any) { o.Stop = v.(bool) }, nil, false},
		},
	}
}

// Loop implements loop.Policy.
func (p *Policies) Loop(ctx context.Context, in *policypoint.LoopInput) (out policypoint.LoopOutcome) {
	out, out.Decision = decide(ctx, nil, p, p.points.loop, in.Namespace, in)
	return out
}

// decoded is a JSON value; null if the text isn't JSON. It is decoded only if a policy
// names it.
func decoded(text json.RawMessage) program.Value {
	v, err := jsontext.Decode(text)
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
	return decoded(jsontext.MustEncode(list))
}

// usage has the same keys as in stop_when.
func usage(u core.RunUsage) program.Value {
	return program.Any(map[string]any{
		"tokens_in": u.TokensIn, "tokens_out": u.TokensOut, "tokens": u.Tokens(), "cost_usd": u.CostUSD, "wall_ms": u.WallMillis,
	})
}
