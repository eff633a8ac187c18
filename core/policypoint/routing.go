package policypoint

// RoutingInput is what the routing policy sees of the best candidate.
type RoutingInput struct {
	Namespace string
	// Score is the score of the match alone, FinalScore includes the failure rate.
	Score, FailureRate, FinalScore float64
	// Lead is how far ahead of the next candidate it is; FinalScore if there is no other.
	Lead       float64
	Candidates int64
}

// RoutingOutcome is how sure a recommendation is: high, medium or low. A policy
// that fails gives low.
type RoutingOutcome struct {
	Confidence string
	Decision   Decision
}

// Word is the confidence.
func (o RoutingOutcome) Word() string { return o.Confidence }
