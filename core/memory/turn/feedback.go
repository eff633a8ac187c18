package turn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// MaxReplyBytes bounds a reply that shows what was used.
const MaxReplyBytes = 1 << 20

// Turns has the turns of sessions: what their recalls returned, the feedback on them, and
// how that changes memories. It is safe for concurrent use.
type Turns struct {
	*record.Records
	// Retention decides which state a memory is in; without it no memory changes its state.
	Retention policypoint.RetentionPolicy
	// Evidence records the tool outcomes that feedback brings; without it they are only
	// used to judge the turn.
	Evidence Evidence
	// Injection reports what was in the prompt of a turn; without it, a turn's prompt held
	// everything that was recalled.
	Injection Injection
	// Turned is called in a feedback's transaction when a namespace reaches a new turn, or
	// when memories of it wait for the gate; it may be nil.
	Turned func(ctx context.Context, tx core.Tx, namespace string, turn int64, waiting bool) error
	// Ended is called in a feedback's transaction, unless a run began the turn: with what the turn
	// is now, and what it was after an earlier feedback, nil for the first one. It may be nil.
	Ended func(tx core.Tx, now, before *Ended) error
}

// Feedback applies the feedback on a turn in one commit: the session's bias, and the
// signals and states of the memories that the turn recalled. A second feedback changes
// nothing and returns the first result, with Duplicate, unless its source is better.
// Revalidate in the result lists the memories that the gate has to decide on. inferred are the
// uses that the reply shows, with how strongly; named ones take their place.
func (s *Turns) Feedback(ctx context.Context, r *core.FeedbackRequest, inferred map[string]float64) (*core.FeedbackResult, error) {
	if err := CheckFeedback(r); err != nil {
		return nil, err
	}
	ctx = core.WithLabel(ctx, r.AgentID)
	began := s.Writer.Clock.Now()
	var result *core.FeedbackResult
	err := s.UpdateAsking(ctx, func(t *record.Tx) (err error) {
		result, err = s.feedback(ctx, t, r, inferred, began)
		return err
	})
	if err != nil {
		return nil, sdk.Wrap(FeedbackOp(r.Session, r.Turn), err)
	}
	return result, nil
}

// FeedbackOp names in an error the feedback that was applied.
func FeedbackOp(session string, turn int64) string {
	return fmt.Sprintf("feedback of turn %d of session %s", turn, session)
}

// NotFound is the error for a turn that had no recall: sdk.NotFound, reason
// "turn_not_found".
func NotFound(session string, turn int64) error {
	return sdk.Errorf(sdk.NotFound, "turn_not_found", "session %s has no turn %d", session, turn).
		WithHint("a turn begins with a recall").
		WithAction("memory recall", "session", session, "namespace", nil, "query", nil)
}

// CheckFeedback reports everything that is wrong with a request, apart from its turn.
func CheckFeedback(r *core.FeedbackRequest) error {
	var p bounds.Problems
	p.Turn(r.Session, r.Turn)
	p.Word("agent_id", r.AgentID)
	switch r.Outcome {
	case core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial, "":
	default:
		p.Add("outcome", "is %q, not success, failure or partial", bounds.Shorten(string(r.Outcome)))
	}
	switch r.Source {
	case lifecycle.SourceUser, lifecycle.SourceTool, lifecycle.SourceText, lifecycle.SourceInferred, "":
	default:
		p.Add("source", "is %q, not user, tool, text or inferred", bounds.Shorten(r.Source))
	}
	if r.FailureClass != "" && !slices.Contains(core.FailureClasses(), r.FailureClass) {
		p.Add("failure_class", "is %q, not one of %s", bounds.Shorten(string(r.FailureClass)), bounds.Words(core.FailureClasses()))
	}
	p.Note("corrective_action", r.CorrectiveAction)
	p.Note("next_turn_hint", r.NextTurnHint)
	p.Note("summary", r.Summary)
	p.Over("reply", len(r.Reply), MaxReplyBytes, "bytes")
	p.Over("used", len(r.Used)+len(r.Assumed), maxTurnItems, "memories")
	p.Over("tool_outcomes", outcomes(r), maxTurnItems, "outcomes")
	_, _, err := lifecycle.Judge(r)
	p.Check(err)
	return p.Err()
}

// outcomes counts the tool outcomes of a request as they are recorded: an outcome that
// names no memory is recorded for each memory that was used.
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

// feedback applies feedback, which began at the given time, within a transaction.
func (s *Turns) feedback(ctx context.Context, t *record.Tx, r *core.FeedbackRequest, inferred map[string]float64, began time.Time) (*core.FeedbackResult, error) {
	if _, err := readOwn(t, t.Caller(), r.Session); sdk.CodeOf(err) == sdk.NotFound {
		return nil, NotFound(r.Session, r.Turn)
	} else if err != nil {
		return nil, err
	}
	stored, err := readTurnRecord(t, r.Session, r.Turn)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, NotFound(r.Session, r.Turn)
	}
	r = stored.resolved(r)
	outcome, source, err := lifecycle.Judge(r)
	if err != nil {
		return nil, err
	}
	first := stored.Feedback
	if first != nil && !lifecycle.Better(source, first.Source) {
		first.Duplicate = true
		return first, nil
	}
	before := stored.ended(r.Session)
	f := s.newFeedbackTx(r, inferred, first, outcome, source, began)
	if err := f.offer(t, stored); err != nil {
		return nil, err
	}
	if err := f.checkRecalled(stored); err != nil {
		return nil, err
	}
	if err := f.moveBias(t, stored); err != nil {
		return nil, err
	}
	if err := f.keepTrial(t, stored); err != nil {
		return nil, err
	}
	if err := f.applyAll(ctx, t, stored); err != nil {
		return nil, err
	}
	if err := f.reflect(t, stored); err != nil {
		return nil, err
	}
	stored.Feedback = f.result
	if first == nil {
		stored.Counted = s.Ended != nil && stored.RunID == "" && !stored.At.IsZero()
	}
	if now := stored.ended(r.Session); now != nil && s.Ended != nil {
		if err := s.Ended(t, now, before); err != nil {
			return nil, err
		}
	}
	return f.result, putTurnRecord(t, r.Session, r.Turn, stored)
}
