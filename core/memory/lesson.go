package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// lesson is what a turn teaches, while its feedback is applied.
type lesson struct {
	memories *Memories
	began    time.Time // of the feedback
	turn     core.TurnRef
	outcome  core.Outcome
	source   string
	// used are the memories that were used, and whether somebody named the use.
	used  map[string]bool
	tools map[string][]core.ToolOutcome // by memory
	// first is what the turn's feedback came to before, whose credit is taken back;
	// nil as a rule.
	first *core.FeedbackResult
	// session is what the session has come to.
	session sessionRecord
	result  *core.FeedbackResult
}

// lesson is what a request teaches, whose outcome and source were judged.
func (m *Memories) lesson(r *core.FeedbackRequest, first *core.FeedbackResult, outcome core.Outcome, source string, began time.Time) *lesson {
	l := &lesson{
		memories: m, began: began, turn: core.TurnRef{Session: r.Session, Turn: r.Turn}, outcome: outcome, source: source,
		used: map[string]bool{}, tools: map[string][]core.ToolOutcome{}, first: first,
		result: &core.FeedbackResult{
			Session: r.Session, Turn: r.Turn, Outcome: outcome, Source: source, Items: []core.FeedbackItem{}, Revalidate: []string{},
		},
	}
	for _, id := range r.Assumed {
		l.used[id] = false
	}
	for _, id := range r.Used {
		l.used[id] = true
	}
	if first != nil && len(l.used) == 0 {
		for _, item := range first.Items {
			if item.Used {
				l.used[item.ID] = !item.Assumed
			}
		}
	}
	for _, o := range r.ToolOutcomes {
		l.note(o)
	}
	return l
}

// moveBias brings the outcome to the session's bias, in place of the one before where
// there is one.
func (l *lesson) moveBias(t *tx, record *turnRecord) (err error) {
	if l.first != nil {
		l.session, err = amendBias(t, l.turn.Session, record.Feedbacks, l.first.Outcome, l.outcome)
	} else {
		l.session, err = moveBias(t, l.turn.Session, l.outcome)
		record.Feedbacks = l.session.Feedbacks
	}
	l.result.Bias = l.session.Bias
	return err
}

// note keeps a tool's outcome for its memory, and one that names no memory for
// each that was used. It is of this turn, whatever it says.
func (l *lesson) note(o core.ToolOutcome) {
	ids := []string{o.MemoryID}
	if o.MemoryID == "" {
		ids = slices.Sorted(maps.Keys(l.used))
	}
	o.Session, o.Turn = l.turn.Session, l.turn.Turn
	for _, id := range ids {
		o.MemoryID = id
		l.tools[id] = append(l.tools[id], o)
	}
}

// checkRecalled refuses memories that the turn's recall didn't return.
func (l *lesson) checkRecalled(record *turnRecord) error {
	var strangers []string
	for _, ids := range [][]string{slices.Sorted(maps.Keys(l.used)), slices.Sorted(maps.Keys(l.tools))} {
		for _, id := range ids {
			if record.find(id) == nil && !slices.Contains(strangers, cut(id)) {
				strangers = append(strangers, cut(id))
			}
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	return notRecalled(l.turn, strangers)
}

// notRecalled refuses memories as strangers to a turn.
func notRecalled(turn core.TurnRef, ids []string) error {
	more := ""
	if len(ids) > maxNamed {
		ids, more = ids[:maxNamed], ", …"
	}
	return sdk.Errorf(sdk.Invalid, "not_recalled", "turn %d of session %s didn't recall %s%s", turn.Turn, turn.Session, strings.Join(ids, ", "), more).
		WithHint("name memories that the turn's recall returned").WithDetail("memory_ids", ids)
}

// teachAll applies the turn to all memories that it recalled, and tells of it. What
// came before the gate by it is in the result.
func (l *lesson) teachAll(ctx context.Context, t *tx, record *turnRecord) error {
	byNamespace := map[string][]turnItem{}
	for _, item := range record.Items {
		byNamespace[item.Namespace] = append(byNamespace[item.Namespace], item)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if err := l.teach(ctx, t, namespace, byNamespace[namespace]); err != nil {
			return err
		}
	}
	l.result.Items = l.inOrder(record.Items)
	for _, item := range l.result.Items {
		if item.After == core.StateRevalidatePending && item.Before != item.After {
			l.result.Revalidate = append(l.result.Revalidate, item.ID)
		}
	}
	if len(byNamespace) > 0 || record.Namespace == "" {
		return nil
	}
	number, err := readTurn(t, record.Namespace) // which a turn that found nothing doesn't advance
	if err != nil {
		return err
	}
	return t.record(record.Namespace, l.event(t, number, []core.FeedbackItem{}))
}

// teach applies the turn to the memories of a namespace that it recalled. The first
// feedback of a turn advances the namespace's turn counter.
func (l *lesson) teach(ctx context.Context, t *tx, namespace string, items []turnItem) error {
	count := nextTurn
	if l.first != nil {
		count = func(t *tx, namespace string) (int64, error) { return readTurn(t, namespace) }
	}
	number, err := count(t, namespace)
	if err != nil {
		return err
	}
	e, err := l.memories.evaluation(t, namespace, number, l.turn)
	if err != nil {
		return err
	}
	var done []core.FeedbackItem
	var moved []*change
	for i := range items {
		c, item, err := l.apply(ctx, t, e, &items[i])
		if err != nil {
			return err
		}
		done = append(done, item)
		if c != nil {
			moved = append(moved, c)
		}
	}
	l.result.Items = append(l.result.Items, done...)
	if err := t.record(namespace, l.event(t, number, done), ids(done)...); err != nil {
		return err
	}
	return writeAll(t, moved)
}

// apply makes the change of one memory; none where it is gone.
func (l *lesson) apply(ctx context.Context, t *tx, e *evaluation, item *turnItem) (*change, core.FeedbackItem, error) {
	named, used := l.used[item.ID]
	told := core.FeedbackItem{ID: item.ID, Used: used, Assumed: used && !named, Before: core.StatePurged, After: core.StatePurged}
	before, err := read(t, item.ID)
	if isGone(err) {
		return nil, told, nil
	}
	if err != nil {
		return nil, told, err
	}
	after := *before
	if used {
		told.Weight = item.place().Weight()
		told.Reward = lifecycle.Reward(l.outcome)
	}
	if after.Signals, err = l.credit(t, before, e.number, &told); err != nil {
		return nil, told, err
	}
	event, err := e.decide(ctx, t, &after)
	if err != nil {
		return nil, told, err
	}
	told.Q, told.TTLScore = after.Signals.Q, after.Signals.TTLScore
	told.Before, told.After = before.State, after.State
	return &change{before, &after, event}, told, l.keepEvidence(t, before, used)
}

// credit is what the turn makes of a memory's signals.
func (l *lesson) credit(t *tx, m *core.Memory, number int64, item *core.FeedbackItem) (core.Signals, error) {
	if l.first != nil {
		return l.creditAgain(t, m, item)
	}
	turn := &lifecycle.Turn{
		TurnRef: l.turn, Number: number, Outcome: l.outcome, Used: item.Used, Assumed: item.Assumed, Weight: item.Weight,
	}
	if turn.Used {
		var err error
		if turn.FirstOfSession, turn.FirstNamed, err = noteUser(t, m, l.turn.Session, !item.Assumed); err != nil {
			return m.Signals, err
		}
	}
	return lifecycle.After(m.Signals, turn), nil
}

// creditAgain takes the credit back that the turn gave a memory, and gives it again:
// the signals become what they would be if this had been the turn's only feedback.
// What is computed from its journal, all turns and decisions since then included.
// States aren't undone: the memory moves on from where it is.
func (l *lesson) creditAgain(t *tx, m *core.Memory, item *core.FeedbackItem) (core.Signals, error) {
	history, err := readWholeHistory(t, m.Namespace, m.ID)
	if err != nil {
		return m.Signals, err
	}
	p := newReplay(m.ID)
	p.revise(l.turn, l.outcome, *item)
	p.run(history)
	if err := correctUser(t, m, l.turn.Session, p.sessions); err != nil {
		return m.Signals, err
	}
	s := p.signals
	s.TTLScore = m.Signals.TTLScore
	if p.retained {
		s.LastHitTurn = m.Signals.LastHitTurn
	}
	return s, nil
}

// keepEvidence keeps the outcomes of the tools that a memory had to do with, and
// whether the turn used it, also for outcomes that were recorded before.
func (l *lesson) keepEvidence(t *tx, memory *core.Memory, used bool) error {
	evidence := l.memories.options.Evidence
	if evidence == nil {
		return nil
	}
	if outcomes := l.tools[memory.ID]; len(outcomes) > 0 {
		if _, err := evidence.RecordTools(t.Tx, memory.Namespace, outcomes); err != nil {
			return err
		}
	}
	if !used && l.first == nil {
		return nil // nothing was noted of the turn
	}
	return evidence.Used(t.Tx, memory.Namespace, memory.ID, l.turn, used)
}

func (l *lesson) event(t *tx, number int64, items []core.FeedbackItem) journal.Event {
	return journal.EvolutionApplied{
		SessionID: l.turn.Session, TurnID: l.turn.Turn, Turn: number, Outcome: l.outcome, Source: l.source,
		AgentID: t.Caller().Label, Bias: l.session.Bias, Feedbacks: l.session.Feedbacks, Revised: l.first != nil,
		Formula: lifecycle.Formula, Items: items, LatencyMillis: l.memories.millisSince(l.began),
	}
}

// ids are those of items that aren't gone.
func ids(items []core.FeedbackItem) []string {
	var list []string
	for _, item := range items {
		if item.Before != core.StatePurged {
			list = append(list, item.ID)
		}
	}
	return list
}

// inOrder returns what was done in the order of the turn's results.
func (l *lesson) inOrder(items []turnItem) []core.FeedbackItem {
	done := make([]core.FeedbackItem, 0, len(items))
	for _, item := range items {
		i := slices.IndexFunc(l.result.Items, func(f core.FeedbackItem) bool { return f.ID == item.ID })
		done = append(done, l.result.Items[i])
	}
	return done
}
