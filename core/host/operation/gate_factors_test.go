package operation_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
)

// TestGate_AnswersHaveFactorsAsTexts, in every operation whose answer has a decision; what is
// stored keeps the factors as an object.
func TestGate_AnswersHaveFactorsAsTexts(t *testing.T) {
	w := newWorld(t)
	id, low, more := w.Waiting(), 0.0, 1e-7
	given := policypoint.OmegaFactors{UpstreamStatus: &low, RuntimeUtilityTrend: &more}
	want := []string{"note=a=b", "note=Z", "runtime_utility_trend_score=0.0000001", "upstream_status_score=0"}
	answer := func(name string, in any, want ...string) {
		t.Helper()
		out, err := w.Do(core.Operator(""), name, in)
		w.Must(err)
		var decoded any
		w.Must(json.Unmarshal(jsontext.MustEncode(out), &decoded))
		found := factorsIn(decoded)
		if len(found) == 0 {
			t.Errorf("%s has no factors: %s", name, jsontext.MustEncode(out))
		}
		for _, factors := range found {
			var texts []string
			if err := json.Unmarshal(jsontext.MustEncode(factors), &texts); err != nil || texts == nil || !slices.Equal(texts, want) {
				t.Errorf("%s has the factors %s, want %q", name, jsontext.MustEncode(factors), want)
			}
		}
	}
	notes := []string{"a=b", "Z"}
	answer("gate_explain", &operation.GateExplain{ID: id, OmegaFactors: given, Notes: notes}, want...)
	answer("gate_run", &operation.GateRun{ID: id, OmegaFactors: given, Notes: notes, DryRun: true}, want...)
	answer("gate_run", &operation.GateRun{ID: id, OmegaFactors: given, Notes: notes}, want...)
	answer("gate_explain", &operation.GateExplain{ID: id}, want...)
	answer("memory_explain", &operation.MemoryExplain{ID: id}, want...)
	made, err := w.Host.Memories.Gate.Decisions(w.Ctx, id)
	w.Must(err)
	answer("decision_get", &operation.DecisionGet{ID: made[0].ID}, want...)
	if stored := string(jsontext.MustEncode(made[0])); !strings.Contains(stored, `"omega_factors":{"upstream_status_score":0,"codebase_verification_score":null,"runtime_utility_trend_score":1e-7,"notes":["a=b","Z"]}`) {
		t.Errorf("the stored decision is %s", stored)
	}
	answer("gate_explain", &operation.GateExplain{ID: w.Waiting()})
	other := w.Waiting()
	answer("gate_request", &operation.GateRequest{ID: other, Erase: true, Reason: "wrong"}, "erasure="+core.Digest([]byte("wrong")))
	answer("memory_explain", &operation.MemoryExplain{ID: other}, "erasure="+core.Digest([]byte("wrong")))
}

// factorsIn are the factors of all decisions in an answer.
func factorsIn(v any) (found []any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "omega_factors" {
				found = append(found, value)
			} else {
				found = append(found, factorsIn(value)...)
			}
		}
	case []any:
		for _, value := range v {
			found = append(found, factorsIn(value)...)
		}
	}
	return found
}
