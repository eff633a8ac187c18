package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// Evidence records outcomes of tool calls for the gate, see [turn.Evidence].
type Evidence = turn.Evidence

// SweepResult is the result of a sweep.
type SweepResult = turn.SweepResult

// SweepProgress is how far a sweep is.
type SweepProgress = turn.SweepProgress

// Feedback says how a turn went, and applies that to the memories that its recalls
// returned: the session's bias and the memories' signals and states, in one commit. The
// outcome is the one that the best evidence in the request shows, see [lifecycle.Judge].
//
// A second feedback on a turn changes nothing and returns the first result, with Duplicate, unless
// its source is better: then the turn's credit is taken back and given again, in one commit. If the
// second feedback names no uses, the first feedback's uses are kept. A turn without a recall is
// sdk.NotFound, reason "turn_not_found".
//
// Revalidate in the result lists the memories that wait for the gate because of the feedback. They
// are decided on right after the commit, each in a transaction of its own, unless
// [Options.DeferGate] leaves that to the caller. If both a result and an error are
// returned, the error came from the gate or the store's files, after the commit:
// repeating the call continues with the gate. See [Memories.Revalidate] for what a purge
// may leave.
func (m *Memories) Feedback(ctx context.Context, r *core.FeedbackRequest) (result *core.FeedbackResult, err error) {
	defer m.follow(&ctx, core.Work{Kind: core.WorkUpdate, Name: "feedback"}, &err)()
	result, err = m.turns.Feedback(ctx, r)
	if err != nil || m.options.DeferGate || m.options.Turned != nil {
		return result, err
	}
	result.Purged, err = m.gateAfter(core.WithLabel(ctx, r.AgentID), r, result.Revalidate)
	return result, sdk.Wrap(turn.FeedbackOp(r.Session, r.Turn), err)
}

// CheckFeedback reports everything that is wrong with a request, whichever turn it is
// for.
func CheckFeedback(r *core.FeedbackRequest) error { return turn.CheckFeedback(r) }

// TurnNotFound is the error for feedback on a turn that had no recall: sdk.NotFound,
// reason "turn_not_found".
func TurnNotFound(session string, number int64) error {
	return sdk.Wrap(turn.FeedbackOp(session, number), turn.NotFound(session, number))
}

// Sweep evaluates the memories of a namespace, without the namespaces below it, with the
// retention policy, as feedback does for the memories of its turn. It works in
// transactions of 256 memories and may be repeated at any time: work that is done isn't
// repeated.
//
// Memories that wait for the gate are decided on, including those that a crash left
// waiting, unless [Options.DeferGate] leaves that to the caller. If there is an error,
// the result has what was done until then; see [Memories.Revalidate] for what a purge may
// leave.
//
// progress, unless it is nil, is called after each transaction and each decision.
func (m *Memories) Sweep(ctx context.Context, namespace string, progress func(SweepProgress)) (*SweepResult, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := m.turns.NewSweep(namespace, progress)
	err := s.Evaluate(ctx)
	if err == nil {
		err = m.gateWaiting(ctx, s)
	}
	return &s.Result, sdk.Wrap("sweep namespace "+namespace, err)
}

// GateWaiting is Sweep that evaluates nothing: it has the gate decide on all memories of a
// namespace that wait for it.
func (m *Memories) GateWaiting(ctx context.Context, namespace string) (*SweepResult, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := m.turns.NewSweep(namespace, nil)
	var err error
	if s.Result.Turn, err = m.turns.Turn(ctx, namespace); err == nil {
		err = m.gateWaiting(ctx, s)
	}
	return &s.Result, sdk.Wrap("gate of namespace "+namespace, err)
}

// gateWaiting lets the gate decide on what waits for it.
func (m *Memories) gateWaiting(ctx context.Context, s *turn.Sweep) error {
	var gone residue
	err := s.Waiting(ctx, func(ids []string) error { return m.gateSwept(ctx, s, ids, &gone) })
	s.Result.Purged = gone.given
	if finished := gone.finish(ctx, m.options.Store); err == nil {
		err = finished
	}
	return err
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

// Bias returns how the turns of a session's current window have gone lately, from -1 to
// 1: 0 without feedback.
func (m *Memories) Bias(ctx context.Context, session string) (float64, error) {
	return m.turns.Bias(ctx, session)
}

// Injection says what was in the prompt of a turn, see [turn.Injection].
type (
	Injection = turn.Injection
	Injected  = turn.Injected
)

// Session is a session, SessionTurn is one of its turns, and Reflection is what a turn's
// feedback says about it.
type (
	Session     = turn.Session
	SessionTurn = turn.SessionTurn
	Reflection  = turn.Reflection
)

// Session returns a session's totals, and its turns after one (0 for the start), at most
// limit; more is whether others follow. For a session that had no turn, or belongs to
// another subject than the caller's, the error is sdk.NotFound, reason
// "session_not_found".
func (m *Memories) Session(ctx context.Context, name string, after int64, limit int) (s *Session, turns []SessionTurn, more bool, err error) {
	return m.turns.Session(ctx, name, after, limit)
}

// SessionHead returns a session without its turns, for any owner; nil for one that
// had no turn. It is for code that decides who may see it.
func (m *Memories) SessionHead(ctx context.Context, name string) (*Session, error) {
	return m.turns.Head(ctx, name)
}

// ResetSession opens a new window of a session, with bias 0. Its turns and memories stay,
// and its turn counter continues. The errors are [Memories.Session]'s.
func (m *Memories) ResetSession(ctx context.Context, name string) (*Session, error) {
	return m.turns.Reset(ctx, name)
}

// ResumeSession goes back to an earlier window of a session, with the bias that it had; 0
// is the window before the current one. The errors are [Memories.Session]'s, and
// sdk.NotFound, reason "window_not_found".
func (m *Memories) ResumeSession(ctx context.Context, name string, window int64) (*Session, error) {
	return m.turns.Resume(ctx, name, window)
}

// Sessions returns the sessions of an owner that follow a name ("" for the start), by name,
// at most limit. next is the name after which the others follow; "" if there are none.
func (m *Memories) Sessions(ctx context.Context, owner, after string, limit int) (list []Session, next string, err error) {
	return m.turns.List(ctx, owner, after, limit)
}

// BeginTurn begins a turn of a session without a recall, for a prompt that recalls nothing,
// so that the turn can get feedback. A turn that has begun stays as it is. Its errors are
// those that a recall in the turn would have.
func (m *Memories) BeginTurn(ctx context.Context, by core.TurnRef, namespace string) error {
	return m.turns.Begin(ctx, by, namespace)
}

// SessionContext is what a session can tell the prompt of a turn.
type SessionContext = turn.Context

// SessionContext returns what a session can tell the prompt of a turn; turn 0 is its
// current turn, or the next if that had its feedback. A session without a turn tells
// nothing. If the session belongs to another subject than the caller's, the error is
// sdk.NotFound, reason "session_not_found".
func (m *Memories) SessionContext(ctx context.Context, name string, number int64) (*SessionContext, error) {
	return m.turns.Context(ctx, name, number)
}

// TurnSummary is what a turn's feedback said about it, WindowSummary is a text in place of
// a window's oldest turns, and SummarizedWindow says of which window.
type (
	TurnSummary      = turn.TurnSummary
	WindowSummary    = turn.WindowSummary
	SummarizedWindow = turn.SummarizedWindow
)

// DigestOfTurns is the digest of what turns say, for [WindowSummary].
func DigestOfTurns(turns []TurnSummary) string { return turn.DigestOf(turns) }

// SummarizeWindow stores a summary of the oldest turns of a session's window, of at most
// 2,000 characters, and reports whether it did. It doesn't if the turns say something else
// by now. The errors are [Memories.SessionContext]'s.
func (m *Memories) SummarizeWindow(ctx context.Context, s *SummarizedWindow) (stored bool, err error) {
	return m.turns.SummarizeWindow(ctx, s)
}

// SessionNotFound is the error for a session that had no turn, and for one of another
// subject.
func SessionNotFound(name string) error { return turn.SessionNotFound(name) }

// TurnNamespaces are the namespaces that a turn of a session belongs to, sorted: the one
// that its first recall searched, and the namespaces of the memories that were recalled.
// found is whether the turn exists; a turn of an early store that recalled nothing has no
// namespace.
func (m *Memories) TurnNamespaces(ctx context.Context, session string, turn int64) (list []string, found bool, err error) {
	return m.turns.TurnNamespaces(ctx, session, turn)
}

// Turn returns a namespace's turn counter: how many turns had their feedback.
func (m *Memories) Turn(ctx context.Context, namespace string) (int64, error) {
	return m.turns.Turn(ctx, namespace)
}

// UsedIn reports whether the feedback on a turn said that it used a memory, for packages
// that record evidence on it.
func (m *Memories) UsedIn(r core.Reader, memoryID string, by core.TurnRef) (bool, error) {
	return m.turns.UsedIn(r, memoryID, by)
}
