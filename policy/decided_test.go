package policy_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// TestDecision_EachIsTold, whether it is recorded or not, and where no policy could decide
// by that.
func TestDecision_EachIsTold(t *testing.T) {
	points := policy.AllPoints()
	set, err := points.Load(folder("routing/a.yaml", `rule: {match: [{condition: 1 / candidates > 0, output: '{"confidence": "high"}'}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	p := policy.New(points, policy.Options{Set: set, Decided: func(point policypoint.Point, word string) { told = append(told, string(point)+" "+word) }})
	p.Access(t.Context(), &policypoint.AccessInput{Local: true})
	p.Access(t.Context(), &policypoint.AccessInput{})
	p.Loop(t.Context(), &policypoint.LoopInput{Accepted: true})
	p.Retention(t.Context(), nil, &policypoint.RetentionInput{State: "open"})
	p.Routing(t.Context(), &policypoint.RoutingInput{Candidates: 1})
	p.Routing(t.Context(), &policypoint.RoutingInput{})
	if want := []string{"access allow", "access deny", "loop accept", "retention open", "routing high", "routing failed"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
