package policypoint_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/policypoint"
)

// TestDecision_HasAWord for each outcome.
func TestDecision_HasAWord(t *testing.T) {
	for want, got := range map[string]interface{ Word() string }{
		"cooling": policypoint.RetentionOutcome{State: "cooling"}, "promote": policypoint.GateOutcome{Verdict: "promote"},
		"allow": policypoint.Permission{Allow: true}, "deny": policypoint.Permission{}, "single": policypoint.InjectionOutcome{Mode: "single"},
		"accept": policypoint.LoopOutcome{Accept: true, Stop: true}, "stop": policypoint.LoopOutcome{Stop: true}, "continue": policypoint.LoopOutcome{},
		"high": policypoint.RoutingOutcome{Confidence: "high"},
	} {
		if got.Word() != want {
			t.Errorf("%+v is %q", got, got.Word())
		}
	}
}
