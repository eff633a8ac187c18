package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

func TestALogIsReadAsItWasWritten(t *testing.T) {
	points := policy.AllPoints()
	var written bytes.Buffer
	log := policy.NewLog(&written)
	p := policy.New(points, policy.Options{Log: log.Record, Clock: &coretest.Clock{}})
	p.Gate(context.Background(), nil, &policypoint.GateInput{Namespace: "a<b", Successes: 3, Q: 1})
	p.Loop(context.Background(), &policypoint.LoopInput{Output: json.RawMessage(`{"n": 1152921504606846977, "f": 1.5}`)})
	p.Injection(context.Background(), &policypoint.InjectionInput{}) // not the hundredth: skipped
	if log.Err() != nil || strings.Count(written.String(), "\n") != 1 {
		t.Fatalf("%v\n%s", log.Err(), &written)
	}
	written.WriteString(`{"half a line`)
	var records []*policy.Record
	for r, err := range policy.ReadLog(&written) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if len(records) != 1 || records[0].Namespace != "a<b" || records[0].Inputs["success_count"] != int64(3) || records[0].Output["verdict"] != "retain" {
		t.Fatalf("got %+v", records)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestALogThatIsBrokenStaysSoAndSaysWhy(t *testing.T) {
	log := policy.NewLog(broken{})
	for range 2 {
		log.Record(context.Background(), &policy.Record{})
	}
	if sdk.ReasonOf(log.Err()) != "decision_log_broken" {
		t.Errorf("got %v", log.Err())
	}
}

func TestReadLogNamesTheLineThatIsWrong(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":    "{\"inputs\":{},\"output\":{}}\nno\n",
		"no objects": "{\"inputs\":{},\"output\":{}}\n{\"inputs\":[],\"output\":{}}\n",
		"nothing":    "{\"inputs\":{},\"output\":{}}\n{}\n",
	} {
		var last error
		n := 0
		for _, err := range policy.ReadLog(strings.NewReader(text)) {
			last = err
			n++
		}
		if n != 2 || sdk.ReasonOf(last) != "decision_log_invalid" || !strings.Contains(last.Error(), "line 2") {
			t.Errorf("%s: %d records, %v", name, n, last)
		}
	}
}

// recordsOf repeats one record.
func recordsOf(r policy.Record, n int) iter.Seq2[*policy.Record, error] {
	return func(yield func(*policy.Record, error) bool) {
		for range n {
			if !yield(&r, nil) {
				return
			}
		}
	}
}

func gateRecord(at time.Time, output map[string]any) policy.Record {
	return policy.Record{
		At: at, Decision: policypoint.Decision{Point: policypoint.Gate, Namespace: "a", File: "default/gate.yaml", Path: "match[3]"},
		Inputs: map[string]any{"ns": "a", "uses": int64(4), "success_count": int64(4), "react": 0.5, "q_value": int64(1)},
		Output: output,
	}
}

func TestReplayReportsWhatWouldChange(t *testing.T) {
	points := policy.AllPoints()
	set, err := points.Load(folder("gate/a.yaml", `rule: {match: [{condition: uses == 4, output: '{"verdict": "obsolete", "confidence": 1.0, "reason": "four"}'}]}`))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	r, err := set.Replay(context.Background(), recordsOf(gateRecord(at, map[string]any{"verdict": "retain"}), 3), policy.ReplayOptions{Since: at})
	if err != nil || r.Decided != 3 || r.Changed != 3 {
		t.Fatalf("got %+v, %v", r, err)
	}
	want := policy.Change{
		At: at, Point: policypoint.Gate, Namespace: "a", Before: map[string]any{"verdict": "retain"},
		After:      map[string]any{"verdict": "obsolete", "confidence": 1.0, "reason": "four"},
		FileBefore: "default/gate.yaml match[3]", FileAfter: "gate/a.yaml match[0]",
	}
	if diff := cmp.Diff(want, r.Changes[2]); diff != "" {
		t.Error(diff)
	}
	if want := []policy.ReplayedOutcome{{Point: policypoint.Gate, Before: "retain", After: "obsolete", Count: 3, Changed: 3}}; !slices.Equal(r.Outcomes, want) {
		t.Errorf("got %+v", r.Outcomes)
	}
	same := map[string]any{"verdict": "obsolete", "confidence": int64(1), "reason": "four"} // 1.0 went through JSON
	if r, err = set.Replay(context.Background(), recordsOf(gateRecord(at, same), 2), policy.ReplayOptions{Since: time.Time{}}); err != nil || r.Decided != 2 || r.Changed != 0 ||
		!slices.Equal(r.Outcomes, []policy.ReplayedOutcome{{Point: policypoint.Gate, Before: "obsolete", After: "obsolete", Count: 2}}) {
		t.Errorf("nothing changes: got %+v, %v", r, err)
	}
	if r, err = set.Replay(context.Background(), recordsOf(gateRecord(at, nil), 2), policy.ReplayOptions{Since: at.Add(1)}); err != nil || r.Decided != 0 {
		t.Errorf("nothing is as new: got %+v, %v", r, err)
	}
	masked := gateRecord(at, nil)
	masked.Masked = []string{"uses"}
	if r, err = set.Replay(context.Background(), recordsOf(masked, 2), policy.ReplayOptions{Since: at}); err != nil || r.Skipped != 2 || r.Decided != 0 {
		t.Errorf("masked inputs: got %+v, %v", r, err)
	}
	other := gateRecord(at, nil)
	other.Point = "gone"
	if _, err = set.Replay(context.Background(), recordsOf(other, 1), policy.ReplayOptions{Since: at}); sdk.ReasonOf(err) != "policy_point_unknown" {
		t.Errorf("another point: got %v", err)
	}
}

// TestReplay_ComparesEffects: the host's own conditions hold for what was decided as for what
// would be, so that an output that had no effect then isn't a change now.
func TestReplay_ComparesEffects(t *testing.T) {
	set, err := policy.AllPoints().Load(folder("gate/a.yaml", `rule: {match: [{output: '{"verdict": "obsolete", "confidence": 1.0, "reason": "all"}'}]}`))
	if err != nil {
		t.Fatal(err)
	}
	engine := func(_ policypoint.Point, inputs, output map[string]any) (map[string]any, []string) {
		if inputs["memory_id"] == "kept" && output["verdict"] != "retain" {
			return map[string]any{"verdict": "retain"}, []string{"named_uses"}
		}
		return map[string]any{"verdict": output["verdict"]}, nil
	}
	for _, c := range []struct {
		memory, was string
		want        policy.Change
		counts      [2]int // changed, refused
	}{
		{"kept", "promote", policy.Change{Before: map[string]any{"verdict": "retain"}, Unmet: []string{"named_uses"}}, [2]int{0, 1}},
		{"kept", "retain", policy.Change{Before: map[string]any{"verdict": "retain"}, Unmet: []string{"named_uses"}}, [2]int{0, 1}},
		{"free", "promote", policy.Change{Before: map[string]any{"verdict": "promote"}}, [2]int{1, 0}},
	} {
		record := gateRecord(time.Now(), map[string]any{"verdict": c.was, "confidence": 0.5, "reason": "then"})
		record.Inputs["memory_id"] = c.memory
		r, err := set.Replay(t.Context(), recordsOf(record, 1), policy.ReplayOptions{Engine: engine})
		if err != nil || len(r.Changes) != 1 || [2]int{r.Changed, r.Refused} != c.counts {
			t.Errorf("%s, %s: %+v, %v", c.memory, c.was, r, err)
			continue
		}
		got := r.Changes[0]
		if got.Subject != c.memory || !cmp.Equal(got.Before, c.want.Before) || !slices.Equal(got.Unmet, c.want.Unmet) || (got.Wanted != nil) != (c.want.Unmet != nil) {
			t.Errorf("%s, %s: %+v", c.memory, c.was, got)
		}
	}
}

// 100,000 within 10 s is a figure of make bench.
func TestReplayCountsAllAndListsTheFirst(t *testing.T) {
	set, record := policy.AllPoints().Defaults(), gateRecord(time.Now(), map[string]any{"verdict": "retain"})
	r, err := set.Replay(context.Background(), recordsOf(record, 3000), policy.ReplayOptions{Since: time.Time{}})
	if err != nil || r.Decided != 3000 || r.Changed != 3000 || len(r.Changes) != 1000 {
		t.Fatalf("got %d, %d, %d, %v", r.Decided, r.Changed, len(r.Changes), err)
	}
}

func TestDiffComparesWhatDecides(t *testing.T) {
	points := policy.AllPoints()
	set := func(files ...string) *policy.Set {
		s, err := points.Load(folder(files...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := set("reflect/a.yaml", deny("a/**", "depth > 1", "x"), "reflect/gone.yaml", deny("b", "depth > 1", "x"))
	same := set("reflect/renamed.yaml", "# a comment\ndescription: another\n"+deny("a/**", "depth  >  1", "x"), "reflect/gone.yaml", deny("b", "depth > 1", "x"))
	if d := policy.Diff(before, same); len(d) != 0 {
		t.Errorf("got %+v", d)
	}
	after := set("reflect/a.yaml", deny("a/**", "depth > 2", "x"), "reflect/new.yaml", "shadow: true\n"+deny("**", "depth > 3", "x"))
	var got []string
	for _, d := range policy.Diff(before, after) {
		got = append(got, fmt.Sprintf("%s %t %s→%s -%d +%d", d.Namespace, d.Shadow, d.Before, d.After, len(d.Removed), len(d.Added)))
	}
	want := []string{"** true →reflect/new.yaml -0 +1", "a/** false reflect/a.yaml→reflect/a.yaml -1 +1", "b false reflect/gone.yaml→ -1 +0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
