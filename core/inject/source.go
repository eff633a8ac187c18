package inject

import (
	"context"

	"github.com/reflectory/reflectory/core/policypoint"
)

// Turn is the turn whose prompt context is collected.
type Turn struct {
	Namespace, SessionID string
	TurnID               int64
	// Query is what the turn is about; "" if nothing is to be recalled.
	Query string
	// Complexity and Risk come from the caller, from 0 to 1; .5 if it gave none.
	Complexity, Risk float64
	// InHistory is whether later turns see its prompt too.
	InHistory bool

	// withheld are the memories that mustn't be in its prompt, given those that are anyway, and anchored is
	// whether all that is recalled must be.
	withheld, given []string
	anchored        bool
}

// Source has blocks for a turn, such as a session's hints and the summary of its window,
// or the operator's policies. It belongs to the host, so it may make anchors.
type Source interface {
	// Blocks returns the drafts for a turn, in any order.
	Blocks(ctx context.Context, t *Turn) ([]Draft, error)
}

// SessionState is what the injection policy sees of a session.
type SessionState struct {
	// Bias is how its turns went, from -1 to 1.
	Bias float64
	// FailureClass is the class of the previous turn's failure; "" after a success.
	FailureClass string
	// WindowFill is how full the session's window is, from 0 to 1.
	WindowFill float64
}

// Sessions knows the state of sessions.
type Sessions interface {
	State(ctx context.Context, t *Turn) (SessionState, error)
}

// RoleMixer makes the mix of roles that the injection policy chose.
type RoleMixer interface {
	// Mix returns the mix with its blocks; nil for no mix. The outcome names the profile. If
	// it names none, the mode hybrid has a default that depends on the state.
	Mix(ctx context.Context, t *Turn, state SessionState, chosen *policypoint.InjectionOutcome) (*RoleMix, []Draft, error)
}
