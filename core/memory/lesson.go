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
	agentID  string
	used     map[string]bool
	tools    map[string][]core.ToolOutcome // by memory
	result   *core.FeedbackResult
}

// lesson judges a turn and moves its session's bias. What the feedback names
// must have been recalled in the turn.
func (m *Memories) lesson(t *tx, r *core.FeedbackRequest, record *turnRecord) (*lesson, error) {
	outcome, source, err := lifecycle.Judge(r)
	if err != nil {
		return nil, err
	}
	l := &lesson{
		memories: m, turn: core.TurnRef{Session: r.Session, Turn: r.Turn}, outcome: outcome, source: source, agentID: r.AgentID,
		used: map[string]bool{}, tools: map[string][]core.ToolOutcome{},
	}
	for _, id := range r.Used {
		l.used[id] = true
	}
	for _, o := range r.ToolOutcomes {
		l.note(o)
	}
	if err := l.checkRecalled(record); err != nil {
		return nil, err
	}
	bias, err := moveBias(t, r.Session, outcome)
	l.result = &core.FeedbackResult{Session: r.Session, Turn: r.Turn, Outcome: outcome, Bias: bias}
	return l, err
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

// teach applies the turn to the memories of a namespace that it recalled, and
// advances the namespace's turn counter.
func (l *lesson) teach(ctx context.Context, t *tx, namespace string, items []turnItem) error {
	number, err := nextTurn(t, namespace)
	if err != nil {
		return err
	}
	e, err := l.memories.evaluation(t, namespace, number, l.turn, l.agentID)
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
	if err := t.record(namespace, l.event(number, done), ids(done)...); err != nil {
		return err
	}
	return writeAll(t, moved)
}

// apply makes the change of one memory; none where it is gone.
func (l *lesson) apply(ctx context.Context, t *tx, e *evaluation, item *turnItem) (*change, core.FeedbackItem, error) {
	told := core.FeedbackItem{ID: item.ID, Used: l.used[item.ID], Before: core.StatePurged, After: core.StatePurged}
	before, err := read(t, item.ID)
	if isGone(err) {
		return nil, told, nil
	}
	if err != nil {
		return nil, told, err
	}
	turn := &lifecycle.Turn{TurnRef: l.turn, Number: e.number, Outcome: l.outcome, Used: told.Used, Place: item.place()}
	if turn.Used {
		if turn.FirstOfSession, err = noteUser(t, before, l.turn.Session); err != nil {
			return nil, told, err
		}
	}
	after := *before
	after.Signals = lifecycle.After(before.Signals, turn)
	event, err := e.decide(ctx, t, &after)
	if err != nil {
		return nil, told, err
	}
	told.Reward, told.Q, told.TTLScore = turn.Reward(), after.Signals.Q, after.Signals.TTLScore
	told.Before, told.After = before.State, after.State
	return &change{before, &after, event}, told, l.keepEvidence(t, before)
}

// keepEvidence keeps the outcomes of the tools that a memory had to do with.
func (l *lesson) keepEvidence(t *tx, memory *core.Memory) error {
	outcomes := l.tools[memory.ID]
	if len(outcomes) == 0 || l.memories.options.Evidence == nil {
		return nil
	}
	_, err := l.memories.options.Evidence.RecordTools(t.Tx, memory.Namespace, outcomes)
	return err
}

func (l *lesson) event(number int64, items []core.FeedbackItem) journal.Event {
	return journal.EvolutionApplied{
		SessionID: l.turn.Session, TurnID: l.turn.Turn, Turn: number, Outcome: l.outcome, Source: l.source,
		AgentID: l.agentID, Bias: l.result.Bias, Items: items, LatencyMillis: l.memories.millisSince(l.began),
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

// candidates are the memories that a turn made wait for the gate.
func candidates(result *core.FeedbackResult) []string {
	var list []string
	for _, item := range result.Items {
		if item.After == core.StateRevalidatePending && item.Before != item.After {
			list = append(list, item.ID)
		}
	}
	return list
}
