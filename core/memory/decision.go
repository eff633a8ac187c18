package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// record writes a decision with its events.
func (v *conclusion) record(t *record.Tx) error {
	d := v.decision
	digest, err := record.PutDecision(t, d)
	if err != nil {
		return err
	}
	started := journal.RevalidateStarted{
		MemoryID: d.MemoryID, Before: v.memory.State, After: v.memory.State, TTLScore: v.memory.Signals.TTLScore,
		SessionID: v.request.Turn.Session, TurnID: journal.TurnNumber(v.request.Turn.Turn), AgentID: t.Caller().Label,
	}
	if err := t.Record(d.Namespace, started, d.MemoryID); err != nil {
		return err
	}
	made := journal.RevalidateDecision{Gated: v.gated(), NextAction: d.NextAction, Decision: digest, LatencyMillis: v.latency}
	return t.Record(d.Namespace, made, d.MemoryID)
}

// Decision returns a recorded decision of the gate.
func (g *Gate) Decision(ctx context.Context, id string) (d *verdict.GateDecision, err error) {
	err = g.records.View(ctx, func(r core.Reader) error {
		d, err = record.ReadDecision(r, id)
		return err
	})
	return d, err
}

// Decisions returns the gate's decisions on a memory, the oldest first. They
// stay when the memory is purged.
func (g *Gate) Decisions(ctx context.Context, memoryID string) (list []*verdict.GateDecision, err error) {
	err = g.records.View(ctx, func(r core.Reader) error {
		list, err = record.DecisionsOn(r, memoryID)
		return err
	})
	return list, err
}
