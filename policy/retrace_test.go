package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
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
	record, err := set.Decide(t.Context(), core.PointGate, map[string]any{
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
	want := []string{"match[0] not_held", "5 uses 4", "match[1] decided", "8 uses 4", "9 rate 0.25", "10 q_value 0.9", "match[2] not_reached"}
	if got := retraced(t, plain, plain); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	blind := []string{"match[0] unknown", "6 uses 4", "match[1] decided", "9 uses 4", "11 q_value 0.9", "match[2] unknown"}
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
	for _, point := range core.PolicyPoints() {
		inputs := map[string]any{"ns": "a"}
		if point == core.PointRetention { // which has no default for a memory without a state
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
