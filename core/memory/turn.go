package memory

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Evidence records outcomes of tool calls for the gate, see [turn.Evidence].
type Evidence = turn.Evidence

// SweepResult is the result of a sweep.
type SweepResult = turn.SweepResult

// SweepProgress is the progress of a sweep.
type SweepProgress = turn.SweepProgress

// Feedback reports how a turn went, and applies that to the session's bias and to the signals
// and states of the memories that the turn's recalls returned, in one commit. The best evidence
// in the request determines the outcome, see [lifecycle.Judge].
//
// A second feedback on a turn changes nothing and returns the first result, with Duplicate, unless
// its source is better: then the turn's credit is taken back and given again, in one commit. If the
// second feedback names no uses, the first feedback's uses are kept. A turn without a recall is
// sdk.NotFound, reason "turn_not_found".
//
// Revalidate in the result lists the memories that wait for the gate because of the feedback. The
// gate decides on them right after the commit, each in its own transaction, unless
// [Options.DeferGate] leaves that to the caller. If both a result and an error are returned, the
// error came from the gate or the store's files, after the commit: repeating the call continues
// with the gate. See [Gate.Revalidate] for what a purge may leave.
func (m *Memories) Feedback(ctx context.Context, r *core.FeedbackRequest) (result *core.FeedbackResult, err error) {
	inferred, err := m.inferred(ctx, r)
	if err != nil {
		return nil, err
	}
	return m.FeedbackInferred(ctx, r, inferred)
}

// FeedbackInferred is [Memories.Feedback] where it is known already which memories the turn's replies
// show as used, with how strongly.
func (m *Memories) FeedbackInferred(ctx context.Context, r *core.FeedbackRequest, inferred map[string]float64) (result *core.FeedbackResult, err error) {
	defer m.follow(&ctx, work.Work{Kind: work.Update, Name: "feedback"}, &err)()
	result, err = m.turns.Feedback(ctx, r, inferred)
	if err != nil || m.options.DeferGate || m.options.Turned != nil {
		return result, err
	}
	result.Purged, err = m.Gate.gateAfter(core.WithLabel(ctx, r.AgentID), r, result.Revalidate)
	return result, sdk.Wrap(turn.FeedbackOp(r.Session, r.Turn), err)
}

// CheckFeedback reports everything that is wrong with a request, apart from its turn.
func CheckFeedback(r *core.FeedbackRequest) error { return turn.CheckFeedback(r) }

// CheckSession refuses what can't be a session's name.
func CheckSession(name string) error {
	var p bounds.Problems
	p.ID("session", name)
	return p.Err()
}

// TurnNotFound is the error for feedback on a turn that had no recall: sdk.NotFound,
// reason "turn_not_found".
func TurnNotFound(session string, number int64) error {
	return sdk.Wrap(turn.FeedbackOp(session, number), turn.NotFound(session, number))
}

// Sweep evaluates the memories of a namespace, without the namespaces below it, with the
// retention policy, as feedback does for the memories of its turn. It works in transactions of
// 256 memories and may be called again at any time: finished work isn't repeated.
//
// The gate decides on the memories that wait for it, including memories that a crash left
// waiting, unless [Options.DeferGate] leaves that to the caller. If there is an error, the
// result has what was done until then; see [Gate.Revalidate] for what a purge may leave.
//
// progress, unless it is nil, is called after each transaction and each decision.
func (g *Gate) Sweep(ctx context.Context, namespace string, progress func(SweepProgress)) (*SweepResult, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := g.turns.NewSweep(namespace, progress)
	err := s.Evaluate(ctx)
	if err == nil {
		err = g.waiting(ctx, s)
	}
	return &s.Result, sdk.Wrap("sweep namespace "+namespace, err)
}

// Waiting is a Sweep without the retention policy: it lets the gate decide on all memories
// of a namespace that wait for it.
func (g *Gate) Waiting(ctx context.Context, namespace string) (*SweepResult, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := g.turns.NewSweep(namespace, nil)
	var err error
	if s.Result.Turn, err = g.turns.Turn(ctx, namespace); err == nil {
		err = g.waiting(ctx, s)
	}
	return &s.Result, sdk.Wrap("gate of namespace "+namespace, err)
}

// waiting lets the gate decide on the memories that wait for it. To clean the store's files
// after a purge takes a while, so it then looks again for memories that began to wait meanwhile.
func (g *Gate) waiting(ctx context.Context, s *turn.Sweep) error {
	for {
		var gone purgedFiles
		s.Result.Pending = nil
		err := s.Waiting(ctx, func(ids []string) error { return g.gateSwept(ctx, s, ids, &gone) })
		s.Result.Purged = append(s.Result.Purged, gone.given...)
		if finished := gone.finish(ctx, g.options.Store); err == nil {
			err = finished
		}
		if err != nil || len(gone.given) == 0 {
			return err
		}
	}
}

// Due reports, within the caller's transaction, whether memories of a namespace wait for the
// gate, besides the ones that a sweep left waiting.
func (g *Gate) Due(r core.Reader, namespace string, left []string) (due bool, err error) {
	start := record.IndexStart(record.StatePrefix, namespace, string(core.StateRevalidatePending))
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		due = !slices.Contains(left, record.PlaceID(key[len(start):]))
		return !due, nil
	})
	return due, err
}

// gateSwept lets the gate decide on memories that wait for it.
func (g *Gate) gateSwept(ctx context.Context, s *turn.Sweep, ids []string, gone *purgedFiles) error {
	if g.options.Gate == nil || g.options.DeferGate || s.Halted {
		s.Result.Pending = append(s.Result.Pending, ids...)
		return nil
	}
	for _, id := range ids {
		d, err := g.revalidate(ctx, id, &RevalidateRequest{}, gone)
		switch {
		case sdk.ReasonOf(err) == unreadableReason:
			s.Result.Pending = append(s.Result.Pending, id)
		case isSkipped(err):
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
func (ss *Sessions) Bias(ctx context.Context, session string) (bias float64, err error) {
	err = ss.records.View(ctx, func(r core.Reader) error {
		bias, err = turn.Bias(r, core.CallerOf(ctx), session)
		return err
	})
	return bias, err
}

type (
	// Injection reports what was in the prompt of a turn, see [turn.Injection].
	Injection = turn.Injection
	// Injected is one thing in it, see [turn.Injected].
	Injected = turn.Injected
)

type (
	// Session is a session.
	Session = turn.Session
	// SessionTurn is one of its turns.
	SessionTurn = turn.SessionTurn
	// Reflection is what a turn's feedback says about the turn.
	Reflection = turn.Reflection
)

type (
	// SessionFilter selects sessions.
	SessionFilter = turn.SessionFilter
	// TurnFilter selects turns of a session.
	TurnFilter = turn.TurnFilter
	// EndedTurn is a turn that had its feedback.
	EndedTurn = turn.Ended
)

// EachEndedTurn calls fn with each turn, begun by no run, that had its feedback.
func EachEndedTurn(r core.Reader, fn func(*EndedTurn) error) error { return turn.EachEnded(r, fn) }

// Get returns a session's totals and its turns, the oldest first; more is whether other turns
// follow. For a session that had no turn, or that belongs to another subject than the caller's, the
// error is sdk.NotFound, reason "session_not_found".
func (ss *Sessions) Get(ctx context.Context, f *TurnFilter) (s *Session, turns []SessionTurn, more bool, err error) {
	return ss.turns.Session(ctx, f)
}

// Head returns a session without its turns, for any owner; nil for a session that had no
// turn. It is for code that decides who may see the session.
func (ss *Sessions) Head(ctx context.Context, name string) (*Session, error) {
	return ss.turns.Head(ctx, name)
}

// Reset opens a new window of a session, with bias 0. Its turns and memories stay,
// and its turn counter continues. The errors are [Sessions.Get]'s.
func (ss *Sessions) Reset(ctx context.Context, name string) (*Session, error) {
	return ss.turns.Reset(ctx, name)
}

// Resume goes back to an earlier window of a session, with the bias that it had; 0
// is the window before the current one. The errors are [Sessions.Get]'s, and
// sdk.NotFound, reason "window_not_found".
func (ss *Sessions) Resume(ctx context.Context, name string, window int64) (*Session, error) {
	return ss.turns.Resume(ctx, name, window)
}

// SessionMarks are the marks of the names of a caller's sessions: see [turn.Marks].
func SessionMarks(c core.Caller) []string { return turn.Marks(c) }

// List returns sessions by [Session.Key]. next is the key after which the next page begins; "" if there
// is none.
func (ss *Sessions) List(ctx context.Context, f *SessionFilter) (list []Session, next string, err error) {
	return ss.turns.List(ctx, f)
}

// BeginTurn begins a turn of a session without a recall, for a prompt that recalls nothing,
// so that the turn can get feedback. A turn that has already begun doesn't change. The errors
// are the same as for a recall in the turn.
func (ss *Sessions) BeginTurn(ctx context.Context, by core.TurnRef, namespace string) error {
	return ss.turns.Begin(ctx, by, namespace, ss.runOf(ctx))
}

// SessionContext is what the prompt of a turn can use from its session.
type SessionContext = turn.Context

// Context returns what the prompt of a turn can use from its session; turn 0 is the
// session's current turn, or the next turn if the current one had its feedback. For a session
// without a turn, the result is empty. If the session belongs to another subject than the
// caller's, the error is sdk.NotFound, reason "session_not_found".
func (ss *Sessions) Context(ctx context.Context, name string, number int64) (*SessionContext, error) {
	return ss.turns.Context(ctx, name, number)
}

type (
	// TurnSummary is the summary in a turn's feedback.
	TurnSummary = turn.TurnSummary
	// WindowSummary is a text in place of a window's oldest turns.
	WindowSummary = turn.WindowSummary
	// SummarizedWindow names the window.
	SummarizedWindow = turn.SummarizedWindow
)

// WindowTurn is a turn of a window of a session.
type WindowTurn = turn.WindowTurn

// TurnsRepeating are the turns whose feedback has texts that may repeat a memory, since the turns
// were given it.
func TurnsRepeating(r core.Reader, memoryID string) ([]WindowTurn, error) {
	return turn.Repeating(r, memoryID)
}

// TurnsSecret is what [SessionContext]'s Texts has as the secret of these turns, at present.
// The turns are sorted.
func TurnsSecret(r core.Reader, session string, window int64, turns []int64) (string, error) {
	texts, err := turn.ReadTexts(r, session, window, turns)
	return texts.Secret(), err
}

// DigestOfTurns is the digest of the summaries of turns, for [WindowSummary].
func DigestOfTurns(turns []TurnSummary) string { return turn.DigestOf(turns) }

// SummarizeWindow stores a summary of the oldest turns of a session's window, of at most
// 2,000 characters, and reports whether it did. It doesn't store the summary if the turns' own
// summaries have changed. The errors are [Sessions.Context]'s.
func (ss *Sessions) SummarizeWindow(ctx context.Context, s *SummarizedWindow) (stored bool, err error) {
	return ss.turns.SummarizeWindow(ctx, s)
}

// SessionNotFound is the error for a session that had no turn, and for another subject's
// session.
func SessionNotFound(name string) error { return turn.SessionNotFound(name) }

// TurnNamespaces are the namespaces that a turn of a session belongs to, sorted: the namespace
// that its first recall searched, and the namespaces of the recalled memories. found is whether
// the turn exists.
func (ss *Sessions) TurnNamespaces(ctx context.Context, session string, turn int64) (list []string, found bool, err error) {
	return ss.turns.TurnNamespaces(ctx, session, turn)
}

// Turn returns a namespace's turn counter: how many turns had their feedback.
func (ss *Sessions) Turn(ctx context.Context, namespace string) (int64, error) {
	return ss.turns.Turn(ctx, namespace)
}

// UsedIn reports whether a memory was used in a turn according to the turn's feedback, for
// packages that record evidence on the memory.
func (m *Memories) UsedIn(r core.Reader, memoryID string, by core.TurnRef) (bool, error) {
	return m.turns.UsedIn(r, memoryID, by)
}
