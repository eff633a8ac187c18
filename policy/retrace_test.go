package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

const retracedGate = `%srule:
  variables:
    - {name: rate, expression: double(failure_count) / double(uses)}
  match:
    - condition: uses < 3
      output: '{"verdict": "retain", "confidence": 0.5, "reason": "few"}'
    - condition: >
        uses >= 3
        && variables.rate <= 0.25
      output: '{"verdict": "promote", "confidence": q_value, "reason": "often"}'

    - output: '{"verdict": "retain", "confidence": 0.1, "reason": "other"}'
`

// retraced decides by a file, and is what the record looks like by a file that may be another:
// the result of each match, and its lines with what they saw.
func retraced(t *testing.T, decides, shows string) (got []string) {
	t.Helper()
	points := policy.AllPoints()
	set, err := points.Load(folder("gate/a.yaml", decides))
	if err != nil {
		t.Fatal(err)
	}
	record, err := set.Decide(t.Context(), policypoint.Gate, map[string]any{
		"ns": "a", "uses": int64(4), "failure_count": int64(1), "q_value": 0.9, "tags": []any{"secret"},
	}, &coretest.Clock{})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = points.Load(folder("gate/a.yaml", shows)); err != nil {
		t.Fatal(err)
	}
	by, matches := set.Retrace(t.Context(), record)
	if (by == nil) != (matches == nil) {
		t.Fatalf("%v of %v", matches, by)
	}
	for _, m := range matches {
		got = append(got, m.Path+" "+m.Result)
		for _, c := range m.Comparisons {
			got = append(got, fmt.Sprint(c.Name, " ", c.Value, " ", c.Op, " ", c.Limit, c.LimitName, " ", c.Holds))
		}
		for _, l := range m.Lines {
			for _, v := range l.Values {
				got = append(got, fmt.Sprint(l.Line, " ", v.Name, " ", v.Value))
			}
		}
	}
	return got
}

// TestRetrace_ShowsWhatEachLineSaw, as long as the file is the same.
func TestRetrace_ShowsWhatEachLineSaw(t *testing.T) {
	plain, masked := fmt.Sprintf(retracedGate, ""), fmt.Sprintf(retracedGate, "mask: [failure_count, tags]\n")
	want := []string{"match[0] not_held", "uses 4 < 3 false", "5 uses 4", "match[1] decided", "uses 4 >= 3 true", "rate 0.25 <= 0.25 true", "8 uses 4", "9 rate 0.25", "10 q_value 0.9", "match[2] not_reached"}
	if got := retraced(t, plain, plain); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	blind := []string{"match[0] unknown", "uses 4 < 3 false", "6 uses 4", "match[1] decided", "uses 4 >= 3 true", "9 uses 4", "11 q_value 0.9", "match[2] unknown"}
	if got := retraced(t, masked, masked); !slices.Equal(got, blind) {
		t.Errorf("masked: %q\nwant %q", got, blind)
	}
	if got := retraced(t, plain, plain+"\n"); got != nil {
		t.Errorf("another file: %q", got)
	}
}

// TestRetrace_OfTheDefaults: every point's default decides without inputs, and shows its lines.
func TestRetrace_OfTheDefaults(t *testing.T) {
	set := policy.AllPoints().Defaults()
	for _, point := range policypoint.Points() {
		inputs := map[string]any{"ns": "a"}
		if point == policypoint.Retention { // which has no default for a memory without a state
			inputs["state"] = "open"
		}
		record, err := set.Decide(t.Context(), point, inputs, &coretest.Clock{})
		if err != nil {
			t.Fatal(err)
		}
		by, matches := set.Retrace(t.Context(), record)
		decided := slices.ContainsFunc(matches, func(m policy.RecordedMatch) bool {
			return m.Path == record.Path && m.Result == policy.MatchDecided && len(m.Lines) > 0
		})
		if by == nil || !by.BuiltIn() || !decided {
			t.Errorf("%s: %+v", point, matches)
		}
	}
}

// TestRetrace_Comparisons: of numbers with constants on either side, and with other inputs, but
// not with anything that would have to be computed.
func TestRetrace_Comparisons(t *testing.T) {
	set, err := policy.AllPoints().Load(folder("retention/a.yaml", `rule:
  match:
    - condition: ttl_score > w_hit + w_utility || 0.35 > ttl_score && !(ttl_score >= active_threshold) && state == "open" && turn == 7
      output: '{"ttl_score": 0.5, "state": "cooling"}'
    - condition: miss_streak > -1 || tags.exists(turn, size(turn) == 3)
      output: '{"ttl_score": 0.5, "state": "open"}'
`))
	if err != nil {
		t.Fatal(err)
	}
	record, err := set.Decide(t.Context(), policypoint.Retention, map[string]any{
		"ns": "a", "state": "open", "turn": int64(7), "ttl_score": 0.2, "active_threshold": 0.3, "w_hit": 0.5,
	}, &coretest.Clock{})
	if err != nil {
		t.Fatal(err)
	}
	_, matches := set.Retrace(t.Context(), record)
	var got []policy.RecordedComparison
	for _, m := range matches {
		got = append(got, m.Comparisons...)
	}
	want := []policy.RecordedComparison{
		{Name: "ttl_score", Value: 0.2, Op: "<", Limit: 0.35, Holds: true},
		{Name: "ttl_score", Value: 0.2, Op: ">=", Limit: 0.3, LimitName: "active_threshold"},
		{Name: "turn", Value: 7, Op: "==", Limit: 7, Holds: true},
		{Name: "miss_streak", Value: 0, Op: ">", Limit: -1, Holds: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
