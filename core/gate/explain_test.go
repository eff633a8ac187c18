package gate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
)

func TestAnExplanationHasTheNumbersOfEveryLaneAndTheRule(t *testing.T) {
	d := newMem(t)
	c := proven(d)
	c.Omega.UpstreamStatus, c.Notes = of(.9), []string{"CI is  green"}
	made := d.decide(says{Verdict: policypoint.VerdictPromote, Confidence: .65, Decision: policypoint.Decision{
		File: "gate/strict.yaml", Rule: "strict", Path: "rule.match[1]", Condition: "uses >= 3\n  && q_value > 0.1",
	}}, c)
	made.GraphRefs[0] = "dag:w@sha256:…" // any digest
	want := `memory m in team/a
verdict: retain, confidence 0.5236, next retain
reason: promote needs more: confidence is 0.65 (at least 0.7)
intended: promote, confidence 0.65
rule: gate/strict.yaml, rule strict at rule.match[1]: uses >= 3 && q_value > 0.1
[react]: 0.1333 = p · (0.4 + 0.6 · recurrence_score), p = (good + 1) / (good + tool_failures + 2)
  good 0, tool_failures 1, recovery_success 0, recurrence_score 0
  evidence: log:1
[graph]: 0.8333 = 0 if not reachable, else 0.4 + 0.35 · dependency_relevance_score + 0.25 · decomposition_impact_score
  workflow w, path_reachable true, dependency_relevance_score 1, decomposition_impact_score 0.3333
  evidence: dag:w@sha256:…
[omega]: 0.6333 = the mean of the three, an absent one 0.5, an absent trend the utility_score
  upstream_status_score 0.9, codebase_verification_score absent, runtime_utility_trend_score absent, utility_score 0.5
[q]: 0.5 = learned from recalls
  uses 11, named_uses 11, successes 8, failures 3, failure_rate 0.2727, relevant_turns 8, sessions 2
[utility]: 0.4927 = rounded(clamp(0.32 * react + 0.23 * graph + 0.25 * omega + 0.20 * q_value, 0.0, 1.0)), as in default/gate.yaml
retain: 0.5236 = least(0.85, 0.42 + 0.6 * least(distance(0.78, variables.utility), distance(variables.utility, 0.32))), as in default/gate.yaml
condition confidence: 0.65 (at least 0.7): not met
condition react_evidence_refs: 1 (at least 1): met
condition graph_evidence_refs: 1 (at least 1): met
condition named_uses: 11 (at least 8): met
condition sessions: 2 (at least 2): met
noted: CI is green
note: confidences of different verdicts aren't comparable: each verdict has a formula of its own`
	got := strings.Join(gate.Explain(made).Lines(bracketed), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnExplanationSurvivesTheStore(t *testing.T) {
	d := newMem(t)
	made := d.decide(defaults(), proven(d))
	var stored verdict.GateDecision
	if err := json.Unmarshal(jsontext.MustEncode(made), &stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gate.Explain(made), gate.Explain(&stored)); diff != "" {
		t.Error(diff)
	}
}

func TestAnExplanationOfAFailureSaysIt(t *testing.T) {
	d := newMem(t)
	made := d.decide(says{Decision: policypoint.Decision{File: "gate/x.yaml", Rule: "x", Failure: &core.ErrorInfo{Message: "no\nkey"}}},
		&verdict.GateCase{Memory: memory(core.Signals{})})
	lines := strings.Join(gate.Explain(made).Lines(bracketed), "\n")
	for _, part := range []string{"rule: gate/x.yaml, rule x failed: no key", "reason: the policy failed: no key", "[graph]: 0.5 = 0.5 without a graph\n  graph_known false\n[omega]"} {
		if !strings.Contains(lines, part) {
			t.Errorf("%q isn't in\n%s", part, lines)
		}
	}
}

func TestAnExplanationAsJSON(t *testing.T) {
	d := newMem(t)
	data := string(jsontext.MustEncode(gate.Explain(d.decide(defaults(), proven(d)))))
	for _, part := range []string{
		`"lanes":[{"name":"react","score":`, `"evidence_refs":["log:1"]`, `{"name":"upstream_status_score","value":null}`, `"utility":`,
		`"rule":{"file":"default/gate.yaml","id":"gate"`, `"note":"confidences of different verdicts aren't comparable`, `"decision":{"decision_id"`,
	} {
		if !strings.Contains(data, part) {
			t.Errorf("%s isn't in %s", part, data)
		}
	}
}

// bracketed is a label that differs from its name.
func bracketed(name string) string { return "[" + name + "]" }
