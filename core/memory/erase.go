package memory

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// EraseRequest asks for a memory to be erased, such as for a person's right to be
// forgotten, or since it is wrong.
type EraseRequest struct {
	// Reason says why, in up to 1,024 bytes. The decision keeps it.
	Reason string
}

// Erase has the gate purge a memory because somebody asks for it: the request is an
// evidence of both kinds, with which the gate decides by a rule of its own, and what
// follows is a purge like any other. One that is open, active or cooling comes before
// the gate first; that, the decision and the purge are one transaction. It is the only
// way to purge what was archived, consolidated or promoted. With what was promoted goes
// the knowledge that it became.
func (m *Memories) Erase(ctx context.Context, id string, r EraseRequest) (d *core.GateDecision, err error) {
	defer m.follow(&ctx, core.Work{Kind: core.WorkDelete, Name: "erase"}, &err)()
	var p bounds.Problems
	if r.Reason = strings.TrimSpace(r.Reason); r.Reason == "" {
		p.Add("reason", "is blank: an erasure says why")
	}
	p.Over("reason", len(r.Reason), maxReasonBytes, "bytes")
	if err := p.Err(); err != nil {
		return nil, err
	}
	if m.options.Gate == nil {
		return nil, gateMissing()
	}
	v := verdict{request: &RevalidateRequest{}, decisionID: m.options.IDs.NewID()}
	err = m.records.UpdateAsking(ctx, func(ctx context.Context, t *record.Tx) error { return m.erase(ctx, t, id, r.Reason, &v) })
	if err == nil {
		err = v.refusal
	}
	if err != nil {
		return nil, sdk.Wrap("erase memory "+bounds.Shorten(id), err)
	}
	var gone residue
	gone.add(&v)
	return v.decision, sdk.Wrap("erase memory "+bounds.Shorten(id), gone.finish(ctx, m.options.Store))
}

func (m *Memories) erase(ctx context.Context, t *record.Tx, id, reason string, v *verdict) error {
	v.decision, v.refusal = nil, nil
	began := m.options.Clock.Now()
	memory, err := record.Read(t, id)
	if err != nil {
		return err
	}
	c, err := m.gateCase(t, memory, v.request)
	if err != nil {
		return err
	}
	if c.Governance.Failure != nil {
		v.refusal = unreadableSettings(c.Governance)
		return t.Record(memory.Namespace, turn.Halted(c.Governance), id)
	}
	if c.Memory, err = v.summon(t, memory); err != nil {
		return err
	}
	c.Erase = reason
	d, err := m.options.Gate.Decide(ctx, t, c)
	if err != nil {
		return err
	}
	v.latency = m.records.MillisSince(began)
	return m.carryOut(ctx, t, v, c, d)
}

// summon brings a memory that lives before the gate, and returns it as it is then.
// Another is before it, or may be purged where it is, or not at all.
func (v *verdict) summon(t *record.Tx, memory *core.Memory) (*core.Memory, error) {
	switch memory.State {
	case core.StateRevalidatePending, core.StateArchived, core.StateConsolidated, core.StatePromoted:
		return memory, lifecycle.Check(memory.State, core.StatePurged, lifecycle.ByGate)
	}
	if err := lifecycle.Check(memory.State, core.StateRevalidatePending, lifecycle.ByErasure); err != nil {
		return nil, err
	}
	after := *memory
	after.State, after.StateBefore = core.StateRevalidatePending, memory.State
	err := record.Transition(t, memory, &after, journal.MemoryTransitioned{
		Cause: string(lifecycle.ByErasure), AgentID: t.Caller().Label, Formula: lifecycle.Formula,
	})
	return &after, err
}
