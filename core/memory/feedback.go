package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

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
	if err := CheckFeedback(r); err != nil {
		return nil, err
	}
	ctx = core.WithLabel(ctx, r.AgentID)
	began := m.options.Clock.Now()
	var result *core.FeedbackResult
	err := m.updateAsking(ctx, func(ctx context.Context, t *tx) (err error) {
		result, err = m.feedback(ctx, t, r, began)
		return err
	})
	op := feedbackOf(r.Session, r.Turn)
	if err != nil {
		return nil, sdk.Wrap(op, err)
	}
	if !m.options.DeferGate {
		result.Purged, err = m.gateAfter(ctx, r, result.Revalidate)
	}
	return result, sdk.Wrap(op, err)
}

func feedbackOf(session string, turn int64) string {
	return fmt.Sprintf("feedback of turn %d of session %s", turn, session)
}

// TurnNotFound is the refusal of a feedback of a turn that had no recall: sdk.NotFound,
// reason "turn_not_found".
func TurnNotFound(session string, turn int64) error {
	return sdk.Wrap(feedbackOf(session, turn), turnNotFound(session, turn))
}

func turnNotFound(session string, turn int64) error {
	return sdk.Errorf(sdk.NotFound, "turn_not_found", "session %s has no turn %d", session, turn).
		WithHint("a turn begins with a recall").
		WithAction("memory recall", "session", session, "namespace", nil, "query", nil)
}

// CheckFeedback tells all that is wrong with a request, whatever its turn is.
func CheckFeedback(r *core.FeedbackRequest) error {
	var p problems
	p.turn(r.Session, r.Turn)
	p.word("agent_id", r.AgentID)
	switch r.Outcome {
	case core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial, "":
	default:
		p.add("outcome", "is %q, not success, failure or partial", cut(string(r.Outcome)))
	}
	switch r.Source {
	case lifecycle.SourceUser, lifecycle.SourceTool, lifecycle.SourceText, "":
	default:
		p.add("source", "is %q, not user, tool or text", cut(r.Source))
	}
	p.over("used", len(r.Used)+len(r.Assumed), maxTurnItems, "memories")
	p.over("tool_outcomes", outcomes(r), maxTurnItems, "outcomes")
	_, _, err := lifecycle.Judge(r)
	p.check(err)
	return p.err()
}

// outcomes counts the tool outcomes of a request as they are kept: one that names
// no memory is kept for each that was used.
func outcomes(r *core.FeedbackRequest) (n int) {
	for _, o := range r.ToolOutcomes {
		if o.MemoryID != "" {
			n++
		} else {
			n += max(1, len(r.Used)+len(r.Assumed))
		}
	}
	return n
}

// feedback applies a feedback, which began at the given time, within a transaction.
func (m *Memories) feedback(ctx context.Context, t *tx, r *core.FeedbackRequest, began time.Time) (*core.FeedbackResult, error) {
	record, err := readTurnRecord(t, r.Session, r.Turn)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, turnNotFound(r.Session, r.Turn)
	}
	outcome, source, err := lifecycle.Judge(r)
	if err != nil {
		return nil, err
	}
	first := record.Feedback
	// Early stores don't say what a first feedback's source was: it stands.
	if first != nil && (first.Source == "" || !lifecycle.Better(source, first.Source)) {
		first.Duplicate = true
		return first, nil
	}
	l := m.lesson(r, first, outcome, source, began)
	if err := l.checkRecalled(record); err != nil {
		return nil, err
	}
	if err := l.moveBias(t, record); err != nil {
		return nil, err
	}
	if err := l.teachAll(ctx, t, record); err != nil {
		return nil, err
	}
	record.Feedback = l.result
	return l.result, putTurnRecord(t, r.Session, r.Turn, record)
}
