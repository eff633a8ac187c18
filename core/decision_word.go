package core

// Decisions are counted by a word for their outcome. A point has few words, and they
// are fixed, so no text that a policy may choose freely is used.

// Word is the state that the memory should be in.
func (o RetentionOutcome) Word() string { return o.State }

// Word is the verdict.
func (o GateOutcome) Word() string { return o.Verdict }

// Word is allow or deny.
func (p Permission) Word() string {
	if p.Allow {
		return "allow"
	}
	return "deny"
}

// Word is accept, stop, or else continue.
func (o LoopOutcome) Word() string {
	switch {
	case o.Accept:
		return "accept"
	case o.Stop:
		return "stop"
	}
	return "continue"
}

// Word is the mode.
func (o InjectionOutcome) Word() string { return o.Mode }

// Word is the confidence.
func (o RoutingOutcome) Word() string { return o.Confidence }
