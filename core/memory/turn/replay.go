package turn

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// Replay is a memory's state computed from its events. A check compares it with the
// stored record. Feedback that replaces earlier feedback computes the memory's new state in
// this way.
type Replay struct {
	id       string
	State    core.MemoryState
	Moved    bool // whether one of the events was a transition
	signals  core.Signals
	sessions map[string]bool // the sessions that used it, and whether the use was named
	// Before is the state in which it began to wait for the gate.
	Before core.MemoryState
	// revised are the turns whose credit was taken back, with the credit given instead.
	revised map[core.TurnRef]credit
	// undone are the merges that were taken back.
	undone map[mergeRef]bool
	// Rewritten is the first rewriting of the memory's texts and then the last; nil if there was
	// none. Torn is whether a rewriting didn't begin with the texts that the previous one left.
	Rewritten [2]*journal.MemoryRewritten
	Torn      bool
	// FromStart is whether the replay began with the memory's creation.
	FromStart bool
	// Merged is whether another memory was merged into it.
	Merged bool
}

// mergeRef names a step that merged a memory into another.
type mergeRef struct {
	run  string
	step int64
}

// credit is what a turn gave to a memory.
type credit struct {
	outcome core.Outcome
	item    core.FeedbackItem
}

// NewReplay begins to replay a memory's events.
func NewReplay(id string) *Replay {
	return &Replay{
		id: id, State: core.StateOpen, signals: lifecycle.Initial(),
		sessions: map[string]bool{}, revised: map[core.TurnRef]credit{}, undone: map[mergeRef]bool{},
	}
}

// revise replaces the credit that a turn's events give.
func (p *Replay) revise(turn core.TurnRef, outcome core.Outcome, item core.FeedbackItem) {
	p.revised[turn] = credit{outcome, item}
}

// Run applies a history. Feedback that replaced another counts at the time of the first
// one; the credit given to [Replay.revise] replaces both.
func (p *Replay) Run(history []journal.Entry) {
	for i := range slices.Backward(history) {
		if merged, ok := journal.As[journal.MemoryMerged](&history[i]); ok && merged.Undone && merged.MemoryID == p.id {
			p.Unmerge(merged.RunID, merged.Step)
		}
		turn, ok := journal.As[journal.EvolutionApplied](&history[i])
		if !ok || !turn.Revised {
			continue
		}
		by := core.TurnRef{Session: turn.SessionID, Turn: turn.TurnID}
		if _, newer := p.revised[by]; newer {
			continue
		}
		if i := p.find(turn.Items); i >= 0 {
			p.revise(by, turn.Outcome, turn.Items[i])
		}
	}
	p.FromStart = len(history) > 0 && (history[0].Is(journal.MemoryObserved{}) || history[0].Is(journal.MemoryReflected{}))
	for i := range history {
		p.apply(&history[i])
	}
}

func (p *Replay) find(items []core.FeedbackItem) int {
	return slices.IndexFunc(items, func(item core.FeedbackItem) bool { return item.ID == p.id })
}

func (p *Replay) apply(e *journal.Entry) {
	if made, ok := journal.As[journal.MemoryObserved](e); ok && made.MemoryID == p.id {
		p.signals.Window = lifecycle.Written(e.Subject)
	}
	if made, ok := journal.As[journal.MemoryReflected](e); ok && made.MemoryID == p.id {
		p.signals.Window = lifecycle.Written(e.Subject)
	}
	if turn, ok := journal.As[journal.EvolutionApplied](e); ok && !turn.Revised {
		p.turn(&turn, e.Subject)
	}
	if merged, ok := journal.As[journal.MemoryMerged](e); ok && merged.MemoryID == p.id {
		p.merge(&merged)
	}
	if written, ok := journal.As[journal.MemoryRewritten](e); ok && written.MemoryID == p.id {
		if last := p.Rewritten[1]; last == nil {
			p.Rewritten[0] = &written
		} else if last.Title != written.TitleBefore || last.Content != written.ContentBefore {
			p.Torn = true
		}
		p.Rewritten[1] = &written
	}
	if moved, ok := journal.As[journal.MemoryTransitioned](e); ok && moved.MemoryID == p.id {
		p.transition(&moved)
	}
}

// Unmerge leaves out what a step merged into the memory.
func (p *Replay) Unmerge(run string, step int64) { p.undone[mergeRef{run, step}] = true }

// Signals are the memory's signals. Their score isn't computed.
func (p *Replay) Signals() core.Signals { return p.signals }

// merge takes over the uses of another memory.
func (p *Replay) merge(e *journal.MemoryMerged) {
	p.Merged = true
	if e.Undone || e.Signals == nil || p.undone[mergeRef{e.RunID, e.Step}] {
		return
	}
	for session, named := range e.Sessions {
		p.sessions[session] = p.sessions[session] || named
	}
	p.signals = lifecycle.TakeOver(p.signals, *e.Signals, p.sessions)
}

func (p *Replay) turn(e *journal.EvolutionApplied, subject string) {
	i := p.find(e.Items)
	if i < 0 {
		return
	}
	by := core.TurnRef{Session: e.SessionID, Turn: e.TurnID}
	given, revised := p.revised[by]
	if !revised {
		given = credit{e.Outcome, e.Items[i]}
	}
	turn := &lifecycle.Turn{
		TurnRef: by, Number: e.Turn, Outcome: given.outcome,
		Used: given.item.Used, Assumed: given.item.Assumed, Shared: given.item.Shared, Weight: given.item.Weight,
		PassedOver: given.item.PassedOver || e.Formula < lifecycle.PassedFormula,
		Subject:    subject, NoWindow: e.Formula < lifecycle.WindowFormula,
	}
	if turn.Used {
		named, known := p.sessions[e.SessionID]
		turn.FirstOfSession, turn.FirstNamed = !known, !named && !turn.Assumed
		p.sessions[e.SessionID] = named || !turn.Assumed
	}
	p.signals = lifecycle.After(p.signals, turn)
}

func (p *Replay) transition(e *journal.MemoryTransitioned) {
	p.State, p.Moved = e.After, true
	switch {
	case e.Cause == string(lifecycle.ByGate):
		p.decided(e)
	case e.Cause == string(lifecycle.ByDream), e.Cause == string(lifecycle.ByUndo): // they change no signals
	case e.After == core.StateRevalidatePending:
		p.Before = e.Before
	default:
		p.signals = lifecycle.Moved(p.signals, e.Before, e.After)
	}
}

// decided applies a decision of the gate.
func (p *Replay) decided(e *journal.MemoryTransitioned) {
	s, before := &p.signals, p.Before
	s.Gated, s.GatedAt, p.Before = true, s.RelevantTurns, ""
	s.Revalidation, s.GateRest, s.GateEvidence = e.RevalidationScore, e.GateRest, e.GateEvidence
	if e.After != core.StatePromoted {
		s.MissStreak, s.LastHitTurn = 0, e.Turn
		*s = lifecycle.Moved(*s, before, e.After)
	}
}
