package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// Evidence keeps outcomes of tool calls for the gate, see [turn.Evidence].
type Evidence = turn.Evidence

// SweepResult is what a sweep came to.
type SweepResult = turn.SweepResult

// SweepProgress is how far a sweep is.
type SweepProgress = turn.SweepProgress

// Feedback says how a turn went, and lets the memories that its recalls returned
// learn from it: one commit for all of them, their bias, their signals and their
// states. The outcome is the one that the best evidence of the request shows, see
// [lifecycle.Judge].
//
// A second feedback of a turn changes nothing and returns the first result, with
// Duplicate, unless its source is better: then the credit that the turn gave is taken
// back and given again, in one commit. One that names no use takes the uses of the
// first feedback. A turn without a recall is sdk.NotFound, reason "turn_not_found".
//
// Memories that came before the gate by it are in Revalidate. They are decided on
// right after the commit, each in a transaction of its own, unless
// [Options.DeferGate] leaves that to the caller. An error that comes with a result is of
// the gate or of the store's files, after the commit: the same call again goes on with the
// gate, and see [Memories.Revalidate] for what a purge may leave.
func (m *Memories) Feedback(ctx context.Context, r *core.FeedbackRequest) (*core.FeedbackResult, error) {
	result, err := m.turns.Feedback(ctx, r)
	if err != nil || m.options.DeferGate {
		return result, err
	}
	result.Purged, err = m.gateAfter(core.WithLabel(ctx, r.AgentID), r, result.Revalidate)
	return result, sdk.Wrap(turn.FeedbackOp(r.Session, r.Turn), err)
}

// CheckFeedback reports all that is wrong with a request, whatever its turn is.
func CheckFeedback(r *core.FeedbackRequest) error { return turn.CheckFeedback(r) }

// TurnNotFound is the refusal of a feedback of a turn that had no recall: sdk.NotFound,
// reason "turn_not_found".
func TurnNotFound(session string, number int64) error {
	return sdk.Wrap(turn.FeedbackOp(session, number), turn.NotFound(session, number))
}

// Sweep evaluates the memories of a namespace, those below it not included, by
// the retention policy, as a feedback does for those that it touches.
// It works in transactions of 256 memories and may be repeated at any time: what
// it did isn't done again.
//
// Memories that wait for the gate are decided on, those too that a crash left
// waiting, unless [Options.DeferGate] leaves that to the caller. An error comes with what
// was done until then; see [Memories.Revalidate] for what a purge may leave.
//
// progress, unless it is nil, is called after each transaction and each decision.
func (m *Memories) Sweep(ctx context.Context, namespace string, progress func(SweepProgress)) (*SweepResult, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := m.turns.NewSweep(namespace, progress)
	var gone residue
	err := s.Evaluate(ctx)
	if err == nil {
		err = s.Waiting(ctx, func(ids []string) error { return m.gateSwept(ctx, s, ids, &gone) })
		s.Result.Purged = gone.given
		if finished := gone.finish(ctx, m.options.Store); err == nil {
			err = finished
		}
	}
	return &s.Result, sdk.Wrap("sweep namespace "+namespace, err)
}

// gateSwept lets the gate decide on memories that wait for it.
func (m *Memories) gateSwept(ctx context.Context, s *turn.Sweep, ids []string, gone *residue) error {
	if m.options.Gate == nil || m.options.DeferGate || s.Halted {
		s.Result.Pending = append(s.Result.Pending, ids...)
		return nil
	}
	for _, id := range ids {
		d, err := m.revalidate(ctx, id, &RevalidateRequest{}, gone)
		switch {
		case sdk.ReasonOf(err) == unreadableReason:
			s.Result.Pending = append(s.Result.Pending, id)
		case left(err):
		case err != nil:
			return sdk.Wrap("gate of memory "+id, err)
		default:
			s.Gated(d.NextAction)
		}
	}
	return nil
}

// Bias returns how a session's turns have gone lately, from -1 to 1: 0 for a
// session without feedback.
func (m *Memories) Bias(ctx context.Context, session string) (float64, error) {
	return m.turns.Bias(ctx, session)
}

// SessionNames returns the names of the sessions that had a turn, in their order, at most
// as many as the limit.
func (m *Memories) SessionNames(ctx context.Context, limit int) ([]string, error) {
	return m.turns.SessionNames(ctx, limit)
}

// Session is what a session has come to, and SessionTurn a turn of one.
type (
	Session     = turn.Session
	SessionTurn = turn.SessionTurn
)

// Session returns what a session has come to, and its turns after one, 0 for the first, at
// most as many as the limit; more is whether others follow. A session that had no turn is
// sdk.NotFound, reason "session_not_found".
func (m *Memories) Session(ctx context.Context, name string, after int64, limit int) (s *Session, turns []SessionTurn, more bool, err error) {
	return m.turns.Session(ctx, name, after, limit)
}

// SessionNotFound is the refusal of a session that had no turn.
func SessionNotFound(name string) error { return turn.SessionNotFound(name) }

// TurnNamespaces are the namespaces that a turn of a session belongs to, sorted: the one
// that its first recall looked in, and the namespaces of the memories that it was offered. found
// is whether the turn exists; a turn of an early store that offered nothing has no
// namespace.
func (m *Memories) TurnNamespaces(ctx context.Context, session string, turn int64) (list []string, found bool, err error) {
	return m.turns.TurnNamespaces(ctx, session, turn)
}

// Turn returns a namespace's turn counter: how many feedbacks it had.
func (m *Memories) Turn(ctx context.Context, namespace string) (int64, error) {
	return m.turns.Turn(ctx, namespace)
}

// UsedIn reports whether the feedback of a turn said that it used a memory, for those
// who keep evidence on it.
func (m *Memories) UsedIn(r core.Reader, memoryID string, by core.TurnRef) (bool, error) {
	return m.turns.UsedIn(r, memoryID, by)
}
