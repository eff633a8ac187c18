package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
)

// The limits that every purge or promotion must meet, whatever the policy's verdict. Only
// named uses count; where a namespace experiments, and most uses of a memory may be others' merit, its effect
// does in their place.
const (
	needRefs         = 1
	needNamed        = 8
	needSessions     = 2
	needRevalidation = 0.6
	needFailedTurns  = 3
	needEffect       = 20 // of a memory whose uses may be others' merit: 1 of 20 useless ones reaches it at most
	needSuccess      = 0.5
)

// Conditions returns the conditions of a purge or promotion that apply in addition to the
// policy. A retain has none.
func Conditions(in *policypoint.GateInput, out policypoint.GateOutcome) []verdict.GateCondition {
	var list []verdict.GateCondition
	need := func(name string, need, have float64) {
		list = append(list, verdict.GateCondition{Name: name, Need: need, Have: have, Met: core.Rounded(have) >= core.Rounded(need)})
	}
	if out.Verdict == policypoint.VerdictRetain {
		return nil
	}
	if in.SettingsFail { // nothing is purged or promoted if settings can't be read
		need("governance_readable", 1, 0)
	}
	need("confidence", max(core.DefaultMinGateConfidence, in.MinConfidence), out.Confidence)
	need("react_evidence_refs", needRefs, float64(in.React.Refs))
	need("graph_evidence_refs", needRefs, float64(in.Graph.Refs))
	switch {
	case out.Verdict != policypoint.VerdictPromote:
	case in.Tested:
		need("effect_e_value", needEffect, in.Shown().EValue)
		need("success_rate", needSuccess, 1-float64(in.Failures)/float64(max(1, in.Uses())))
	default:
		need("named_uses", needNamed, float64(in.Named))
		need("sessions", needSessions, float64(in.NamedSessions))
		if in.Gated {
			need("revalidation_score", needRevalidation, in.Facts.Revalidation)
		}
	}
	if out.Verdict == policypoint.VerdictObsolete && in.Uses() > 0 {
		need("failed_turns", needFailedTurns, float64(in.NamedFailures))
	}
	return list
}

// Unmet names the conditions that aren't met.
func Unmet(list []verdict.GateCondition) (names []string) {
	for _, c := range list {
		if !c.Met {
			names = append(names, c.Name)
		}
	}
	return names
}

// shortfall describes the limits that a verdict doesn't meet.
func shortfall(given string, list []verdict.GateCondition) string {
	var parts []string
	for _, c := range list {
		if !c.Met {
			parts = append(parts, fmt.Sprintf("%s is %s (at least %s)", c.Name, figure(c.Have), figure(c.Need)))
		}
	}
	return fmt.Sprintf("%s needs more: %s", given, strings.Join(parts, " and "))
}

// figure formats a number as it is compared.
func figure(x float64) string { return fmt.Sprintf("%.9g", core.Rounded(x)) }

// minimumConfidence is the minimum in the namespace's settings, which may raise the
// engine's but never lower it.
func minimumConfidence(g *core.Governance) float64 {
	if g == nil {
		return core.DefaultMinGateConfidence
	}
	return max(core.DefaultMinGateConfidence, g.MinGateConfidence)
}

// clamp brings a number into [0,1]; NaN becomes 0.
func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, min(1, x))
}
