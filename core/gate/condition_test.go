package gate_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

func of(x float64) *float64 { return &x }

// proven is a case with evidence of both kinds that meets every condition, of
// verdicts of either kind.
func proven(d *desk) *verdict.GateCase {
	d.tools(tool(1, false, false, "log:1"))
	d.dag(line("w", map[string][]string{"m": {"b"}}))
	return &verdict.GateCase{
		Memory:     memory(core.Signals{Successes: 8, Failures: 3, Sessions: 2, RelevantTurns: 8, Q: .5}),
		Governance: &core.Governance{MinGateConfidence: .7},
	}
}

func TestEachConditionAtItsBound(t *testing.T) {
	const purge, promote = policypoint.VerdictObsolete, policypoint.VerdictPromote
	less := math.Nextafter(.7, 0) - 1e-8
	cases := []struct {
		name       string
		verdict    string
		confidence float64
		change     func(*verdict.GateCase)
		unmet      string // "" is met
		says       string
	}{
		{"as sure as needed", promote, .7, nil, "", ""},
		{"as sure as needed, but for the last bit", promote, .7 - 1e-15, nil, "", ""},
		{"as sure as needed, of a purge", purge, .7, nil, "", ""},
		{"less sure", promote, less, nil, "confidence", "confidence is 0.69999999 (at least 0.7)"},
		{"less sure, of a purge", purge, less, nil, "confidence", "obsolete needs more: confidence is"},
		{"without governance", promote, .7, func(c *verdict.GateCase) { c.Governance = nil }, "", ""},
		{"less sure, without governance", promote, less, func(c *verdict.GateCase) { c.Governance = nil }, "confidence", ""},
		{"governance asks for as much", promote, .9, func(c *verdict.GateCase) { c.Governance.MinGateConfidence = .9 }, "", ""},
		{"governance asks for more", promote, .9, func(c *verdict.GateCase) { c.Governance.MinGateConfidence = .91 }, "confidence", "0.9 (at least 0.91)"},
		{"governance can't ask for less", promote, less, func(c *verdict.GateCase) { c.Governance.MinGateConfidence = .1 }, "confidence", "at least 0.7"},
		{"governance can't be read", promote, 1, func(c *verdict.GateCase) { c.Governance.Failure = errors.New("x") }, "governance_readable", ""},
		{"governance can't be read, for a purge", purge, 1, func(c *verdict.GateCase) { c.Governance.Failure = errors.New("x") }, "governance_readable", ""},
		{"seven named uses", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.Assumed = 4 }, "named_uses", "promote needs more: named_uses is 7 (at least 8)"},
		{"eight named uses", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.Assumed = 3 }, "", ""},
		{"a purge asks for no named uses", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals.Assumed = 8 }, "", ""},
		{"one session that named a use", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.AssumedSessions = 1 }, "sessions", "sessions is 1 (at least 2)"},
		{"named uses failed in two turns", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals.AssumedFailures = 1 }, "failed_turns", "failed_turns is 2 (at least 3)"},
		{"one session", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.Sessions = 1 }, "sessions", "promote needs more: sessions is 1 (at least 2)"},
		{"one session is enough to purge", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals.Sessions = 1 }, "", ""},
		{"revalidated well enough", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.Revalidation = of(.6) }, "", ""},
		{"revalidated not well enough", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.Revalidation = of(.5999) }, "revalidation_score", "revalidation_score is 0.5999 (at least 0.6)"},
		{"a purge asks for no revalidation", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals.Revalidation = of(0) }, "", ""},
		{"failed in three turns", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals.Failures = 3 }, "", ""},
		{"failed in two turns", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals.Failures = 2 }, "failed_turns", "failed_turns is 2 (at least 3)"},
		{"never used", purge, 1, func(c *verdict.GateCase) { c.Memory.Signals = core.Signals{RelevantTurns: 10} }, "", ""},
		{"a promotion asks for no failures", promote, 1, func(c *verdict.GateCase) { c.Memory.Signals.Failures = 0 }, "", ""},
		{"no tools' evidence", promote, 1, func(c *verdict.GateCase) { c.Memory.ID = "n" }, "react_evidence_refs", "react_evidence_refs is 0 (at least 1)"},
		{"no tools' evidence, for a purge", purge, 1, func(c *verdict.GateCase) { c.Memory.ID = "n" }, "react_evidence_refs", ""},
		{"no graph's evidence", promote, 1, func(c *verdict.GateCase) { c.Memory.ID = "x" }, "graph_evidence_refs", ""},
		{"no graph's evidence, for a purge", purge, 1, func(c *verdict.GateCase) { c.Memory.ID = "x" }, "graph_evidence_refs", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			gateCase := proven(d)
			d.dag(line("n's", map[string][]string{"n": {"b"}})) // n lacks tools, x a graph
			d.tools(core.ToolOutcome{MemoryID: "x", Session: "s", Tool: "t"})
			if c.change != nil {
				c.change(gateCase)
			}
			made := d.decide(says{Verdict: c.verdict, Confidence: c.confidence, Reason: "the policy's reason"}, gateCase)
			if c.unmet == "" {
				wantMet(t, made, c.verdict, c.confidence)
				return
			}
			wantUnmet(t, made, c.verdict, c.confidence, c.unmet)
			if !strings.Contains(made.Reason, c.unmet) || !strings.Contains(made.Reason, c.says) || !strings.Contains(made.Reason, c.verdict) {
				t.Errorf("reason %q, want %q", made.Reason, c.says)
			}
		})
	}
}

func wantMet(t *testing.T, made *verdict.GateDecision, given string, confidence float64) {
	t.Helper()
	next := map[string]string{policypoint.VerdictObsolete: verdict.NextPurge, policypoint.VerdictPromote: verdict.NextPromote}[given]
	if made.Verdict != given || made.NextAction != next || made.Confidence != confidence ||
		made.Reason != "the policy's reason" || made.Intended != "" || made.Unmet != nil {
		t.Errorf("%+v", made)
	}
}

func wantUnmet(t *testing.T, made *verdict.GateDecision, given string, confidence float64, unmet string) {
	t.Helper()
	if made.Verdict != policypoint.VerdictRetain || made.NextAction != verdict.NextRetain || made.Intended != given ||
		made.IntendedConfidence != confidence || !slices.Equal(made.Unmet, []string{unmet}) {
		t.Errorf("%+v", made)
	}
	if want := retainConfidence(made.Numbers.Utility); math.Abs(made.Confidence-want) > 1e-12 {
		t.Errorf("confidence %v, want %v", made.Confidence, want)
	}
	for _, condition := range made.Conditions {
		if condition.Met != (condition.Name != unmet) {
			t.Errorf("%+v", condition)
		}
	}
}

func TestAllFailedConditionsAreNamed(t *testing.T) {
	d := newMem(t)
	made := d.decide(says{Verdict: policypoint.VerdictPromote, Confidence: .6}, &verdict.GateCase{Memory: memory(core.Signals{Successes: 3, Sessions: 1, Q: .9})})
	want := "promote needs more: confidence is 0.6 (at least 0.7) and react_evidence_refs is 0 (at least 1) and " +
		"graph_evidence_refs is 0 (at least 1) and named_uses is 3 (at least 8) and sessions is 1 (at least 2)"
	if made.Reason != want || len(made.Unmet) != 5 {
		t.Errorf("%q", made.Reason)
	}
	// react .2, graph .5, omega .5, q .9: .064 + .115 + .125 + .18 = .484, which is .164 above obsolete
	if made.Numbers.Utility != .484 || math.Abs(made.Confidence-(.42+.6*.164)) > 1e-9 {
		t.Errorf("utility %v, confidence %v", made.Numbers.Utility, made.Confidence)
	}
}

// retainConfidence is the documented formula.
func retainConfidence(utility float64) float64 {
	return min(.85, .42+.6*min(math.Abs(.78-utility), math.Abs(utility-.32)))
}

func TestAPolicyThatCantBeTrustedRetains(t *testing.T) {
	cases := []struct {
		name string
		out  policypoint.GateOutcome
		says string
	}{
		{"it failed", policypoint.GateOutcome{Verdict: policypoint.VerdictPromote, Confidence: 1, Decision: policypoint.Decision{Failure: &core.ErrorInfo{Message: "no such key"}}}, "the policy failed: no such key"},
		{"no verdict", policypoint.GateOutcome{Confidence: 1}, `the unknown verdict ""`},
		{"an unknown verdict", policypoint.GateOutcome{Verdict: "delete", Confidence: 1}, `the unknown verdict "delete"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			made := d.decide(says(c.out), proven(d))
			if made.Verdict != policypoint.VerdictRetain || made.Confidence != 0 || made.NextAction != verdict.NextRetain || !strings.Contains(made.Reason, c.says) {
				t.Errorf("%+v", made)
			}
		})
	}
}

func TestAPolicysConfidenceIsBroughtIntoItsBounds(t *testing.T) {
	for confidence, want := range map[float64]float64{7: 1, math.Inf(1): 1} {
		d := newMem(t)
		if made := d.decide(says{Verdict: policypoint.VerdictPromote, Confidence: confidence}, proven(d)); made.Confidence != want || made.Verdict != policypoint.VerdictPromote {
			t.Errorf("%v: %+v", confidence, made)
		}
	}
	for _, confidence := range []float64{math.NaN(), -1} {
		d := newMem(t)
		if made := d.decide(says{Verdict: policypoint.VerdictObsolete, Confidence: confidence}, proven(d)); made.Verdict != policypoint.VerdictRetain || made.IntendedConfidence != 0 {
			t.Errorf("%v: %+v", confidence, made)
		}
	}
}

func TestALongReasonIsCut(t *testing.T) {
	d := newMem(t)
	made := d.decide(says{Verdict: policypoint.VerdictRetain, Reason: strings.Repeat("ä", 600)}, proven(d))
	if want := strings.Repeat("ä", 500) + "…"; made.Reason != want {
		t.Errorf("%d bytes", len(made.Reason))
	}
}

// deaf is a policy that doesn't see that it was cancelled.
type deaf func()

func (f deaf) Gate(context.Context, core.Reader, *policypoint.GateInput) policypoint.GateOutcome {
	f()
	return policypoint.GateOutcome{Verdict: policypoint.VerdictObsolete, Confidence: 1}
}

func (f deaf) GateWorkings(ctx context.Context, r core.Reader, in *policypoint.GateInput, made policypoint.Decision) policypoint.GateWorkings {
	return says{}.GateWorkings(ctx, r, in, made)
}

func TestACancelledDecisionRetains(t *testing.T) {
	d := newMem(t)
	c := proven(d)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.view(func(r core.Reader) error {
		made, err := gate.New(deaf(cancel)).Decide(ctx, r, c)
		if err != nil || made.Verdict != policypoint.VerdictRetain || made.Confidence != 0 || made.Reason != "the decision was cancelled" {
			t.Errorf("%+v, error %v", made, err)
		}
		return nil
	})
}

func TestFactorsAndNotesAreChecked(t *testing.T) {
	long := strings.Repeat("x", 513)
	cases := []struct {
		name   string
		change func(*verdict.GateCase)
		says   string // "" is accepted
	}{
		{"the bounds of factors", func(c *verdict.GateCase) {
			c.Omega = policypoint.OmegaFactors{UpstreamStatus: of(0), RuntimeUtilityTrend: of(1)}
		}, ""},
		{"the most notes", func(c *verdict.GateCase) { c.Notes = slices.Repeat([]string{long[1:]}, gate.MaxNotes) }, ""},
		{"a factor above", func(c *verdict.GateCase) { c.Omega.UpstreamStatus = of(1.01) }, "upstream_status is 1.01"},
		{"a factor below", func(c *verdict.GateCase) { c.Omega.CodebaseVerification = of(-.01) }, "codebase_verification is -0.01"},
		{"a factor that is no number", func(c *verdict.GateCase) { c.Omega.RuntimeUtilityTrend = of(math.NaN()) }, "runtime_utility_trend is NaN"},
		{"too many notes", func(c *verdict.GateCase) { c.Notes = make([]string, gate.MaxNotes+1) }, "21 notes (limit 20)"},
		{"a long note", func(c *verdict.GateCase) { c.Notes = []string{"", long} }, "note 2 has 513 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			gateCase := &verdict.GateCase{Memory: memory(core.Signals{})}
			c.change(gateCase)
			d.view(func(r core.Reader) error {
				_, err := gate.New(retains).Decide(t.Context(), r, gateCase)
				if c.says == "" && err != nil || c.says != "" && (sdk.ReasonOf(err) != "evidence_invalid" || !strings.Contains(err.Error(), c.says)) {
					t.Errorf("error %v, want %q", err, c.says)
				}
				return nil
			})
		})
	}
}
