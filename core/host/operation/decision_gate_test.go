package operation_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// TestDecisionGet_OfTheGate: by the id that events and knowledge name, and by the id in the
// policies' log, the lanes, the conditions and the comparisons of the gate's decision are shown.
func TestDecisionGet_OfTheGate(t *testing.T) {
	w := newWorld(t)
	known := w.Promoted()
	w.Reopen() // decisions are recorded in the background
	logged, own := loggedByGate(w), try[operation.Decision](w, "decision_get", &operation.DecisionGet{ID: known.DecisionID})
	for name, d := range map[string]*operation.Decision{"logged": logged, "own": own} {
		if d.At.IsZero() || d.Gate == nil || d.Gate.Decision.Verdict != policypoint.VerdictPromote || len(d.Gate.Lanes) != 4 || len(d.Gate.Decision.Conditions) < 5 || d.Inputs["memory_id"] != known.PromotedFrom {
			t.Errorf("%s: %+v %+v", name, d.Record, d.Gate)
			continue
		}
		utility := d.Gate.Utility
		want := []policy.RecordedComparison{
			{Name: "uses", Value: 8, Op: ">=", Limit: 3, Holds: true}, {Name: "utility", Value: utility, Op: ">=", Limit: 0.78, Holds: true},
			{Name: "failure_rate", Op: "<=", Limit: 0.25, Holds: true}, {Name: "evidence_ttl", Value: d.Gate.EvidenceTTL, Op: ">=", Limit: 0.5, Holds: true},
		}
		if len(d.Matches) < 2 || !slices.Equal(d.Matches[1].Comparisons, want) {
			t.Errorf("%s: %+v\nwant %+v", name, d.Matches, want)
		}
		var read operation.Decision
		if err := json.Unmarshal(jsontext.MustEncode(d), &read); err != nil || read.Gate == nil || read.Gate.Utility != utility {
			t.Errorf("%s: read as %+v, %v", name, read, err)
		}
	}
	if diff := cmp.Diff(own.Gate.Decision.Conditions, logged.Gate.Decision.Conditions); diff != "" {
		t.Errorf("the log has other conditions (-own +logged):\n%s", diff)
	}
	if diff := cmp.Diff(own.Gate.Decision.Workings, logged.Gate.Decision.Workings); diff != "" || len(own.Gate.Decision.Workings.Figures) != 5 || len(own.Gate.Decision.Workings.Tried) != 2 {
		t.Errorf("the log has other workings (-own +logged):\n%s", diff)
	}
	for i, lane := range own.Gate.Lanes {
		if got := logged.Gate.Lanes[i]; got.Name != lane.Name || got.Score != lane.Score {
			t.Errorf("the log has %+v, want %+v", got, lane)
		}
	}
	_, err := w.Do(stranger(), "decision_get", &operation.DecisionGet{ID: known.DecisionID})
	w.Refused(err, sdk.NotFound, "decision_not_found")
}

// TestDecisionGet_OfTheGateMasked: nothing is made of inputs that a policy masks.
func TestDecisionGet_OfTheGateMasked(t *testing.T) {
	w := newWorld(t)
	w.File("data/policies/gate/masked.yaml", `mask: [react, good]
rule: {match: [{output: '{"verdict": "retain", "confidence": 0.9, "reason": "as I say"}'}]}`)
	w.Reopen()
	try[verdict.GateAnswer](w, "gate_run", &operation.GateRun{ID: w.Waiting()})
	w.Reopen()
	if d := loggedByGate(w); d.Gate != nil || !slices.Equal(d.Masked, []string{"good", "react", "tags"}) {
		t.Errorf("%+v %v", d.Gate, d.Masked)
	}
}

// loggedByGate is the first decision of the gate in the policies' log.
func loggedByGate(w *world) *operation.Decision {
	w.T.Helper()
	list := try[operation.Page[operation.Decided]](w, "decision_list", &operation.DecisionList{Point: policypoint.Gate})
	if len(list.Items) == 0 {
		w.T.Fatal("the gate's decision isn't in the log")
	}
	return try[operation.Decision](w, "decision_get", &operation.DecisionGet{ID: list.Items[0].ID})
}
