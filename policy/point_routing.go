package policy

import (
	"context"

	"github.com/reflectory/reflectory/core/policypoint"
)

func routingPoint() point[policypoint.RoutingInput, policypoint.RoutingOutcome] {
	type in = policypoint.RoutingInput
	return point[in, policypoint.RoutingOutcome]{
		definition: definition{
			name: policypoint.Routing, doc: "How sure the best candidate of a discovery is: high recommends it, medium asks a question, low recommends nothing (execution_blocked).",
			failure: "low",
			safe:    func(named) []any { return []any{"low"} },
		},
		inputs: []input[in]{
			text("ns", "the namespace of the request", func(x *in) *string { return &x.Namespace }, namespaceSize),
			decimal("score", "how well it matches, 0 to 1", func(x *in) *float64 { return &x.Score }),
			decimal("failure_rate", "how often its last runs fail at least, 0 to 1", func(x *in) *float64 { return &x.FailureRate }),
			decimal("final_score", "score × (1 − failure_rate)", func(x *in) *float64 { return &x.FinalScore }),
			decimal("lead", "how far the next candidate's final_score is below this one's", func(x *in) *float64 { return &x.Lead }),
			whole("candidates", "how many candidates there are", func(x *in) *int64 { return &x.Candidates }),
		},
		fields: []field[policypoint.RoutingOutcome]{
			{"confidence", "string", "the confidence band", func(o *policypoint.RoutingOutcome, v any) { o.Confidence = v.(string) }, []string{"high", "medium", "low"}, false},
		},
	}
}

// Routing decides how sure a recommendation is.
func (p *Policies) Routing(ctx context.Context, in *policypoint.RoutingInput) (out policypoint.RoutingOutcome) {
	out, out.Decision = decide(ctx, nil, p, p.points.routing, in.Namespace, in)
	return out
}
