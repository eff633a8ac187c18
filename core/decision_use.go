package core

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// LoopInput is what the loop policy sees after a verdict. What it
// refers to must not change while the policy decides.
type LoopInput struct {
	Namespace string
	Workflow  string
	// Valid is the evaluator's word, and Accepted the workflow's: that of its
	// accept rule, or Valid without one.
	Valid, Accepted bool
	// Score is this attempt's, BestScore the highest so far.
	Score, BestScore float64
	Iteration        int64
	Errors           []sdk.Finding
	Output           json.RawMessage
	// History are the judged attempts with this one, the oldest first, each as
	// JSON.
	History [][]byte
	Usage   RunUsage
}

// LoopOutcome is what the loop policy says. A policy that fails doesn't accept,
// and stops; its Decision has the failure, which is the run's error.
type LoopOutcome struct {
	Accept, Stop bool
	Decision     Decision
}

// InjectionInput is what the injection policy sees of a turn.
type InjectionInput struct {
	Namespace, SessionID string
	Turn                 int64
	// Complexity and Risk are from 0 to 1.
	Complexity, Risk float64
	// FailureClass is that of the turn before, "" after a success.
	FailureClass string
	// Blocks counts the candidates by category.
	Blocks map[string]int64
	// WindowFill is how full the session's window is, from 0 to 1.
	WindowFill float64
	// Bias is the session's, from -1 (its turns fail) to 1 (they succeed).
	Bias float64
}

// InjectionOutcome bounds a turn's prompt context. A policy that fails gives the
// built-in defaults.
type InjectionOutcome struct {
	Mode, Route         string
	MaxBlocks, MaxChars int64
	// MaxTokens bounds the tokens too; 0 is no bound.
	MaxTokens   int64
	CategoryCap map[string]int64
	// Ordering and Dedupe are strategies; "" is the default: priority_then_category, and
	// block_id.
	Ordering, Dedupe string
	// EnabledCategories are those that may be in the prompt; nil is all of them.
	EnabledCategories []string
	// RoleMix is a profile's id, or "".
	RoleMix  string
	Decision Decision
}

// RoutingInput is what the routing policy sees of the best candidate.
type RoutingInput struct {
	Namespace string
	// Score is the match alone, FinalScore with the success rate.
	Score, SuccessRate, FinalScore float64
	// Lead is how far the next candidate lies behind; FinalScore without another.
	Lead       float64
	Candidates int64
}

// RoutingOutcome is how sure a recommendation is: high, medium or low. A policy
// that fails gives low.
type RoutingOutcome struct {
	Confidence string
	Decision   Decision
}

// AdmissionInput is what the admission policy sees of a plugin that is to run.
type AdmissionInput struct {
	Namespace string
	// Plugin is publisher/name.
	Plugin, Version, Digest string
	Kinds                   []string
	// Runtime is process or wasm.
	Runtime string
	// Capabilities are those that were granted, as operators write them:
	// "network:example.org:443".
	Capabilities []string
	// Shipped is whether it came with the host; Locked whether a lock pins it.
	Shipped, Locked bool
}

// AccessInput is what the access policy sees of a request.
type AccessInput struct {
	// Subject is who was authorised: a token's subject, or [OperatorSubject].
	Subject string
	// Local is whether the request came from the command line of this machine.
	Local bool
	// Operation is what is to be done, such as "memory_reflect", and Scope what a token
	// needs for it, such as "memory:write".
	Operation, Scope string
	// Namespace is where it is to be done.
	Namespace string
	// Scopes and Namespaces are the token's.
	Scopes, Namespaces []string
}
