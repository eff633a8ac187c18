package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

func TestValueExpression_GivesWhatJSONHolds(t *testing.T) {
	output, err := jsontext.Decode([]byte(`{"count":3,"words":["a","b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"output.count > 2": `true`,
		"output.words":     `["a","b"]`,
		`{"valid": output.count == 3, "score": .5}`: `{"score":0.5,"valid":true}`,
		"output.words.map(w, w + '!')":              `["a!","b!"]`,
		"null":                                      `null`,
	} {
		x, err := policy.NewValueExpressions().CompileValue(policypoint.Verdict, source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		value, err := x.Value(t.Context(), map[string]any{"output": output})
		got, _ := json.Marshal(value)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", source, err, diff)
		}
	}
}

func TestValueExpression_RefusesAndFailsAsConditionsDo(t *testing.T) {
	x := policy.NewValueExpressions()
	for _, source := range []string{"", "output.", "state.count", strings.Repeat("1+", policy.MaxSourceBytes)} {
		if _, err := x.CompileValue(policypoint.Verdict, source); sdk.ReasonOf(err) != "expression_invalid" {
			t.Errorf("%.20q: %v", source, err)
		}
	}
	missing, err := x.CompileValue(policypoint.Verdict, "output.count")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Value(t.Context(), map[string]any{"output": map[string]any{}}); sdk.ReasonOf(err) != "expression_failed" || sdk.AsError(err).Hint == "" {
		t.Error(err)
	}
}
