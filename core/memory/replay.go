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
	retained bool            // whether a retain came after the last use
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
		Used: given.item.Used, Assumed: given.item.Assumed, Weight: given.item.Weight,
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
	switch {
	case e.Cause != string(lifecycle.ByGate):
	case e.After == core.StatePromoted:
		p.signals = lifecycle.Decided(p.signals)
	default:
		p.signals = lifecycle.Retained(p.signals, 0, e.Confidence)
		p.retained = true
	}
}
