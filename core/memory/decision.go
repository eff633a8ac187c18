package memory

import (
	"context"
	"encoding/json"
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// decisionMemoryPrefix is the index of the gate's decisions by memory.
const decisionMemoryPrefix = "gate-decision-memory/"

func decisionMemoryKey(memory, id string) []byte {
	return []byte(decisionMemoryPrefix + memory + "/" + id)
}

// record writes a decision with its events.
func (v *verdict) record(t *tx) error {
	d := v.decision
	value, err := core.EncodeJSON(d)
	if err != nil {
		return sdk.Errorf(sdk.Internal, "decision_invalid", "the gate's decision on memory %s can't be recorded: %w", d.MemoryID, err).
			WithHint("this is a defect of the gate or of its policy; please report it")
	}
	if err := t.write(d.Namespace, decisionKey(d.ID), value); err != nil {
		return err
	}
	if err := t.Put(decisionMemoryKey(d.MemoryID, d.ID), nil); err != nil {
		return err
	}
	started := journal.RevalidateStarted{
		MemoryID: d.MemoryID, Before: v.memory.State, TTLScore: v.memory.Signals.TTLScore,
		SessionID: v.request.Turn.Session, TurnID: v.request.Turn.Turn, AgentID: t.Caller().Label,
	}
	if err := t.record(d.Namespace, started, d.MemoryID); err != nil {
		return err
	}
	made := journal.RevalidateDecision{Gated: v.gated(), NextAction: d.NextAction, Decision: core.Digest(value), LatencyMillis: v.latency}
	return t.record(d.Namespace, made, d.MemoryID)
}

func readDecision(r core.Reader, id string) (*core.GateDecision, error) {
	value, found, err := r.Get(decisionKey(id))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, sdk.Errorf(sdk.NotFound, "decision_not_found", "there is no decision %q", cut(id)).
			WithHint("list the decisions on a memory").WithAction("memory explain", "id", nil)
	}
	var d core.GateDecision
	if err := json.Unmarshal(value, &d); err != nil {
		return nil, damaged(decisionPrefix+id, err)
	}
	return &d, nil
}

// Decision returns a recorded decision of the gate.
func (m *Memories) Decision(ctx context.Context, id string) (d *core.GateDecision, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		d, err = readDecision(r, id)
		return err
	})
	return d, err
}

// Decisions returns what the gate decided on a memory, the oldest first. They
// stay when the memory is purged.
func (m *Memories) Decisions(ctx context.Context, memoryID string) (list []*core.GateDecision, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		list, err = decisionsOn(r, memoryID)
		return err
	})
	return list, err
}

func decisionsOn(r core.Reader, memoryID string) (list []*core.GateDecision, err error) {
	if !validID(memoryID) {
		return nil, notFound(memoryID)
	}
	ids, err := core.Suffixes(r, decisionMemoryKey(memoryID, ""), math.MaxInt)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := readDecision(r, id)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}
