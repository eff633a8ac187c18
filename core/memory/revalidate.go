package memory

import (
	"context"
	"errors"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// RevalidateRequest has what the caller knows about a memory when asking the gate.
type RevalidateRequest struct {
	// DryRun decides without writing anything; the decision then has no id.
	DryRun bool
	// Omega are factors that callers or plugins know, and Notes a line for each.
	Omega policypoint.OmegaFactors
	Notes []string
	// Turn is the turn whose feedback made the memory wait, if that is known, for the
	// events.
	Turn core.TurnRef
}

// Revalidate asks the gate about a memory that waits for it, records the decision, and
// carries it out: the memory is retained, becomes knowledge, or is purged. Evidence,
// decision and consequence are one transaction. Nothing else purges or promotes a memory.
//
// If the memory is in another state, the error is sdk.Conflict, reason "state_conflict".
// If its namespace's settings can't be read, it is sdk.Denied, "governance_unreadable".
// If both a decision and an error are returned, the memory was purged, but files of the
// store still hold its data: reasons "purge_held" and "purge_unfinished".
func (g *Gate) Revalidate(ctx context.Context, id string, r RevalidateRequest) (*verdict.GateDecision, error) {
	var p bounds.Problems
	if r.Turn != (core.TurnRef{}) {
		p.Turn(r.Turn.Session, r.Turn.Turn)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	var gone purgedFiles
	d, err := g.revalidate(ctx, id, &r, &gone)
	if err == nil {
		err = gone.finish(ctx, g.options.Store)
	}
	return d, sdk.Wrap("revalidate memory "+bounds.Shorten(id), err)
}

// gateAfter lets the gate decide on the memories that wait for it after a turn, and returns
// what it purged. It skips a memory on which another call has decided meanwhile.
func (g *Gate) gateAfter(ctx context.Context, r *core.FeedbackRequest, ids []string) ([]core.GivenTo, error) {
	if g.options.Gate == nil {
		return nil, nil
	}
	request := &RevalidateRequest{Turn: core.TurnRef{Session: r.Session, Turn: r.Turn}}
	var gone purgedFiles
	for _, id := range ids {
		if _, err := g.revalidate(ctx, id, request, &gone); err != nil && !isSkipped(err) {
			return gone.given, errors.Join(sdk.Wrap("gate of memory "+id, err), gone.finish(ctx, g.options.Store))
		}
	}
	return gone.given, gone.finish(ctx, g.options.Store)
}

// isSkipped reports whether an error means that a memory is skipped: it no longer waits for
// the gate, or its namespace's settings can't be read.
func isSkipped(err error) bool {
	reason := sdk.ReasonOf(err)
	return reason == "state_conflict" || reason == unreadableReason || record.IsGone(err)
}

const unreadableReason = "governance_unreadable"

// revalidate is [Gate.Revalidate] with a checked request. A purge is noted in gone,
// which the caller finishes.
func (g *Gate) revalidate(ctx context.Context, id string, r *RevalidateRequest, gone *purgedFiles) (*verdict.GateDecision, error) {
	if g.options.Gate == nil {
		return nil, gateMissing()
	}
	if r.DryRun {
		_, d, err := g.dryRun(ctx, id, r)
		return d, err
	}
	summary, err := g.summarize(ctx, id, r)
	if err != nil {
		return nil, err
	}
	made := conclusion{request: r, summary: summary, decisionID: g.options.IDs.NewID(), knowledgeID: g.options.IDs.NewID()}
	err = g.records.UpdateAsking(ctx, func(t *record.Tx) error { return g.conclude(ctx, t, id, &made) })
	if err != nil {
		return nil, err
	}
	gone.add(&made)
	return made.decision, made.refusal
}

// dryRun lets the gate decide without writing anything.
func (g *Gate) dryRun(ctx context.Context, id string, r *RevalidateRequest) (c *verdict.GateCase, d *verdict.GateDecision, err error) {
	err = g.records.View(ctx, func(reader core.Reader) error {
		c, d, err = g.decide(ctx, policypoint.Unrecorded{Reader: reader}, id, r)
		return err
	})
	return c, d, err
}

// decide lets the gate decide on a memory that waits for it.
func (g *Gate) decide(ctx context.Context, r core.Reader, id string, request *RevalidateRequest) (*verdict.GateCase, *verdict.GateDecision, error) {
	memory, err := record.Read(r, id)
	if err != nil {
		return nil, nil, err
	}
	if memory.State != core.StateRevalidatePending {
		return nil, nil, sdk.Errorf(sdk.Conflict, "state_conflict", "memory %s is %s: the gate only decides on a memory that is %s", id, memory.State, core.StateRevalidatePending).
			WithHint("its use decides when it comes to the gate; see why it is in its state").WithAction("memory explain", "id", id).
			WithDetail("memory_id", id).WithDetail("state", memory.State)
	}
	c, err := g.newCase(r, memory, request)
	if err != nil {
		return nil, nil, err
	}
	if c.Governance.Failure != nil {
		return c, nil, unreadableSettings(c.Governance)
	}
	if memory.StateBefore == core.StatePromoted {
		return c, demotion(memory, c.Effect), nil
	}
	d, err := g.options.Gate.Decide(ctx, r, c)
	if err == nil {
		err = ctx.Err() // a gate that was stopped didn't decide on the memory
	}
	return c, d, err
}

// unreadableSettings refuses a transition if a namespace's settings can't be read, to be
// safe.
func unreadableSettings(g *core.Governance) error {
	return sdk.Errorf(sdk.Denied, unreadableReason, "no memory of namespace %s may change its state: its settings can't be read: %w", g.Namespace, g.Failure).
		WithHint("set them again; see which settings these are").WithAction("governance explain", "namespace", g.Namespace).
		WithDetail("namespace", g.Namespace)
}

// conclusion is a decision of the gate while it is carried out.
type conclusion struct {
	request                 *RevalidateRequest
	summary                 summary
	decisionID, knowledgeID string
	// memory is the memory before the decision, and after the memory after it, at a turn of
	// its namespace.
	memory, after *core.Memory
	turn          int64
	decision      *verdict.GateDecision
	latency       float64 // of the gate, in milliseconds
	// with are the purges of memories that were merged into the memory.
	with []*conclusion
	// refusal is why there is no decision, if the transaction is committed anyway.
	refusal error
}

// conclude lets the gate decide within a transaction, records the decision, and carries
// it out.
func (g *Gate) conclude(ctx context.Context, t *record.Tx, id string, v *conclusion) error {
	v.decision, v.refusal, v.with = nil, nil, nil
	began := g.options.Clock.Now()
	c, d, err := g.decide(ctx, t, id, v.request)
	if sdk.ReasonOf(err) == unreadableReason {
		v.refusal = err
		return t.Record(c.Memory.Namespace, turn.Halted(c.Governance), id)
	}
	if err != nil {
		return err
	}
	v.latency = g.records.MillisSince(began)
	return g.carryOut(ctx, t, v, c, d)
}

// carryOut records a decision and its consequences.
func (g *Gate) carryOut(ctx context.Context, t *record.Tx, v *conclusion, c *verdict.GateCase, d *verdict.GateDecision) (err error) {
	made := *d
	made.ID, made.MemoryID, made.Namespace = v.decisionID, c.Memory.ID, c.Memory.Namespace
	v.decision, v.memory, v.turn = &made, c.Memory, c.Turn
	if v.after, err = g.settled(ctx, t, c, d, v.request); err != nil {
		return err
	}
	if err := lifecycle.Check(v.memory.State, v.after.State, lifecycle.ByGate); err != nil {
		return err
	}
	if err := v.record(t); err != nil {
		return err
	}
	switch d.NextAction {
	case verdict.NextPromote:
		return v.promote(t)
	case verdict.NextPurge:
		return v.writePurge(t, &g.options)
	case verdict.NextDemote:
		return v.demote(t)
	}
	return record.Transition(t, v.memory, v.after, v.transitioned(t))
}

// settled is the memory after a decision. A retained memory returns to its earlier state
// with a new score, so that evaluating it again changes nothing.
func (g *Gate) settled(ctx context.Context, reader core.Reader, c *verdict.GateCase, d *verdict.GateDecision, r *RevalidateRequest) (*core.Memory, error) {
	after := *c.Memory
	after.StateBefore = ""
	left := lifecycle.Decision{
		Utility: d.Numbers.Utility, Evidence: d.Evidence,
		Fresh: d.Evidence != after.Signals.GateEvidence || r.Omega != policypoint.OmegaFactors{},
	}
	switch d.NextAction {
	case verdict.NextPurge:
		after.State = core.StatePurged
	case verdict.NextPromote:
		after.State, after.Signals = core.StatePromoted, lifecycle.Decided(after.Signals, left)
	case verdict.NextDemote:
		after.State, after.PromotedTo = core.StateCooling, ""
		after.Signals = lifecycle.Moved(lifecycle.Retained(after.Signals, c.Turn, left), core.StatePromoted, after.State)
	case verdict.NextRetain:
		if c.Memory.StateBefore == core.StatePromoted {
			after.State, after.Signals = core.StatePromoted, lifecycle.Decided(after.Signals, left)
			break
		}
		after.Signals = lifecycle.Retained(after.Signals, c.Turn, left)
		score, err := g.turns.Score(ctx, reader, c.Governance, c.Turn, &after)
		if err != nil {
			return nil, err
		}
		before := c.Memory.StateBefore
		after.Signals.TTLScore = score
		after.State = lifecycle.AfterRetain(before, score, c.Governance.Retention)
		after.Signals = lifecycle.Moved(after.Signals, before, after.State)
	default:
		return nil, sdk.Errorf(sdk.Internal, "decision_invalid", "the gate's next action is %q, not %s, %s or %s", d.NextAction, verdict.NextRetain, verdict.NextPromote, verdict.NextPurge).
			WithHint("this is a defect of the gate; please report it")
	}
	return &after, nil
}

// gated has the fields that all events of the decision share.
func (v *conclusion) gated() journal.Gated {
	d := v.decision
	return journal.Gated{
		MemoryID: d.MemoryID, DecisionID: d.ID, Verdict: d.Verdict, Confidence: d.Confidence,
		Before: v.memory.State, After: v.after.State, TTLScore: v.memory.Signals.TTLScore,
		SessionID: v.request.Turn.Session, TurnID: journal.TurnNumber(v.request.Turn.Turn),
	}
}

// transitioned is the event of the decision's transition.
func (v *conclusion) transitioned(t *record.Tx) journal.MemoryTransitioned {
	d, s := v.decision, &v.after.Signals
	return journal.MemoryTransitioned{
		Cause: string(lifecycle.ByGate), SessionID: v.request.Turn.Session, TurnID: journal.TurnNumber(v.request.Turn.Turn), AgentID: t.Caller().Label,
		Policy: d.Policy.Digest, Rule: d.Policy.Rule, DecisionID: d.ID, Verdict: d.Verdict, Confidence: d.Confidence,
		Turn: v.turn, RevalidationScore: s.Revalidation, GateRest: s.GateRest, GateEvidence: s.GateEvidence, Formula: lifecycle.Formula,
	}
}
