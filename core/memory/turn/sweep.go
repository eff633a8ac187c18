package turn

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// sweepBatch is how many memories one transaction of a sweep evaluates: few enough that
// it rarely conflicts with feedback.
const sweepBatch = 256

// SweepResult is the result of a sweep.
type SweepResult struct {
	Namespace string `json:"namespace"`
	// Turn is the namespace's turn counter.
	Turn      int64 `json:"turn"`
	Evaluated int   `json:"evaluated"`
	// Changed counts the memories whose score or state changed, and Transitions counts
	// transitions by the new state.
	Changed     int                      `json:"changed"`
	Transitions map[core.MemoryState]int `json:"transitions"`
	// Gated counts the gate's decisions by their consequence. Pending are the memories that
	// still wait for the gate: all of them, if the gate is deferred.
	Gated   map[string]int `json:"gated"`
	Pending []string       `json:"pending,omitempty"`
	// Purged has, for each purged memory, what was derived from it.
	Purged []core.GivenTo `json:"purged,omitempty"`
}

// SweepProgress is the progress of a sweep: how many memories it evaluated, and on how many
// the gate decided.
type SweepProgress struct {
	Evaluated, Gated int
}

// Sweep evaluates the memories of a namespace, without the namespaces below it, with the
// retention policy, as feedback does for the memories of its turn.
type Sweep struct {
	// Result is what was done so far. The caller adds what the gate does.
	Result SweepResult
	// Halted is whether the namespace's settings can't be read: that is reported once,
	// and nothing is evaluated.
	Halted bool

	turns    *Turns
	progress func(SweepProgress)
	gated    int
	// moved are the memories whose state changed, so that none is evaluated twice.
	moved map[string]bool
}

// NewSweep begins a sweep of a namespace. It calls progress, unless that is nil, to report
// its progress.
func (s *Turns) NewSweep(namespace string, progress func(SweepProgress)) *Sweep {
	if progress == nil {
		progress = func(SweepProgress) {}
	}
	return &Sweep{
		turns: s, progress: progress, moved: map[string]bool{},
		Result: SweepResult{Namespace: namespace, Transitions: map[core.MemoryState]int{}, Gated: map[string]int{}},
	}
}

// Evaluate evaluates all memories that are open, active or cooling, in transactions of 256.
func (s *Sweep) Evaluate(ctx context.Context) (err error) {
	if s.Result.Turn, err = s.turns.Turn(ctx, s.Result.Namespace); err != nil {
		return err
	}
	for _, state := range []core.MemoryState{core.StateOpen, core.StateActive, core.StateCooling} {
		err := s.pages(ctx, state, func(ids []string) error {
			if s.Halted {
				return nil
			}
			return s.evaluate(ctx, ids)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Waiting calls fn with the ids of the memories that wait for the gate, page by page.
func (s *Sweep) Waiting(ctx context.Context, fn func(ids []string) error) error {
	return s.pages(ctx, core.StateRevalidatePending, fn)
}

// pages calls fn with the ids of the memories in a state, page by page.
func (s *Sweep) pages(ctx context.Context, state core.MemoryState, fn func(ids []string) error) error {
	start := record.IndexStart(record.StatePrefix, s.Result.Namespace, string(state))
	from := start
	for {
		var ids []string
		err := s.turns.View(ctx, func(r core.Reader) error {
			ids = nil
			return r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
				ids = append(ids, record.PlaceID(key[len(start):]))
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
func (s *Sweep) evaluate(ctx context.Context, ids []string) error {
	var b *sweepStep
	err := s.turns.UpdateAsking(ctx, func(t *record.Tx) (err error) {
		b, err = s.step(ctx, t, ids)
		return err
	})
	if err != nil {
		return err
	}
	s.Halted = b.halted
	s.Result.Turn = b.event.Turn
	s.Result.Evaluated += b.event.Evaluated
	s.Result.Changed += b.event.Changed
	for _, c := range b.changes {
		if c.Event != nil {
			s.moved[c.After.ID] = true
			s.Result.Transitions[c.After.State]++
		}
	}
	s.report()
	return nil
}

// Gated counts a decision of the gate by its consequence.
func (s *Sweep) Gated(nextAction string) {
	s.gated++
	s.Result.Gated[nextAction]++
	s.report()
}

func (s *Sweep) report() {
	s.progress(SweepProgress{Evaluated: s.Result.Evaluated, Gated: s.gated})
}

// sweepStep is what one transaction of a sweep does.
type sweepStep struct {
	halted  bool
	event   journal.MemorySwept
	changes []*record.Change
}

func (s *Sweep) step(ctx context.Context, t *record.Tx, ids []string) (*sweepStep, error) {
	number, err := Counter(t, s.Result.Namespace)
	if err != nil {
		return nil, err
	}
	b := &sweepStep{event: journal.MemorySwept{Turn: number, AgentID: t.Caller().Label}}
	e, err := s.turns.newEvaluation(t, s.Result.Namespace, number, core.TurnRef{})
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
		if err := b.sweepOne(ctx, t, e, id); err != nil {
			return nil, err
		}
	}
	if b.event.Changed = len(b.changes); b.event.Changed == 0 {
		return b, nil
	}
	if err := t.Record(s.Result.Namespace, b.event); err != nil {
		return nil, err
	}
	return b, record.WriteAll(t, b.changes)
}

// sweepOne evaluates one memory, if it still exists.
func (b *sweepStep) sweepOne(ctx context.Context, t *record.Tx, e *evaluation, id string) error {
	before, err := record.Read(t, id)
	if record.IsGone(err) {
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
		b.changes = append(b.changes, &record.Change{Before: before, After: &after, Event: moved})
	}
	return nil
}
