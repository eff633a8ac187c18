package host

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// Engine applies the host's own conditions to a policy's output at a point. A verdict has
// to meet the gate's conditions for a purge or promotion. A state has to agree with the
// table of transitions and with the rest after the gate's last decision. A score or a
// confidence alone changes nothing. At other points the output takes effect unchanged.
func Engine(point core.Point, inputs, output map[string]any) (effect map[string]any, unmet []string) {
	switch point {
	case core.PointGate:
		return gateEngine(inputs, output)
	case core.PointRetention:
		return retentionEngine(inputs, output)
	}
	return output, nil
}

func gateEngine(inputs, output map[string]any) (map[string]any, []string) {
	verdict, _ := output["verdict"].(string)
	if _, known := inputs["named_uses"]; !known { // an older record: its conditions aren't known
		return map[string]any{"verdict": verdict}, nil
	}
	n := func(name string) int64 { return int64(number(inputs[name])) }
	in := &core.GateInput{
		Successes: n("success_count"), Partials: n("partial_count"), Failures: n("failure_count"),
		Named: n("named_uses"), NamedSessions: n("named_sessions"), NamedFailures: n("named_failures"),
		MinConfidence: number(inputs["minimum_confidence"]), SettingsFail: inputs["settings_fail"] == true,
		React: core.ReactEvidence{Refs: n("react_refs")}, Graph: core.GraphEvidence{Refs: n("graph_refs")},
		Gated: inputs["gated"] == true, Facts: core.MemoryFacts{Revalidation: number(inputs["revalidation_score"])},
	}
	unmet := gate.Unmet(gate.Conditions(in, core.GateOutcome{Verdict: verdict, Confidence: number(output["confidence"])}))
	if len(unmet) > 0 {
		verdict = core.VerdictRetain
	}
	return map[string]any{"verdict": verdict}, unmet
}

func retentionEngine(inputs, output map[string]any) (effect map[string]any, unmet []string) {
	from, _ := inputs["state"].(string)
	to, _ := output["state"].(string)
	switch {
	case from == to:
	case lifecycle.Check(core.MemoryState(from), core.MemoryState(to), lifecycle.ByRetention) != nil:
		unmet = []string{"transition"}
	case to == string(core.StateRevalidatePending) && inputs["gated"] == true && number(inputs["since_gate"]) < number(inputs["gate_rest"]):
		unmet = []string{"gate_rest"}
	}
	if unmet != nil {
		to = from
	}
	return map[string]any{"state": to}, unmet
}

// number is a recorded number, whole or not; 0 if it wasn't recorded.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}
