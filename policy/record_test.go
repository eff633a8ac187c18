package policy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// What is recorded always, and what only once in a hundred times.
func TestWhatIsRecordedAlways(t *testing.T) {
	points := policy.AllPoints()
	ctx := context.Background()
	cooling := policypoint.RetentionInput{State: "cooling", HitRate: 1, Weights: core.DefaultRetentionWeights()}
	for name, test := range map[string]struct {
		files  []string
		decide func(p *policy.Policies)
		always bool
	}{
		"the gate":                             {nil, func(p *policy.Policies) { p.Gate(ctx, nil, &policypoint.GateInput{}) }, true},
		"reflect, also where it allows":        {nil, func(p *policy.Policies) { p.Reflect(ctx, nil, &policypoint.ReflectInput{}) }, true},
		"admission, also where it allows":      {nil, func(p *policy.Policies) { p.Admission(ctx, &policypoint.AdmissionInput{}) }, true},
		"access denied":                        {nil, func(p *policy.Policies) { p.Access(ctx, &policypoint.AccessInput{}) }, true},
		"access allowed":                       {nil, func(p *policy.Policies) { p.Access(ctx, &policypoint.AccessInput{Local: true}) }, false},
		"retention that changes the state":     {nil, func(p *policy.Policies) { p.Retention(ctx, nil, &cooling) }, true},
		"retention that doesn't":               {nil, func(p *policy.Policies) { p.Retention(ctx, nil, &policypoint.RetentionInput{State: "open"}) }, false},
		"a loop that goes by the workflow":     {nil, func(p *policy.Policies) { p.Loop(ctx, &policypoint.LoopInput{Accepted: true}) }, false},
		"a loop that doesn't":                  {[]string{"loop/a.yaml", `rule: {match: [{output: '{"accept": valid, "stop": false}'}]}`}, func(p *policy.Policies) { p.Loop(ctx, &policypoint.LoopInput{Accepted: true}) }, true},
		"a loop that is given up":              {[]string{"loop/a.yaml", `rule: {match: [{output: '{"accept": accepted, "stop": true}'}]}`}, func(p *policy.Policies) { p.Loop(ctx, &policypoint.LoopInput{}) }, true},
		"injection":                            {nil, func(p *policy.Policies) { p.Injection(ctx, &policypoint.InjectionInput{}) }, false},
		"routing":                              {nil, func(p *policy.Policies) { p.Routing(ctx, &policypoint.RoutingInput{}) }, false},
		"a failure":                            {[]string{"routing/a.yaml", `rule: {match: [{condition: 1 / candidates > 0, output: '{"confidence": "high"}'}]}`}, func(p *policy.Policies) { p.Routing(ctx, &policypoint.RoutingInput{}) }, true},
		"what a shadow would decide otherwise": {[]string{"routing/a.yaml", `{shadow: true, rule: {match: [{output: '{"confidence": "high"}'}]}}`}, func(p *policy.Policies) { p.Routing(ctx, &policypoint.RoutingInput{}) }, true},
		"what a shadow would decide alike":     {[]string{"routing/a.yaml", `{shadow: true, rule: {match: [{output: '{"confidence": "low"}'}]}}`}, func(p *policy.Policies) { p.Routing(ctx, &policypoint.RoutingInput{}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := points.Load(folder(test.files...))
			if err != nil {
				t.Fatal(err)
			}
			recorded := 0
			p := policy.New(points, policy.Options{Set: set, Log: func(context.Context, *policy.Record) { recorded++ }})
			for range 200 {
				test.decide(p)
			}
			if want := map[bool]int{true: 200, false: 2}[test.always]; recorded != want {
				t.Errorf("%d of 200 are recorded, want %d", recorded, want)
			}
		})
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	var records []*policy.Record
	p := policy.New(policy.AllPoints(), policy.Options{SampleFrom: 98, Log: func(_ context.Context, r *policy.Record) { records = append(records, r) }})
	for range 5 {
		p.Routing(context.Background(), &policypoint.RoutingInput{})
	}
	if len(records) != 1 || records[0].Skipped != 1 {
		t.Errorf("got %+v", records)
	}
	if diff := cmp.Diff(map[policypoint.Point]uint64{policypoint.Routing: 3}, p.Unrecorded()); diff != "" {
		t.Error(diff)
	}
}

// Inputs that are too large to keep are left out; such a decision can't be decided
// again.
func TestARecordIsOfBoundedSize(t *testing.T) {
	points := policy.AllPoints()
	set := points.Defaults()
	values := map[string]any{"output": strings.Repeat("x", policy.MaxRecordBytes), "accepted": true}
	large, err := set.Decide(context.Background(), policypoint.Loop, values, core.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := large.Encode()
	if err != nil || len(text) > 2000 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	read, err := policy.DecodeRecord(text)
	if err != nil || !read.Omitted || len(read.Inputs) != 0 || read.Output["accept"] != true {
		t.Errorf("got %+v, %v", read, err)
	}
	if r, err := set.Replay(context.Background(), recordsOf(*read, 2), policy.ReplayOptions{Since: time.Time{}}); err != nil || r.Skipped != 2 || r.Decided != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	large.Output = map[string]any{"reason": strings.Repeat("x", policy.MaxRecordBytes)}
	if _, err := large.Encode(); sdk.ReasonOf(err) != "decision_too_large" {
		t.Errorf("got %v", err)
	}
}

func TestTheOutcomeOfARecordIsNoContent(t *testing.T) {
	points := policy.AllPoints()
	record := &policy.Record{Decision: policypoint.Decision{Point: policypoint.Gate}, Output: map[string]any{"verdict": "retain", "confidence": 0.5, "reason": "of Ada"}}
	if got := string(jsontext.MustEncode(points.Outcome(record))); got != `{"confidence":0.5,"verdict":"retain"}` {
		t.Errorf("got %s", got)
	}
	record = &policy.Record{Decision: policypoint.Decision{Point: policypoint.Reflect}, Output: map[string]any{"allow": false, "code": "ada", "reason": "of Ada"}}
	if got := string(jsontext.MustEncode(points.Outcome(record))); got != `{"allow":false}` {
		t.Errorf("got %s", got)
	}
}

// The loop's inputs are JSON until a policy names them.
func TestALoopPolicySeesTheAttempt(t *testing.T) {
	p := load(t, "loop/a.yaml", `
rule:
  match:
    - condition: >
        output.n == 7 && errors[0].message == "m" && size(history) == 2 && history[1].score > 0.4
        && usage.tokens == 3 && usage.wall_ms == 5 && best_score == 0.9 && !valid && accepted
      output: '{"accept": true, "stop": true}'`)
	in := &policypoint.LoopInput{
		Accepted: true, BestScore: .9, Errors: []sdk.Finding{{Message: "m"}}, Output: json.RawMessage(`{"n": 7}`),
		History: [][]byte{[]byte(`{"score":0.9}`), []byte(`{"score":0.5}`)},
		Usage:   core.RunUsage{Usage: sdk.Usage{TokensIn: 1, TokensOut: 2}, WallMillis: 5},
	}
	if out := p.Loop(context.Background(), in); !out.Accept || !out.Stop || out.Decision.File != "loop/a.yaml" {
		t.Errorf("got %+v", out)
	}
	if out := p.Loop(context.Background(), &policypoint.LoopInput{}); out.Accept || out.Decision.File != "default/loop.yaml" {
		t.Errorf("got %+v", out)
	}
}

// What a decision allocates is held, so that it doesn't grow unseen: the race
// detector adds some.
func TestADecisionAllocatesLittle(t *testing.T) {
	p, in := policy.New(policy.AllPoints(), policy.Options{}), cooling()
	if n := testing.AllocsPerRun(1000, func() { p.Retention(context.Background(), nil, in) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}

// TestWhatQuotesAMaskedInputIsNoMoreKeptThanIt: texts of the outcome that come of what
// is masked, whatever way they take, are left out of the record; the caller gets
// them all the same. Titles are masked by the default policy.
func TestWhatQuotesAMaskedInputIsNoMoreKeptThanIt(t *testing.T) {
	const plain = `"allow": true, "code": "fine", "reason": "depth " + string(depth)`
	cases := []struct {
		name, rule, shadow string
		hidden             []string
		kept               map[string]any
	}{
		{"a reason", `{match: [{output: '{"allow": true, "reason": "about " + title}'}]}`, "", []string{"reason"}, map[string]any{"allow": true}},
		{"a code", `{match: [{output: '{"allow": false, "code": title}'}]}`, "", []string{"code"}, map[string]any{"allow": false}},
		{"an element", `{match: [{output: '{"allow": true, "reason": tags[0]}'}]}`, "", []string{"reason"}, map[string]any{"allow": true}},
		{"a choice", `{match: [{output: '{"allow": true, "reason": title == "" ? "untitled" : "titled"}'}]}`, "", []string{"reason"}, map[string]any{"allow": true}},
		{"by variables", `{variables: [{name: a, expression: title}, {name: b, expression: variables.a + "!"}], match: [{output: '{"allow": true, "reason": variables.b}'}]}`, "", []string{"reason"}, map[string]any{"allow": true}},
		{"a nested rule", `{match: [{condition: depth > 0, rule: {variables: [{name: a, expression: title}], match: [{output: '{"allow": true, "reason": variables.a}'}]}}]}`, "", []string{"reason"}, map[string]any{"allow": true}},
		{"an explanation", `{match: [{output: '{` + plain + `}', explanation: '"since it is " + title'}]}`, "", []string{"explanation"}, map[string]any{"allow": true, "code": "fine", "reason": "depth 1"}},
		{"a failure", `{match: [{condition: '{"a": 1}[title] > 0', output: '{"allow": true}'}]}`, "", []string{"failure"}, map[string]any{"allow": false, "code": "policy_failed", "reason": "the policy failed"}},
		{"a failure after an explanation", `{match: [{output: '{"allow": {"a": true}[title]}', explanation: title}]}`, "", []string{"explanation", "failure"}, map[string]any{"allow": false, "code": "policy_failed", "reason": "the policy failed"}},
		{"a failure of what reads nothing masked", `{match: [{condition: 1 / (depth - 1) > 0, output: '{"allow": true}'}]}`, "", nil, map[string]any{"allow": false, "code": "policy_failed", "reason": "the policy failed"}},
		{"only the condition", `{match: [{condition: title.startsWith("secret"), output: '{` + plain + `}', explanation: '"of depth " + string(depth)'}]}`, "", nil, map[string]any{"allow": true, "code": "fine", "reason": "depth 1"}},
		{"a shadow's", `{match: [{output: '{` + plain + `}'}]}`, `{match: [{output: '{"allow": false, "reason": title}', explanation: title}]}`, nil, map[string]any{"allow": true, "code": "fine", "reason": "depth 1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := []string{"reflect/a.yaml", "rule: " + c.rule}
			if c.shadow != "" {
				files = append(files, "reflect/shadow.yaml", "shadow: true\nrule: "+c.shadow)
			}
			points := policy.AllPoints()
			set, err := points.Load(folder(files...))
			if err != nil {
				t.Fatal(err)
			}
			var records []*policy.Record
			p := policy.New(points, policy.Options{Set: set, Log: func(_ context.Context, r *policy.Record) { records = append(records, r) }})
			said := p.Reflect(context.Background(), nil, &policypoint.ReflectInput{Title: "secret title", Tags: []string{"secret tag"}, Depth: 1})
			if len(records) != 1 {
				t.Fatalf("%d records", len(records))
			}
			r := records[0]
			text, err := r.Encode()
			if err != nil || strings.Contains(string(text), "secret t") {
				t.Errorf("the record says it (%v): %s", err, text)
			}
			if diff := cmp.Diff(c.hidden, r.Hidden); diff != "" {
				t.Errorf("hidden (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.kept, r.Output); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			live := said.Code + said.Reason + said.Decision.Explanation
			if said.Decision.Failure != nil {
				live += said.Decision.Failure.Message
			}
			if len(c.hidden) > 0 && c.name != "a choice" && !strings.Contains(live, "secret") {
				t.Errorf("whoever asked is told %+v", said)
			}
		})
	}
}
