package host

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// Engine applies the host's own conditions to a policy's output at a point. A verdict has
// to meet the gate's conditions for a purge or promotion. A state has to agree with the
// table of transitions and with the rest after the gate's last decision. A score or a
// confidence alone changes nothing. At other points the output takes effect unchanged.
func Engine(point policypoint.Point, inputs, output map[string]any) (effect map[string]any, unmet []string) {
	switch point {
	case policypoint.Gate:
		return gateEngine(inputs, output)
	case policypoint.Retention:
		return retentionEngine(inputs, output)
	}
	return output, nil
}

func gateEngine(inputs, output map[string]any) (map[string]any, []string) {
	out := gateOutcome(output)
	if _, known := inputs["named_uses"]; !known { // an older record: its conditions aren't known
		return map[string]any{"verdict": out.Verdict}, nil
	}
	in, _ := policy.AllPoints().RecordedGate(inputs)
	unmet := gate.Unmet(gate.Conditions(in, out))
	if len(unmet) > 0 {
		out.Verdict = policypoint.VerdictRetain
	}
	return map[string]any{"verdict": out.Verdict}, unmet
}

// ExplainGate explains what the gate decided by a recorded outcome of its policy, and why. It is
// nil if the record lacks inputs: it is older, or a policy masks them.
func (p *Policies) ExplainGate(ctx context.Context, record *policy.Record) *gate.Explanation {
	in, whole := p.Points.RecordedGate(record.Inputs)
	if !whole {
		return nil
	}
	out := gateOutcome(record.Output)
	out.Decision = record.Decision
	return gate.New(p).Recorded(ctx, in, out)
}

// gateOutcome is the recorded outcome of the gate's policy.
func gateOutcome(output map[string]any) (out policypoint.GateOutcome) {
	out.Verdict, _ = output["verdict"].(string)
	out.Reason, _ = output["reason"].(string)
	switch confidence := output["confidence"].(type) {
	case float64:
		out.Confidence = confidence
	case int64: // 0 and 1, as JSON has them
		out.Confidence = float64(confidence)
	}
	return out
}

func retentionEngine(inputs, output map[string]any) (effect map[string]any, unmet []string) {
	in := policy.AllPoints().RecordedRetention(inputs)
	to, _ := output["state"].(string)
	switch {
	case in.State == to:
	case lifecycle.Check(core.MemoryState(in.State), core.MemoryState(to), lifecycle.ByRetention) != nil:
		unmet = []string{"transition"}
	case to == string(core.StateRevalidatePending) && in.Gated && in.SinceGate < in.GateRest:
		unmet = []string{"gate_rest"}
	}
	if unmet != nil {
		to = in.State
	}
	return map[string]any{"state": to}, unmet
}
