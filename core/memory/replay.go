package memory

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// replay is what a memory's events make of it. A check compares it with what is
// stored, and a feedback that takes the place of another computes from it what the
// memory would be.
type replay struct {
	id       string
	state    core.MemoryState
	moved    bool // whether a transition was among them
	signals  core.Signals
	sessions map[string]bool // that used it, and whether one named a use
	// retained is whether a retain of an early store, whose event doesn't say the turn,
	// came after the last use; before is the state in which it began to wait for the
	// gate.
	retained bool
	before   core.MemoryState
	// revised are the turns whose credit was taken back, with what was given in its
	// place.
	revised map[core.TurnRef]credit
}

// credit is what a turn gave a memory.
type credit struct {
	outcome core.Outcome
	item    core.FeedbackItem
}

func newReplay(id string) *replay {
	return &replay{
		id: id, state: core.StateOpen, signals: lifecycle.Initial(),
		sessions: map[string]bool{}, revised: map[core.TurnRef]credit{},
	}
}

// revise has a turn give other credit than its events say.
func (p *replay) revise(turn core.TurnRef, outcome core.Outcome, item core.FeedbackItem) {
	p.revised[turn] = credit{outcome, item}
}

// run applies a history. A feedback that took the place of another counts at the time
// of the first one; what [replay.revise] was given counts above both.
func (p *replay) run(history []journal.Entry) {
	for i := range slices.Backward(history) {
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
	for i := range history {
		p.apply(&history[i])
	}
}

func (p *replay) find(items []core.FeedbackItem) int {
	return slices.IndexFunc(items, func(item core.FeedbackItem) bool { return item.ID == p.id })
}

func (p *replay) apply(e *journal.Entry) {
	if turn, ok := journal.As[journal.EvolutionApplied](e); ok && !turn.Revised {
		p.turn(&turn)
	}
	if moved, ok := journal.As[journal.MemoryTransitioned](e); ok && moved.MemoryID == p.id {
		p.transition(&moved)
	}
}

func (p *replay) turn(e *journal.EvolutionApplied) {
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
		Used: given.item.Used, Assumed: given.item.Assumed, Weight: given.item.Weight, Early: e.Formula == 0,
	}
	if turn.Used {
		named, known := p.sessions[e.SessionID]
		turn.FirstOfSession, turn.FirstNamed = !known, !named && !turn.Assumed
		p.sessions[e.SessionID], p.retained = named || !turn.Assumed, false
	}
	p.signals = lifecycle.After(p.signals, turn)
	if turn.Used && turn.Weight == 0 { // events of before don't say where the recall put it
		p.signals.Q = given.item.Q
	}
}

func (p *replay) transition(e *journal.MemoryTransitioned) {
	p.state, p.moved = e.After, true
	early := e.Formula == 0
	switch {
	case e.Cause == string(lifecycle.ByGate):
		p.decided(e, early)
	case early: // nothing else moved signals, and the state before wasn't kept
	case e.After == core.StateRevalidatePending:
		p.before = e.Before
	default:
		p.signals = lifecycle.Moved(p.signals, e.Before, e.After)
	}
}

// decided applies a decision of the gate.
func (p *replay) decided(e *journal.MemoryTransitioned, early bool) {
	s, before := &p.signals, p.before
	s.Gated, s.GatedAt, p.before = true, s.RelevantTurns, ""
	if !early {
		s.Revalidation, s.GateRest, s.GateEvidence = e.RevalidationScore, e.GateRest, e.GateEvidence
	}
	switch {
	case e.After == core.StatePromoted:
	case early:
		s.MissStreak, s.Revalidation, p.retained = 0, &e.Confidence, true
	default:
		s.MissStreak, s.LastHitTurn = 0, e.Turn
		*s = lifecycle.Moved(*s, before, e.After)
	}
}
