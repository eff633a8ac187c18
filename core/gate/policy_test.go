package gate_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// defaults are the policies that the program ships.
func defaults() gate.Policy { return policy.New(policy.AllPoints(), policy.Options{}) }

// The numbers were computed by hand from the documented formulas.
func TestTheDefaultPolicyOnRealEvidence(t *testing.T) {
	all := func(x float64) policypoint.OmegaFactors {
		return policypoint.OmegaFactors{UpstreamStatus: of(x), CodebaseVerification: of(x), RuntimeUtilityTrend: of(x)}
	}
	outcomes := func(n int64, ok, recovered bool) (list []core.ToolOutcome) {
		for turn := range n {
			list = append(list, tool(turn+1, ok, recovered, ""))
		}
		return list
	}
	cases := []struct {
		name       string
		signals    core.Signals
		tools      []core.ToolOutcome
		node       string // in a → b → c; "" is no graph
		omega      policypoint.OmegaFactors
		verdict    string
		confidence float64
		utility    float64
		rule       string // the condition that fired holds this
		unmet      []string
	}{
		{ // react .9, graph .4+.35+.25/3, omega 1, q .9: .288+.1916667+.25+.18; .55+1.8·.1296667+.2
			"proven", core.Signals{Successes: 8, Sessions: 2, RelevantTurns: 8, RecentUses: turns("s", 1, 8), Q: .9},
			outcomes(8, false, true), "b", all(1), policypoint.VerdictPromote, .9834, .909666667, "variables.utility >= 0.78", nil,
		},
		{ // react 7/8·(.4+.6·.75) = .74375, graph 5/6, omega .9, q .9: .238+.1916667+.225+.18; .55+1.8·.0546667+.2
			"proven just so", core.Signals{Successes: 8, Sessions: 2, RelevantTurns: 8, RecentUses: turns("s", 1, 8), Q: .9},
			outcomes(6, false, true), "b", all(.9), policypoint.VerdictPromote, .8484, .834666667, "variables.utility >= 0.78", nil,
		},
		{ // as before, in one session
			"proven in one session", core.Signals{Successes: 8, Sessions: 1, RelevantTurns: 8, RecentUses: turns("s", 1, 8), Q: .9},
			outcomes(6, false, true), "b", all(.9), policypoint.VerdictRetain, .42 + .6*.054666667, .834666667, "variables.utility >= 0.78", []string{"sessions"},
		},
		{ // as before, with a failure in four: .55+1.8·.0546667 is below .7
			"proven, but not surely", core.Signals{Successes: 6, Failures: 2, Sessions: 2, RelevantTurns: 8, RecentUses: turns("s", 1, 8), Q: .9},
			outcomes(6, false, true), "b", all(.9), policypoint.VerdictRetain, .42 + .6*.054666667, .834666667, "variables.utility >= 0.78", []string{"confidence"},
		},
		{ // react 1/5, graph 0, omega 0, q .1: .064+.02
			"failing and useless", core.Signals{Failures: 3, Sessions: 1, RelevantTurns: 3, RecentUses: turns("s", 1, 3), Q: .1},
			outcomes(3, false, false), "gone", all(0), policypoint.VerdictObsolete, 1, .084, "failure_rate >= 0.70", nil,
		},
		{ // react 1/4, graph 0, omega 0, q .1: .08+.02
			"failing twice", core.Signals{Failures: 2, Sessions: 1, RelevantTurns: 2, RecentUses: turns("s", 1, 2), Q: .1},
			outcomes(2, false, false), "gone", all(0), policypoint.VerdictRetain, .42 + .6*.22, .1, "failure_rate >= 0.70", []string{"failed_turns"},
		},
		{ // react .2, graph 0, omega .5, q .5: .064+.125+.1; .75+1.8·.031
			"never used, and nothing leads to it", core.Signals{RelevantTurns: 10, Recent: turns("s", 1, 10), Q: .5},
			nil, "gone", policypoint.OmegaFactors{}, policypoint.VerdictObsolete, .8058, .289, "uses == 0", nil,
		},
		{ // react .2, graph .5, omega .5, q .5: .064+.115+.125+.1; retain .42+.6·.084
			"never used, without a graph", core.Signals{RelevantTurns: 10, Recent: turns("s", 1, 10), Q: .5},
			nil, "", policypoint.OmegaFactors{}, policypoint.VerdictRetain, .4704, .404, "", nil,
		},
		{ // the same by a turn less
			"offered nine times", core.Signals{RelevantTurns: 9, Recent: turns("s", 1, 9), Q: .5},
			nil, "gone", policypoint.OmegaFactors{}, policypoint.VerdictRetain, .42 + .6*.031, .289, "", nil,
		},
		{ // react .2, graph 5/6, omega .5, q .7: .064+.1916667+.125+.14
			"useful without tools", core.Signals{Successes: 9, Sessions: 3, RelevantTurns: 9, RecentUses: turns("s", 1, 9), Q: .7},
			nil, "b", policypoint.OmegaFactors{}, policypoint.VerdictRetain, .42 + .6*.200666667, .520666667, "", nil,
		},
	}
	policies := defaults()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			d.tools(c.tools...)
			if c.node != "" {
				d.dag(line("w", map[string][]string{"m": {c.node}}))
			}
			made := d.decide(policies, &verdict.GateCase{Memory: memory(c.signals), Omega: c.omega})
			if made.Verdict != c.verdict || math.Abs(made.Confidence-c.confidence) > 1e-8 || math.Abs(made.Numbers.Utility-c.utility) > 1e-8 {
				t.Errorf("%s %v, utility %v: %s", made.Verdict, made.Confidence, made.Numbers.Utility, made.Reason)
			}
			if made.Policy.Rule != "gate" || !strings.Contains(made.Policy.Condition, c.rule) || (c.rule == "") != (made.Policy.Condition == "") {
				t.Errorf("rule %q: %q", made.Policy.Rule, made.Policy.Condition)
			}
			if !slices.Equal(made.Unmet, c.unmet) {
				t.Errorf("unmet %q", made.Unmet)
			}
		})
	}
}

// own returns the policies with one of an operator for all namespaces.
func own(t *testing.T, rule string) gate.Policy {
	t.Helper()
	set, err := policy.AllPoints().Load(fstest.MapFS{"gate/own.yaml": {Data: []byte(rule)}})
	if err != nil {
		t.Fatal(err)
	}
	return policy.New(policy.AllPoints(), policy.Options{Set: set})
}

// TestPolicy_OfAnOperatorIsExplainedFromItsExpressions: the engine's utility, and the confidence
// of its retain, are the policy's own figures, and an explanation shows no other policy's numbers
// but those that were used. Without figures of those names they are the default policy's.
func TestPolicy_OfAnOperatorIsExplainedFromItsExpressions(t *testing.T) {
	const utility, retain = .459333333, .42 + .6*(.459333333-.32) // of the default policy
	const byDefault = "default/gate.yaml"
	cases := []struct {
		name, variables string
		promoted        string // its condition
		utility, retain float64
		shows           []string
	}{
		{"no variables", "", "uses >= 3", utility, retain, []string{"0.32 * react", ", as in " + byDefault, "tried: uses >= 3: holds"}},
		{"a utility", "{name: utility, expression: q_value * 0.5}", "uses >= 3", .25, retain, []string{"[utility]: 0.25 = q_value * 0.5"}},
		{"a retain", "{name: retain, expression: '0.61'}", "uses >= 3", utility, .61, []string{"retain: 0.61 = 0.61"}},
		{"both", "{name: utility, expression: '0.9'}, {name: retain, expression: variables.utility - 0.2}", "variables.utility > 0.5", .9, .7, []string{"tried: variables.utility > 0.5: holds", "retain: 0.7 = variables.utility - 0.2"}},
		{"a whole number", "{name: utility, expression: '1'}", "uses >= 3", 1, retain, []string{"[utility]: 1 = 1"}},
		{"more than 1", "{name: utility, expression: '7.5'}, {name: retain, expression: '3.0'}", "uses >= 3", 1, 1, []string{"[utility]: 7.5 = 7.5"}},
		{"less than 0", "{name: utility, expression: '-2.0'}, {name: retain, expression: '-1.0'}", "uses >= 3", 0, 0, []string{"retain: -1 = -1.0"}},
		{"a text", "{name: utility, expression: '\"high\"'}", "uses >= 3", utility, retain, []string{"0.32 * react"}},
		{"not a number", "{name: utility, expression: 0.0 / double(uses - 11)}", "uses >= 3", utility, retain, []string{"0.32 * react"}},
		{"one that fails", "{name: utility, expression: 'double(1 / (uses - 11))'}", "uses >= 3", utility, retain, []string{"0.32 * react"}},
		{"one that wasn't needed", "{name: spread, expression: q_value - 0.1}", "uses >= 3", utility, retain, []string{"spread: 0.4 = q_value - 0.1"}},
		{"its own evidence_ttl", "{name: evidence_ttl, expression: '0.125'}", "uses >= 3", utility, retain, []string{"evidence_ttl: 0.125 = 0.125"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			made := d.decide(own(t, "rule:\n  id: own\n  variables: ["+c.variables+"]\n  match:\n    - condition: "+c.promoted+`
      output: '{"verdict": "promote", "confidence": 0.65}'
`), proven(d))
			if math.Abs(made.Numbers.Utility-c.utility) > 1e-8 || math.Abs(made.Confidence-c.retain) > 1e-8 || made.Intended != policypoint.VerdictPromote {
				t.Errorf("%+v", made)
			}
			lines := strings.Join(gate.Explain(made).Lines(bracketed), "\n")
			for _, part := range c.shows {
				if !strings.Contains(lines, part) {
					t.Errorf("%q isn't in\n%s", part, lines)
				}
			}
			ownUtility, ownRetain := c.utility != utility, c.retain != retain
			if ownUtility && strings.Contains(lines, "0.23 * graph") || ownRetain && strings.Contains(lines, "0.78") || strings.Contains(lines, "frequency") {
				t.Errorf("the default policy's numbers are in\n%s", lines)
			}
		})
	}
}

func TestAFailingPolicyRetainsAndIsNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := newMem(t)
	c := proven(d)
	d.view(func(r core.Reader) error {
		made, err := gate.New(defaults()).Decide(ctx, r, c)
		if err != nil || made.Verdict != policypoint.VerdictRetain || made.Confidence != 0 || made.NextAction != verdict.NextRetain {
			t.Errorf("%+v, error %v", made, err)
		}
		return nil
	})
}

// TestTheSameEvidenceGivesTheSameRecord decides twice, on stores of their own.
func TestTheSameEvidenceGivesTheSameRecord(t *testing.T) {
	var records []string
	onEngines(t, func(t *testing.T, d *desk) {
		c := proven(d)
		c.Notes = []string{"note"}
		first, again := d.decide(defaults(), c), d.decide(defaults(), c)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
		records = append(records, string(jsontext.MustEncode(first)))
	})
	if records[0] != records[1] {
		t.Errorf("%s\n%s", records[0], records[1])
	}
	for _, part := range []string{`"decision_id":""`, `"next_action":"retain"`, `"notes":["note"]`, `"upstream_status_score":null`, `"react_evidence_refs":["log:1"]`, `"latency_ns":0`} {
		if !strings.Contains(records[0], part) {
			t.Errorf("%s isn't in %s", part, records[0])
		}
	}
}
