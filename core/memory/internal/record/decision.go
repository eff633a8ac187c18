package record

import (
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// PutDecision writes a decision of the gate, and returns the digest of its record. The
// caller writes the events.
func PutDecision(t *Tx, d *verdict.GateDecision) (digest string, err error) {
	value, err := jsontext.Encode(d)
	if err != nil {
		return "", sdk.Errorf(sdk.Internal, "decision_invalid", "the gate's decision on memory %s can't be recorded: %w", d.MemoryID, err).
			WithHint("this is a defect of the gate or of its policy; please report it")
	}
	if err := t.Write(d.Namespace, decisionKey(d.ID), value); err != nil {
		return "", err
	}
	return core.Digest(value), Decisions.Index(t, d.ID, nil, d)
}

// ReadDecision returns a decision of the gate. If there is none, the error is
// sdk.NotFound, reason "decision_not_found".
func ReadDecision(r core.Reader, id string) (*verdict.GateDecision, error) {
	d, err := Decisions.Get(r, id)
	if err == nil && d == nil {
		err = sdk.Errorf(sdk.NotFound, "decision_not_found", "there is no decision %q", bounds.Shorten(id)).
			WithHint("list the decisions on a memory").WithAction("memory explain", "id", nil)
	}
	return d, err
}

// DecisionsOn returns the gate's decisions on a memory, the oldest first, even if it was
// purged.
func DecisionsOn(r core.Reader, memoryID string) (list []*verdict.GateDecision, err error) {
	if !bounds.ValidID(memoryID) {
		return nil, NotFound(memoryID)
	}
	ids, err := core.Suffixes(r, DecisionMemoryKey(memoryID, ""), math.MaxInt)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := ReadDecision(r, id)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}
