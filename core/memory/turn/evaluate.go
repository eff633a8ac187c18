package turn

import (
	"context"
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// evaluation asks the retention policy about memories of one namespace, within
// one transaction.
type evaluation struct {
	policy     policypoint.RetentionPolicy
	governance *core.Governance
	// number is the namespace's turn counter.
	number int64
	// by is the turn that led to the evaluation, zero in a sweep.
	by core.TurnRef
}

// newEvaluation prepares to evaluate memories of a namespace. If its settings can't be
// read, that is reported once, and no memory changes its state.
func (s *Turns) newEvaluation(t *record.Tx, namespace string, number int64, by core.TurnRef) (*evaluation, error) {
	g, err := s.Governance(t, namespace)
	if err != nil {
		return nil, err
	}
	if g.Failure != nil {
		err = t.Record(namespace, Halted(g))
	}
	return &evaluation{policy: s.Retention, governance: g, number: number, by: by}, err
}

// Halted is the event of a namespace whose settings can't be read.
func Halted(g *core.Governance) journal.Event {
	return journal.LifecycleHalted{Level: g.DecidedBy, Code: sdk.ReasonOf(g.Failure)}
}

// shown is what the trial of a memory came to, where its namespace experiments; "" elsewhere.
func (e *evaluation) shown(t *record.Tx, m *core.Memory) (string, error) {
	if e.governance.Experiment != core.ExperimentOn || e.governance.Failure != nil {
		return "", nil
	}
	of, err := record.ReadTrial(t, m.ID)
	if err != nil {
		return "", err
	}
	return of.Verdict, nil
}

// toGate has a memory wait for the gate, whatever the policy.
func (e *evaluation) toGate(t *record.Tx, m *core.Memory) *journal.MemoryTransitioned {
	m.StateBefore, m.State = m.State, core.StateRevalidatePending
	return &journal.MemoryTransitioned{
		Cause: string(lifecycle.ByRetention), SessionID: e.by.Session, TurnID: journal.TurnNumber(e.by.Turn), AgentID: t.Caller().Label, Formula: lifecycle.Formula,
	}
}

// decide sets the score that the policy gives a memory and returns its transition; nil if
// its state stays. A transition that the policy may not ask for is only recorded in the
// journal. A memory that would wait for the gate again too soon keeps its state. Knowledge waits for the
// gate if its last uses failed, or it is shown not to help, whatever the policy; so does what is shown to help.
func (e *evaluation) decide(ctx context.Context, t *record.Tx, memory *core.Memory) (*journal.MemoryTransitioned, error) {
	shown, err := e.shown(t, memory)
	if err != nil {
		return nil, err
	}
	if _, _, fallen := lifecycle.Fallen(memory.Signals.Window); (fallen || shown == core.EffectNone) && memory.State == core.StatePromoted && e.governance.Failure == nil {
		return e.toGate(t, memory), nil
	}
	if e.policy == nil || e.governance.Failure != nil || !lifecycle.Evaluated(memory.State) {
		return nil, nil
	}
	out := e.policy.Retention(ctx, t, lifecycle.RetentionInput(memory, e.number, e.governance.Retention))
	if err := ctx.Err(); err != nil {
		return nil, err // a policy that was stopped didn't decide on the memory
	}
	if out.Decision.Failure != nil {
		return nil, nil
	}
	refusal := e.check(memory, &out)
	if refusal != nil {
		return nil, t.Record(memory.Namespace, journal.LifecycleRefused{
			MemoryID: memory.ID, State: memory.State, Wanted: out.State, Code: sdk.ReasonOf(refusal),
			File: out.Decision.File, Digest: out.Decision.Digest,
		}, memory.ID)
	}
	memory.Signals.TTLScore = out.TTLScore
	if shown == core.EffectHelps && memory.State != core.StateRevalidatePending && lifecycle.Rested(&memory.Signals) {
		return e.toGate(t, memory), nil
	}
	tooSoon := out.State == string(core.StateRevalidatePending) && !lifecycle.Rested(&memory.Signals)
	if out.State == string(memory.State) || tooSoon {
		return nil, nil
	}
	before, after := memory.State, core.MemoryState(out.State)
	if memory.State = after; after == core.StateRevalidatePending {
		memory.StateBefore = before
	} else {
		memory.Signals = lifecycle.Moved(memory.Signals, before, after)
	}
	return &journal.MemoryTransitioned{
		Cause: string(lifecycle.ByRetention), SessionID: e.by.Session, TurnID: journal.TurnNumber(e.by.Turn), AgentID: t.Caller().Label,
		Policy: out.Decision.Digest, Rule: out.Decision.Rule, Formula: lifecycle.Formula,
	}, nil
}

// Score is the policy's score of a memory now, at a turn of its namespace, without any
// transition or record: the last score if there is no policy, or it fails.
func (s *Turns) Score(ctx context.Context, r core.Reader, g *core.Governance, number int64, memory *core.Memory) (float64, error) {
	if s.Retention == nil {
		return memory.Signals.TTLScore, nil
	}
	out := s.Retention.Retention(ctx, policypoint.Unrecorded{Reader: r}, lifecycle.RetentionInput(memory, number, g.Retention))
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if out.Decision.Failure != nil || math.IsNaN(out.TTLScore) || math.IsInf(out.TTLScore, 0) {
		return memory.Signals.TTLScore, nil
	}
	return out.TTLScore, nil
}

// check refuses an outcome that a policy may not return.
func (e *evaluation) check(memory *core.Memory, out *policypoint.RetentionOutcome) error {
	if math.IsNaN(out.TTLScore) || math.IsInf(out.TTLScore, 0) {
		return sdk.Errorf(sdk.Invalid, "score_invalid", "the retention policy %s gave a score of %v", out.Decision.File, out.TTLScore).
			WithHint("check that the policy doesn't divide by a number that can be 0")
	}
	if out.State == string(memory.State) {
		return nil
	}
	return lifecycle.Check(memory.State, core.MemoryState(out.State), lifecycle.ByRetention)
}
