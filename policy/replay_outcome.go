package policy

import (
	"cmp"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// ReplayedOutcome counts the decisions of a point with the same recorded outcome and the same new
// one. Outcomes
// are the words by which decisions are counted everywhere, such as "promote", or "failed".
type ReplayedOutcome struct {
	Point policypoint.Point `json:"point"`
	// Before is the recorded outcome, and After the new one.
	Before string `json:"before"`
	After  string `json:"after"`
	// Count is how many decisions have both.
	Count int `json:"count"`
	// Changed counts the ones among them that would differ, if only in a detail, such as a reason.
	Changed int `json:"changed"`
}

// outcomes count decisions. The keys have no counts.
type outcomes map[ReplayedOutcome]*ReplayedOutcome

// add counts a decision by its effects, before and after. failure is why the policy fails; nil
// if it doesn't.
func (o outcomes) add(r *Record, before, after map[string]any, failure *core.ErrorInfo) {
	key := ReplayedOutcome{Point: r.Point, Before: effectWord(r.Point, before, r.Failure), After: effectWord(r.Point, after, failure)}
	if o[key] == nil {
		o[key] = &ReplayedOutcome{Point: key.Point, Before: key.Before, After: key.After}
	}
	o[key].Count++
	if failure != nil || !sameOutput(before, after) {
		o[key].Changed++
	}
}

// list is the counts, sorted.
func (o outcomes) list() (list []ReplayedOutcome) {
	for _, one := range o {
		list = append(list, *one)
	}
	points := policypoint.Points()
	slices.SortFunc(list, func(a, b ReplayedOutcome) int {
		return cmp.Or(
			cmp.Compare(slices.Index(points, a.Point), slices.Index(points, b.Point)),
			cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After),
		)
	})
	return list
}

// effectWord is wordOf for an effect by the names of its fields.
func effectWord(point policypoint.Point, effect map[string]any, failure *core.ErrorInfo) string {
	text := func(name string) string { s, _ := effect[name].(string); return s }
	var out worded
	switch point {
	case policypoint.Retention:
		out = policypoint.RetentionOutcome{State: text("state")}
	case policypoint.Gate:
		out = policypoint.GateOutcome{Verdict: text("verdict")}
	case policypoint.Loop:
		out = policypoint.LoopOutcome{Accept: effect["accept"] == true, Stop: effect["stop"] == true}
	case policypoint.Injection:
		out = policypoint.InjectionOutcome{Mode: text("mode")}
	case policypoint.Routing:
		out = policypoint.RoutingOutcome{Confidence: text("confidence")}
	default:
		out = policypoint.Permission{Allow: effect["allow"] == true}
	}
	return wordOf(out, failure)
}
