package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// sweepBatch is how many memories one transaction of a sweep evaluates: few
// enough that it seldom meets a feedback.
const sweepBatch = 256

// SweepResult is what a sweep came to.
type SweepResult struct {
	Namespace string `json:"namespace"`
	// Turn is the namespace's turn counter.
	Turn      int64 `json:"turn"`
	Evaluated int   `json:"evaluated"`
	// Changed counts the memories whose score or state changed, Transitions the
	// states that they came into.
	Changed     int                      `json:"changed"`
	Transitions map[core.MemoryState]int `json:"transitions"`
	// Gated counts the gate's decisions by what followed. Pending are the memories
	// that wait for the gate still: all that do, where it is deferred.
	Gated   map[string]int `json:"gated"`
	Pending []string       `json:"pending,omitempty"`
	// Purged names, for each memory that was purged, who was given it.
	Purged []core.GivenTo `json:"purged,omitempty"`
}

// Sweep evaluates the memories of a namespace, those below it not included, by
// the retention policy, as a feedback does for those that it touches.
// It works in transactions of 256 memories and may be repeated at any time: what
// it did isn't done again.
//
// Memories that wait for the gate are decided on, those too that a crash left
// waiting, unless [Options.DeferGate] leaves that to the caller. An error comes with what
// was done until then; see [Memories.Revalidate] for what a purge may leave.
func (m *Memories) Sweep(ctx context.Context, namespace string) (*SweepResult, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := &sweep{
		memories: m, moved: map[string]bool{},
		result: SweepResult{Namespace: namespace, Transitions: map[core.MemoryState]int{}, Gated: map[string]int{}},
	}
	err := s.run(ctx)
	return &s.result, sdk.Wrap("sweep namespace "+namespace, err)
}

// sweep is a sweep under way.
type sweep struct {
	memories *Memories
	// moved are the memories that came into another state, so that none is
	// evaluated twice.
	moved map[string]bool
	// halted is whether the namespace's settings can't be read: that is reported once,
	// and nothing is evaluated.
	halted bool
	gone   residue
	result SweepResult
}

func (s *sweep) run(ctx context.Context) (err error) {
	if s.result.Turn, err = s.memories.Turn(ctx, s.result.Namespace); err != nil {
		return err
	}
	for _, state := range []core.MemoryState{core.StateOpen, core.StateActive, core.StateCooling} {
		err := s.pages(ctx, state, func(ids []string) error {
			if s.halted {
				return nil
			}
			return s.evaluate(ctx, ids)
		})
		if err != nil {
			return err
		}
	}
	err = s.pages(ctx, core.StateRevalidatePending, func(ids []string) error { return s.gate(ctx, ids) })
	s.result.Purged = s.gone.given
	if finished := s.gone.finish(ctx, s.memories.options.Store); err == nil {
		err = finished
	}
	return err
}

// pages calls fn with the ids of the memories in a state, page by page.
func (s *sweep) pages(ctx context.Context, state core.MemoryState, fn func(ids []string) error) error {
	start := indexStart(statePrefix, s.result.Namespace, string(state))
	from := start
	for {
		var ids []string
		err := s.memories.options.Store.View(ctx, func(r core.Reader) error {
			ids = nil
			return r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
				ids = append(ids, placeID(key[len(start):]))
				from = append(append([]byte(nil), key...), 0)
				return len(ids) < sweepBatch, nil
			})
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := fn(ids); err != nil {
			return err
		}
	}
}

// evaluate evaluates memories in one transaction.
func (s *sweep) evaluate(ctx context.Context, ids []string) error {
	var b *sweepStep
	err := s.memories.updateAsking(ctx, func(ctx context.Context, t *tx) (err error) {
		b, err = s.step(ctx, t, ids)
		return err
	})
	if err != nil {
		return err
	}
	s.halted = b.halted
	s.result.Turn = b.event.Turn
	s.result.Evaluated += b.event.Evaluated
	s.result.Changed += b.event.Changed
	for _, c := range b.changes {
		if c.event != nil {
			s.moved[c.after.ID] = true
			s.result.Transitions[c.after.State]++
		}
	}
	return nil
}

// sweepStep is what one transaction of a sweep does.
type sweepStep struct {
	halted  bool
	event   journal.MemorySwept
	changes []*change
}

func (s *sweep) step(ctx context.Context, t *tx, ids []string) (*sweepStep, error) {
	number, err := readTurn(t, s.result.Namespace)
	if err != nil {
		return nil, err
	}
	b := &sweepStep{event: journal.MemorySwept{Turn: number, AgentID: t.Caller().Label}}
	e, err := s.memories.evaluation(t, s.result.Namespace, number, core.TurnRef{})
	if err != nil {
		return nil, err
	}
	if b.halted = e.governance.Failure != nil; b.halted {
		return b, nil
	}
	for _, id := range ids {
		if s.moved[id] {
			continue
		}
		if err := b.look(ctx, t, e, id); err != nil {
			return nil, err
		}
	}
	if b.event.Changed = len(b.changes); b.event.Changed == 0 {
		return b, nil
	}
	if err := t.record(s.result.Namespace, b.event); err != nil {
		return nil, err
	}
	return b, writeAll(t, b.changes)
}

// look evaluates one memory, if it is still there.
func (b *sweepStep) look(ctx context.Context, t *tx, e *evaluation, id string) error {
	before, err := read(t, id)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	after := *before
	moved, err := e.decide(ctx, t, &after)
	if err != nil {
		return err
	}
	b.event.Evaluated++
	if moved != nil || after.Signals.TTLScore != before.Signals.TTLScore {
		b.changes = append(b.changes, &change{before, &after, moved})
	}
	return nil
}

// gate lets the gate decide on memories that wait for it.
func (s *sweep) gate(ctx context.Context, ids []string) error {
	if s.memories.options.Gate == nil || s.memories.options.DeferGate || s.halted {
		s.result.Pending = append(s.result.Pending, ids...)
		return nil
	}
	for _, id := range ids {
		d, err := s.memories.revalidate(ctx, id, &RevalidateRequest{}, &s.gone)
		switch {
		case sdk.ReasonOf(err) == unreadableReason:
			s.result.Pending = append(s.result.Pending, id)
		case left(err):
		case err != nil:
			return sdk.Wrap("gate of memory "+id, err)
		default:
			s.result.Gated[d.NextAction]++
		}
	}
	return nil
}
