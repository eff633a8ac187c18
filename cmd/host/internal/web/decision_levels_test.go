package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/policypoint"
)

// TestDecision_ShowsWhatItWasComparedWith: the gate's lanes, the utility's expression, the limits of the
// policy that decided and the gate's own, in the picture, in its table and in words; on the page
// of the policy's log, and on the page to which a memory and its knowledge lead.
func TestDecision_ShowsWhatItWasComparedWith(t *testing.T) {
	w := operationtest.New(t)
	w.File("data/policies/gate/strict.yaml", `rule:
  match:
    - condition: uses >= 5 && q_value >= 0.61 && last_outcome_error == false
      output: '{"verdict": "promote", "confidence": 0.93, "reason": "often"}'
    - condition: react <= 0.17
      output: '{"verdict": "obsolete", "confidence": 0.9, "reason": "never"}'
    - output: '{"verdict": "retain", "confidence": 0.9, "reason": "else"}'
`)
	w.Reopen()
	known := w.Promoted()
	w.Reopen() // decisions are recorded in the background
	s := siteOf(w)
	list := operationtest.Try[operation.Page[operation.Decided]](w, "decision_list", &operation.DecisionList{Point: policypoint.Gate})
	for _, id := range []string{list.Items[0].ID, known.DecisionID} {
		a := s.get(decisionURL(id))
		root := s.tree(a, http.StatusOK)
		s.wellMade(id, a, root)
		text := textOf(root)
		for _, want := range []string{termFor("confidence").Word + " .93 against ≥ .70 (holds)", "0.32 * react", termFor("utility").Word, "The gate’s own conditions: met", "named uses", "sessions"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q: %s", id, want, text)
			}
		}
		if n := strings.Count(a.body, `class="thr"`); n < 1 || !strings.Contains(a.body, "chart small levels") {
			t.Errorf("%s: %d marks", id, n)
		}
	}
	// The gate's own record doesn't have all that this policy reads, but the log has.
	text := textOf(s.tree(s.get(decisionURL(list.Items[0].ID)), http.StatusOK))
	for _, want := range []string{"≥ .61", "≤ .17", "q value", "match[0]: decided"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log's page lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "≥ .78") {
		t.Error("it shows a limit of the default policy, which didn't decide")
	}
	s.walk("/memory/"+known.PromotedFrom, "/knowledge/"+known.ID)
}

// TestDecision_OfOtherPointsShowsWhatFits: a state's score against the namespace's thresholds.
func TestDecision_OfOtherPointsShowsWhatFits(t *testing.T) {
	w := operationtest.New(t)
	_, err := w.Host.Governance.Set(w.Ctx, operationtest.Here, "retention.active_threshold=0.37")
	w.Must(err)
	w.Taught(core.OutcomeSuccess, 1)
	w.Reopen()
	s := siteOf(w)
	list := operationtest.Try[operation.Page[operation.Decided]](w, "decision_list", &operation.DecisionList{Point: policypoint.Retention})
	text := textOf(s.tree(s.get(decisionURL(list.Items[0].ID)), http.StatusOK))
	for _, want := range []string{"≥ .37, the active threshold", "hit count", "holds"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q: %s", want, text)
		}
	}
}

// TestPartsOf_LeavesOutWhatIsNothing: a lane is made of the numbers that aren't 0, and of what holds.
func TestPartsOf_LeavesOutWhatIsNothing(t *testing.T) {
	for _, c := range []struct {
		parts []gate.Explained
		want  string
	}{
		{nil, ""},
		{[]gate.Explained{{Name: "react", Value: 0.0}, {Name: "seen", Value: false}, {Name: "unknown", Value: nil}, {Name: "uses", Value: 0}, {Name: "word", Value: ""}}, ""},
		{[]gate.Explained{{Name: "react_score", Value: 0.5}}, "react .50"},
		{[]gate.Explained{{Name: "last_outcome", Value: "success"}, {Name: "uses", Value: 0.0}, {Name: "turns", Value: 12.0}}, "last outcome success, turns 12"},
		{[]gate.Explained{{Name: "seen", Value: true}, {Name: "uses", Value: 3}, {Name: "bias", Value: -0.25}}, "seen yes, uses 3, bias −.25"},
	} {
		if got := partsOf(c.parts); got != c.want {
			t.Errorf("%v: %q, want %q", c.parts, got, c.want)
		}
	}
}
