package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// Feedback says how a turn went, and lets the memories that its recall returned
// learn from it: one commit for all of them, their bias, their signals and their
// states (spec 3.4, 3.6). The outcome is the one that the best evidence of the
// request shows, see [lifecycle.Judge].
//
// A second feedback of a turn changes nothing and returns the first result, with
// Duplicate. A turn without a recall is sdk.NotFound, reason "turn_not_found".
//
// Memories that became candidates for the gate are decided on right after the
// commit, each in a transaction of its own, unless [Options.DeferGate] leaves
// that to the caller. An error of the gate comes after the commit: the same call
// again goes on with the gate.
func (m *Memories) Feedback(ctx context.Context, r *core.FeedbackRequest) (*core.FeedbackResult, error) {
	if err := checkFeedback(r); err != nil {
		return nil, err
	}
	began := m.options.Clock.Now()
	var result *core.FeedbackResult
	var ungated []string
	err := m.updateAsking(ctx, func(ctx context.Context, t *tx) (err error) {
		result, ungated, err = m.feedback(ctx, t, r, began)
		return err
	})
	if err == nil && !m.options.DeferGate {
		err = m.gateAfter(ctx, r, result, ungated)
	}
	if err != nil {
		return nil, sdk.Wrap(fmt.Sprintf("feedback of turn %d of session %s", r.Turn, r.Session), err)
	}
	return result, nil
}

// checkFeedback tells all that is wrong with a request.
func checkFeedback(r *core.FeedbackRequest) error {
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
	p.over("used", len(r.Used), maxTurnItems, "memories")
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
			n += max(1, len(r.Used))
		}
	}
	return n
}

// feedback applies a feedback, which began at the given time, within a transaction.
// It also returns which memories wait for the gate because of this turn.
func (m *Memories) feedback(ctx context.Context, t *tx, r *core.FeedbackRequest, began time.Time) (*core.FeedbackResult, []string, error) {
	record, err := readTurnRecord(t, r.Session, r.Turn)
	switch {
	case err != nil:
		return nil, nil, err
	case record == nil:
		return nil, nil, sdk.Errorf(sdk.NotFound, "turn_not_found", "session %s has no turn %d", r.Session, r.Turn).
			WithHint("a turn begins with: reflectory memory recall --session %s --turn %d --namespace NAMESPACE QUERY", r.Session, r.Turn)
	case record.Feedback != nil:
		return repeated(t, record)
	}
	l, err := m.lesson(t, r, record)
	if err != nil {
		return nil, nil, err
	}
	l.began = began
	byNamespace := map[string][]turnItem{}
	for _, item := range record.Items {
		byNamespace[item.Namespace] = append(byNamespace[item.Namespace], item)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if err := l.teach(ctx, t, namespace, byNamespace[namespace]); err != nil {
			return nil, nil, err
		}
	}
	l.result.Items = l.inOrder(record.Items)
	record.Feedback = l.result
	return l.result, candidates(l.result), putTurnRecord(t, r.Session, r.Turn, record)
}

// repeated is the first result of a turn, and which of its candidates the gate
// hasn't seen, as after a crash right after the feedback's commit.
func repeated(t *tx, record *turnRecord) (*core.FeedbackResult, []string, error) {
	result := record.Feedback
	result.Duplicate = true
	waiting := candidates(result)
	for _, id := range record.Decisions {
		d, err := readDecision(t, id)
		if err != nil {
			return nil, nil, err
		}
		result.Decisions = append(result.Decisions, d)
		waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == d.MemoryID })
	}
	return result, waiting, nil
}
