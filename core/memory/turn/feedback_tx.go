package turn

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// unusedShare is the share of the best likeness from which a memory is passed over by a turn that failed
// and used none.
const unusedShare = 0.9

// inferredShare is the share of a named use's credit that an inferred one earns.
const inferredShare = 0.5

// feedbackTx applies feedback, in one transaction.
type feedbackTx struct {
	turns   *Turns
	began   time.Time // of the feedback
	turn    core.TurnRef
	outcome core.Outcome
	source  string
	// used are the memories that were used, and whether the use was named; inferred is how strongly
	// the reply shows some of them.
	used     map[string]bool
	inferred map[string]float64
	tools    map[string][]core.ToolOutcome // by memory
	// toolFailed is whether one of the tools failed, without recovery.
	toolFailed bool
	// first is the result of the turn's earlier feedback, whose credit is taken back;
	// usually nil.
	first *core.FeedbackResult
	// offered are the memories that the turn's prompt held, and injected is what events
	// record about its snapshot.
	offered  []turnItem
	injected journal.InjectionInfo
	// deltas are the changes of the q_value of each memory that was used.
	deltas map[string]float64
	// reflection has the texts of the request about the turn.
	reflection Reflection
	// window is the session's window that the turn belongs to.
	window windowRecord
	result *core.FeedbackResult
}

// newFeedbackTx begins to apply a request whose outcome and source have been judged.
func (s *Turns) newFeedbackTx(r *core.FeedbackRequest, inferred map[string]float64, first *core.FeedbackResult, outcome core.Outcome, source string, began time.Time) *feedbackTx {
	f := &feedbackTx{
		turns: s, began: began, turn: core.TurnRef{Session: r.Session, Turn: r.Turn}, outcome: outcome, source: source,
		used: map[string]bool{}, inferred: map[string]float64{}, tools: map[string][]core.ToolOutcome{}, first: first, deltas: map[string]float64{},
		reflection: Reflection{FailureClass: r.FailureClass, CorrectiveAction: r.CorrectiveAction, NextTurnHint: r.NextTurnHint, Summary: r.Summary},
		result: &core.FeedbackResult{
			Session: r.Session, Turn: r.Turn, Outcome: outcome, Source: source, Items: []core.FeedbackItem{}, Revalidate: []string{},
		},
	}
	for _, id := range r.Used {
		f.used[id] = true
	}
	if len(r.Used) == 0 && len(inferred) > 0 {
		f.inferred = inferred
	} else {
		for _, id := range r.Assumed {
			if _, named := f.used[id]; !named {
				f.used[id] = false
			}
		}
	}
	if first != nil && len(f.used)+len(f.inferred) == 0 {
		for _, item := range first.Items {
			switch {
			case item.Inferred > 0:
				f.inferred[item.ID] = item.Inferred
			case item.Used:
				f.used[item.ID] = !item.Assumed
			}
		}
	}
	for id := range f.inferred {
		f.used[id] = false
	}
	for _, o := range r.ToolOutcomes {
		f.toolFailed = f.toolFailed || !o.OK && !o.Recovered
		f.note(o)
	}
	return f
}

// offer finds the memories that the turn offered: the memories in its prompt, if that was
// recorded, otherwise all memories that it recalled. A memory that was left out of the
// prompt doesn't count as a miss. Feedback that replaces earlier feedback is about the same
// memories.
func (f *feedbackTx) offer(t *record.Tx, stored *turnRecord) error {
	f.offered = stored.Items
	if f.first != nil {
		f.offered = slices.DeleteFunc(slices.Clone(stored.Items), func(item turnItem) bool {
			return !slices.ContainsFunc(f.first.Items, func(done core.FeedbackItem) bool { return done.ID == item.ID })
		})
	}
	if f.turns.Injection == nil {
		return nil
	}
	injected, err := f.turns.Injection.Injected(t, f.turn)
	if err != nil || injected == nil {
		return err
	}
	f.injected, f.reflection.SnapshotID = injected.InjectionInfo, injected.SnapshotID
	if f.first == nil {
		f.offered = slices.DeleteFunc(slices.Clone(stored.Items), func(item turnItem) bool { return !slices.Contains(injected.MemoryIDs, item.ID) })
	}
	for id, named := range f.used { // an assumed use can't be wrong
		if !named && !slices.Contains(injected.MemoryIDs, id) {
			delete(f.used, id)
			delete(f.tools, id)
		}
	}
	return nil
}

// moveBias adds the outcome to the window's bias, in place of the earlier outcome if
// there is one.
func (f *feedbackTx) moveBias(t *record.Tx, stored *turnRecord) (err error) {
	if f.first != nil {
		f.window, err = amendBias(t, f.turn.Session, stored.window(), stored.Feedbacks, f.first.Outcome, f.outcome)
	} else {
		f.window, err = moveBias(t, f.turn.Session, stored.window(), f.outcome)
		stored.Feedbacks = f.window.Feedbacks
	}
	f.result.Bias = f.window.Bias
	return err
}

// note records a tool's outcome for its memory, or, if it names no memory, for each
// memory that was used. The outcome belongs to this turn, whatever turn it names.
func (f *feedbackTx) note(o core.ToolOutcome) {
	ids := []string{o.MemoryID}
	if o.MemoryID == "" {
		ids = slices.Sorted(maps.Keys(f.used))
	}
	o.Session, o.Turn = f.turn.Session, f.turn.Turn
	for _, id := range ids {
		o.MemoryID = id
		f.tools[id] = append(f.tools[id], o)
	}
}

// checkRecalled refuses memories that the turn's recall didn't return, or that weren't in
// its prompt.
func (f *feedbackTx) checkRecalled(stored *turnRecord) error {
	var strangers, leftOut []string
	for _, ids := range [][]string{slices.Sorted(maps.Keys(f.used)), slices.Sorted(maps.Keys(f.tools))} {
		for _, id := range ids {
			switch {
			case stored.find(id) == nil:
				strangers = append(strangers, bounds.Shorten(id))
			case !slices.ContainsFunc(f.offered, func(item turnItem) bool { return item.ID == id }):
				leftOut = append(leftOut, bounds.Shorten(id))
			}
		}
	}
	if len(strangers) > 0 {
		return notRecalled(f.turn, distinct(strangers))
	}
	if len(leftOut) > 0 {
		return notInjected(f.turn, f.reflection.SnapshotID, distinct(leftOut))
	}
	return nil
}

// distinct is a list without repetitions, in its order.
func distinct(list []string) (once []string) {
	for _, s := range list {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// notInjected is the error for memories that weren't in the turn's prompt.
func notInjected(turn core.TurnRef, snapshot string, ids []string) error {
	return sdk.Errorf(sdk.Invalid, "not_injected", "%s wasn't in the prompt of turn %d of session %s, so the turn can't have used it", strings.Join(ids[:min(len(ids), bounds.MaxNamed)], ", "), turn.Turn, turn.Session).
		WithHint("name memories that are in the turn's snapshot").WithAction("inject show", "id", snapshot).WithDetail("memory_ids", ids)
}

// notRecalled is the error for memories that the turn didn't recall.
func notRecalled(turn core.TurnRef, ids []string) error {
	more := ""
	if len(ids) > bounds.MaxNamed {
		ids, more = ids[:bounds.MaxNamed], ", …"
	}
	return sdk.Errorf(sdk.Invalid, "not_recalled", "turn %d of session %s didn't recall %s%s", turn.Turn, turn.Session, strings.Join(ids, ", "), more).
		WithHint("name memories that the turn's recall returned").WithDetail("memory_ids", ids)
}

// applyAll applies the turn to all memories that it recalled, and records it. The result
// lists the memories that wait for the gate because of it.
func (f *feedbackTx) applyAll(ctx context.Context, t *record.Tx, stored *turnRecord) error {
	byNamespace := map[string][]turnItem{}
	for _, item := range f.offered {
		byNamespace[item.Namespace] = append(byNamespace[item.Namespace], item)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if err := f.applyIn(ctx, t, namespace, byNamespace[namespace]); err != nil {
			return err
		}
	}
	f.result.Items = f.inOrder(f.offered)
	for _, item := range f.result.Items {
		if toGate(item) {
			f.result.Revalidate = append(f.result.Revalidate, item.ID)
		}
	}
	if len(byNamespace) > 0 || stored.Namespace == "" {
		return nil
	}
	number, err := Counter(t, stored.Namespace) // a turn that found nothing doesn't advance the counter
	if err != nil {
		return err
	}
	return t.Record(stored.Namespace, f.event(t, number, []core.FeedbackItem{}))
}

// applyIn applies the turn to the memories of one namespace that it recalled. The first
// feedback on a turn advances the namespace's turn counter.
func (f *feedbackTx) applyIn(ctx context.Context, t *record.Tx, namespace string, items []turnItem) error {
	count := nextTurn
	if f.first != nil {
		count = func(t *record.Tx, namespace string) (int64, error) { return Counter(t, namespace) }
	}
	number, err := count(t, namespace)
	if err != nil {
		return err
	}
	e, err := f.turns.newEvaluation(t, namespace, number, f.turn)
	if err != nil {
		return err
	}
	var done []core.FeedbackItem
	var moved []*record.Change
	for i := range items {
		c, item, err := f.apply(ctx, t, e, &items[i])
		if err != nil {
			return err
		}
		done = append(done, item)
		if c != nil {
			moved = append(moved, c)
		}
	}
	f.result.Items = append(f.result.Items, done...)
	if err := t.Record(namespace, f.event(t, number, done), ids(done)...); err != nil {
		return err
	}
	if err := record.WriteAll(t, moved); err != nil {
		return err
	}
	return f.reportDue(ctx, t, namespace, number, done)
}

// reportDue reports what is due in a namespace because of the turn.
func (f *feedbackTx) reportDue(ctx context.Context, t *record.Tx, namespace string, number int64, done []core.FeedbackItem) error {
	waiting := slices.ContainsFunc(done, toGate)
	if f.turns.Turned == nil || f.first != nil && !waiting {
		return nil
	}
	return f.turns.Turned(ctx, t, namespace, number, waiting)
}

// toGate reports whether a memory waits for the gate because of the turn.
func toGate(item core.FeedbackItem) bool {
	return item.After == core.StateRevalidatePending && item.Before != item.After
}

// apply makes the change of one memory; nil if it is gone.
func (f *feedbackTx) apply(ctx context.Context, t *record.Tx, e *evaluation, item *turnItem) (*record.Change, core.FeedbackItem, error) {
	named, used := f.used[item.ID]
	done := core.FeedbackItem{ID: item.ID, Used: used, Assumed: used && !named, Shared: named && len(f.used) > 1, PassedOver: !used && f.passedOver(item), Before: core.StatePurged, After: core.StatePurged}
	before, err := record.Read(t, item.ID)
	if record.IsGone(err) {
		return nil, done, nil
	}
	if err != nil {
		return nil, done, err
	}
	after := *before
	if used {
		done.Weight, done.Inferred = item.place().Weight(), f.inferred[item.ID]
		if done.Inferred > 0 {
			done.Weight *= inferredShare
		}
		done.Reward = lifecycle.Reward(f.outcome)
	}
	if after.Signals, err = f.credit(t, before, e.number, &done); err != nil {
		return nil, done, err
	}
	event, err := f.restore(t, e, item, &after)
	if err == nil && event == nil {
		event, err = e.decide(ctx, t, &after)
	}
	if err != nil {
		return nil, done, err
	}
	if delta := after.Signals.Q - before.Signals.Q; delta != 0 {
		f.deltas[item.ID] = delta
	}
	done.Q, done.TTLScore = after.Signals.Q, after.Signals.TTLScore
	done.Before, done.After = before.State, after.State
	return &record.Change{Before: before, After: &after, Event: event}, done, f.keepEvidence(t, before, used)
}

// passedOver reports whether a memory that the turn didn't use was as near to the query as what it
// used, or didn't keep the turn from failing although none was nearer. A success without uses shows
// nothing: many agents don't say what they used.
func (f *feedbackTx) passedOver(item *turnItem) bool {
	best, used := 0.0, 0.0
	for _, other := range f.offered {
		best = max(best, other.Likeness)
		if _, is := f.used[other.ID]; is {
			used = max(used, other.Likeness)
		}
	}
	if len(f.used) == 0 {
		used = unusedShare * best
	}
	return item.Likeness > 0 && item.Likeness >= used && (len(f.used) > 0 || f.outcome == core.OutcomeFailure)
}

// restore makes a memory active again that was found in the archive and used; an assumed use shows
// nothing. It isn't archived before its next recall.
func (f *feedbackTx) restore(t *record.Tx, e *evaluation, item *turnItem, m *core.Memory) (*journal.MemoryTransitioned, error) {
	if !item.Archived || m.State != core.StateArchived || !f.used[m.ID] && f.inferred[m.ID] == 0 || e.governance.Failure != nil {
		return nil, nil
	}
	m.State = core.StateActive
	return &journal.MemoryTransitioned{
		Cause: string(lifecycle.ByRestore), SessionID: f.turn.Session, TurnID: journal.TurnNumber(f.turn.Turn), AgentID: t.Caller().Label,
	}, record.KeepOpen(t, m)
}

// credit computes a memory's signals after the turn.
func (f *feedbackTx) credit(t *record.Tx, m *core.Memory, number int64, item *core.FeedbackItem) (core.Signals, error) {
	if f.first != nil {
		return f.creditAgain(t, m, item)
	}
	turn := &lifecycle.Turn{
		TurnRef: f.turn, Number: number, Outcome: f.outcome, Used: item.Used, Assumed: item.Assumed, Shared: item.Shared, Weight: item.Weight,
		PassedOver: item.PassedOver, Subject: t.Caller().Subject,
	}
	if turn.Used {
		var err error
		if turn.FirstOfSession, turn.FirstNamed, err = noteUser(t, m, f.turn.Session, !item.Assumed); err != nil {
			return m.Signals, err
		}
	}
	return lifecycle.After(m.Signals, turn), nil
}

// creditAgain takes back the credit that the turn gave a memory, and gives it again: the
// signals become what they would be if this had been the turn's only feedback. They are
// computed from the memory's journal, including all turns and decisions since then. Its
// state isn't undone: the memory continues from the state it is in.
func (f *feedbackTx) creditAgain(t *record.Tx, m *core.Memory, item *core.FeedbackItem) (core.Signals, error) {
	history, err := record.ReadWholeHistory(t, m.Namespace, m.ID)
	if err != nil {
		return m.Signals, err
	}
	p := NewReplay(m.ID)
	p.revise(f.turn, f.outcome, *item)
	p.Run(history)
	if err := correctUser(t, m, f.turn.Session, p.sessions); err != nil {
		return m.Signals, err
	}
	s := p.signals
	s.TTLScore = m.Signals.TTLScore
	return s, nil
}

// keepEvidence records the outcomes of the tools that a memory was involved in, and
// whether the turn used it, also for outcomes that were recorded before.
func (f *feedbackTx) keepEvidence(t *record.Tx, memory *core.Memory, used bool) error {
	evidence := f.turns.Evidence
	if evidence == nil {
		return nil
	}
	if outcomes := f.tools[memory.ID]; len(outcomes) > 0 {
		if _, err := evidence.RecordTools(t.Tx, memory.Namespace, outcomes); err != nil {
			return err
		}
	}
	if !used && f.first == nil {
		return nil // no outcome was recorded for the turn
	}
	return evidence.Used(t.Tx, memory.Namespace, memory.ID, f.turn, used)
}

func (f *feedbackTx) event(t *record.Tx, number int64, items []core.FeedbackItem) journal.Event {
	return journal.EvolutionApplied{
		SessionID: f.turn.Session, TurnID: f.turn.Turn, Turn: number, Outcome: f.outcome, Source: f.source,
		AgentID: t.Caller().Label, Bias: f.window.Bias, Feedbacks: f.window.Feedbacks, Revised: f.first != nil,
		Formula: lifecycle.Formula, Items: items, LatencyMillis: f.turns.MillisSince(f.began),
	}
}

// ids are the ids of items that aren't gone.
func ids(items []core.FeedbackItem) []string {
	var list []string
	for _, item := range items {
		if item.Before != core.StatePurged {
			list = append(list, item.ID)
		}
	}
	return list
}

// inOrder returns the items in the order of the turn's results.
func (f *feedbackTx) inOrder(items []turnItem) []core.FeedbackItem {
	done := make([]core.FeedbackItem, 0, len(items))
	for _, item := range items {
		i := slices.IndexFunc(f.result.Items, func(done core.FeedbackItem) bool { return done.ID == item.ID })
		done = append(done, f.result.Items[i])
	}
	return done
}
