package policy_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// folder makes a policy folder of "point/file.yaml" and text.
func folder(files ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fs[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fs
}

// deny is a policy of reflect that denies with a code where a condition holds.
func deny(namespace, condition, code string) string {
	return fmt.Sprintf("namespace: %q\nrule: {match: [{condition: %q, output: '{\"allow\": false, \"code\": %q}'}]}\n", namespace, condition, code)
}

// The check of a store's decisions uses the domain's list of points.
func TestThePointsAreThoseOfTheDomain(t *testing.T) {
	if diff := cmp.Diff(policypoint.Points(), policy.AllPoints().Names()); diff != "" {
		t.Error(diff)
	}
}

func load(t *testing.T, files ...string) *policy.Policies {
	t.Helper()
	points := policy.AllPoints()
	set, err := points.Load(folder(files...))
	if err != nil {
		t.Fatal(err)
	}
	return policy.New(points, policy.Options{Set: set})
}

func TestTheMostSpecificPolicyDecidesFirst(t *testing.T) {
	p := load(t,
		"reflect/all.yaml", deny("**", "depth > 1", "all"),
		"reflect/tree.yaml", deny("a/**", "depth > 2", "tree"),
		"reflect/leaf.yaml", deny("a/b", "depth > 3", "leaf"),
		"reflect/README.md", "no policy",
		"reflect/all_test.yaml", "no policy either")
	for name, want := range map[string]string{
		"a/b 4": "leaf", "a/b 3": "tree", "a/b 2": "all", "a/b 1": "",
		"a/b/c 4": "tree", "a 4": "tree", "ab 4": "all", "a/bc 2": "all", " 2": "all",
	} {
		namespace, depth, _ := strings.Cut(name, " ")
		in := &policypoint.ReflectInput{Namespace: namespace, Depth: int64(depth[0] - '0')}
		if got := p.Reflect(context.Background(), nil, in); got.Code != want || got.Allow != (want == "") || got.Decision.Failure != nil {
			t.Errorf("%s: got %+v, want %q", name, got, want)
		}
	}
	chain, err := p.Set().Chain(policypoint.Reflect, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, policy := range chain {
		files = append(files, policy.File())
	}
	if diff := cmp.Diff([]string{"reflect/leaf.yaml", "reflect/tree.yaml", "reflect/all.yaml", "default/reflect.yaml"}, files); diff != "" {
		t.Error(diff)
	}
}

func TestAFolderReportsAllItsProblems(t *testing.T) {
	points := policy.AllPoints()
	for name, test := range map[string]struct {
		files  []string
		reason string
		text   []string
	}{
		"two of equal specificity": {[]string{"gate/a.yaml", deny("a/**", "true", "x"), "reflect/a.yaml", deny("a/**", "depth > 1", "x"), "reflect/b.yaml", deny("a/**", "depth > 1", "x")},
			"policy_invalid", []string{`reflect/b.yaml:1:12: the policy applies to "a/**", and so does reflect/a.yaml`, `gate/a.yaml:2:46: the output has no field "allow"`}},
		"an unknown point, and a wrong file": {[]string{"gates/a.yaml", "", "reflect/a.yaml", deny("**", "dept > 1", "x")},
			"policy_invalid", []string{`gates: there is no policy point "gates" (did you mean "gate"?)`, `did you mean "depth"?`}},
		"files that no point reads": {[]string{"x.yaml", deny("**", "true", "x"), "gate/sub/x.yaml", "", "notes.txt", "", ".git/x.yaml", "", "reflect/.x.yaml", "", "gate/STRICT.YAML", ""},
			"policy_invalid", []string{"x.yaml: no point reads a file in the root of the policy folder (put it into the folder of its point: retention, gate,",
				"gate/sub: a point's folder holds no folders: no file in this one would decide (put its files into gate itself;",
				"gate/STRICT.YAML: only files whose names end in .yaml or .yml in small letters are read"}},
		"numbers and words that no input makes right": {[]string{
			"gate/a.yaml", `rule: {match: [{condition: 1 / 0 > 1 || uses % 0 == 1, output: '{"verdict": "retain", "confidence": uses > 1 ? 7.0 : -0.5}'}, {output: '{"verdict": uses > 1 ? "keep" : "retain", "confidence": 1.0}'}]}`,
			"injection/a.yaml", `rule: {match: [{output: '{"mode": "single", "route": "react", "max_blocks": 0, "max_chars": 1, "ordering": "by_size"}'}]}`},
			"policy_invalid", []string{"gate/a.yaml:1:32: this divides by zero", "gate/a.yaml:1:48: this divides by zero", "confidence can't be 7 (it is from 0 to 1)",
				"confidence can't be -0.5", `verdict can't be "keep"`, "max_blocks can't be 0 (it is from 1 to 2147483647)", `ordering can't be "by_size"`}},
		"a condition that is too long, before another match": {[]string{
			"loop/a.yaml", "rule: {match: [{condition: '" + strings.Repeat("iteration == 1 || ", 2400) + "valid', output: '{\"accept\": true, \"stop\": false}'}, {output: '{\"accept\": accepted, \"stop\": false}'}]}"},
			"policy_invalid", []string{"condition has 43205 bytes, more than 16384 (split it into variables)"}},
		"a function that isn't there": {[]string{"reflect/a.yaml", deny("**", "title.lowerAsci() == 'a' || frobnicate(title)", "x")},
			"policy_invalid", []string{`there is no function "lowerAsci" (did you mean "lowerAscii"?)`, `there is no function "frobnicate" (beyond CEL's own there are clamp, least,`}},
		"CEL's own word":        {[]string{"reflect/a.yaml", deny("**", "namespace == 'a'", "x")}, "policy_invalid", []string{"the input is called ns"}},
		"a name of another one": {[]string{"reflect/a.yaml", deny("**", "verdict == 'a'", "x")}, "policy_invalid", []string{`nothing here is named "verdict"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := points.Load(folder(test.files...))
			if sdk.ReasonOf(err) != test.reason || sdk.CodeOf(err) != sdk.Invalid {
				t.Fatalf("got %v", err)
			}
			for _, text := range test.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in:\n%v", text, err)
				}
			}
			if strings.Contains(err.Error(), "can never be reached") || strings.Contains(err.Error(), "notes.txt") || strings.Contains(err.Error(), "/.") {
				t.Errorf("a problem is none:\n%v", err)
			}
			if sdk.AsError(err).Hint == "" {
				t.Error("there is no hint")
			}
		})
	}
}

// Each point has its own safe outcome where its policy fails at run time.
func TestAPolicyThatFailsIsSafe(t *testing.T) {
	fails := func(output string) string {
		return "rule: {match: [{condition: '1 / int(ns) == 1', output: '" + output + "'}]}"
	}
	p := load(t,
		"retention/x.yaml", fails(`{"ttl_score": 1.0, "state": "active"}`),
		"gate/x.yaml", fails(`{"verdict": "promote", "confidence": 1.0}`),
		"reflect/x.yaml", fails(`{"allow": true}`), "admission/x.yaml", fails(`{"allow": true}`), "access/x.yaml", fails(`{"allow": true}`),
		"loop/x.yaml", fails(`{"accept": true, "stop": false}`), "routing/x.yaml", fails(`{"confidence": "high"}`),
		"injection/x.yaml", fails(`{"mode": "single", "route": "graph", "max_blocks": 1, "max_chars": 1}`))
	ctx := context.Background()
	retention := p.Retention(ctx, nil, &policypoint.RetentionInput{State: "cooling", TTLScore: .3})
	gate := p.Gate(ctx, nil, &policypoint.GateInput{})
	loop := p.Loop(ctx, &policypoint.LoopInput{Valid: true, Accepted: true})
	injection := p.Injection(ctx, &policypoint.InjectionInput{})
	routing := p.Routing(ctx, &policypoint.RoutingInput{FinalScore: 1, Lead: 1})
	for i, denied := range []policypoint.Permission{p.Reflect(ctx, nil, &policypoint.ReflectInput{}), p.Admission(ctx, &policypoint.AdmissionInput{}), p.Access(ctx, &policypoint.AccessInput{Local: true})} {
		if denied.Allow || denied.Code != "policy_failed" {
			t.Errorf("permission %d: %+v", i, denied)
		}
	}
	if retention.State != "cooling" || retention.TTLScore != .3 || gate.Verdict != "retain" || gate.Confidence != 0 || loop.Accept || !loop.Stop ||
		routing.Confidence != "low" || injection.Mode != "classified" || injection.Route != "react" || injection.MaxBlocks != 12 || injection.MaxChars != 8000 {
		t.Errorf("got %+v %+v %+v %+v %+v", retention, gate, loop, routing, injection)
	}
	for _, d := range []policypoint.Decision{retention.Decision, gate.Decision, loop.Decision, injection.Decision, routing.Decision} {
		if d.Failure == nil || d.Failure.Code != "policy_failed" || d.Path != "match[0]" {
			t.Errorf("%s: %+v", d.Point, d.Failure)
		}
	}
}

func TestADecisionOfACancelledCallIsSafe(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := policy.New(policy.AllPoints(), policy.Options{})
	if got := p.Access(ctx, &policypoint.AccessInput{Local: true}); got.Allow || got.Decision.Failure.Code != "cancelled" {
		t.Errorf("got %+v", got)
	}
}

func TestTheDecisionLogKeepsWhatCounts(t *testing.T) {
	points := policy.AllPoints()
	set, err := points.Load(folder(
		"access/a.yaml", "mask: [subject, scopes]\nrule: {match: [{condition: operation == 'rm', output: '{\"allow\": false, \"code\": \"no\"}'}]}",
		"access/shadow.yaml", "shadow: true\nrule: {match: [{condition: operation == 'ls', output: '{\"allow\": false, \"code\": \"soon\"}'}]}"))
	if err != nil {
		t.Fatal(err)
	}
	var records []*policy.Record
	p := policy.New(points, policy.Options{Set: set, Log: func(_ context.Context, r *policy.Record) { records = append(records, r) }})
	ask := func(verb string, times int) {
		for range times {
			p.Access(context.Background(), &policypoint.AccessInput{Local: true, Subject: "ada", Operation: verb, Namespace: "n"})
		}
	}
	ask("get", 250)
	ask("rm", 1)
	ask("ls", 1)
	var skipped uint64
	for _, r := range records {
		skipped += r.Skipped
	}
	if len(records) != 4 || skipped != 248 {
		t.Fatalf("%d records, %d skipped", len(records), skipped)
	}
	sampled, denied, shadowed := records[0], records[2], records[3]
	if sampled.Skipped != 99 || sampled.File != "default/access.yaml" || sampled.Output["allow"] != true {
		t.Errorf("sampled: %+v", sampled)
	}
	want := map[string]any{"local": true, "operation": "rm", "scope": "", "ns": "n", "namespaces": []any{}}
	if diff := cmp.Diff(want, denied.Inputs); diff != "" || !cmp.Equal(denied.Masked, []string{"scopes", "subject"}) {
		t.Errorf("masked %v\n%s", denied.Masked, diff)
	}
	if denied.Skipped != 50 || denied.Path != "match[0]" || denied.Condition != "operation == 'rm'" || denied.Output["code"] != "no" || denied.Shadow != nil {
		t.Errorf("denied: %+v", denied)
	}
	if shadowed.Output["allow"] != true || shadowed.Shadow == nil || shadowed.Shadow.Output["code"] != "soon" || shadowed.Shadow.File != "access/shadow.yaml" {
		t.Errorf("shadowed: %+v", shadowed)
	}
}

func TestMasksReachIntoObjectsWithoutTouchingThem(t *testing.T) {
	points := policy.AllPoints()
	set, err := points.Load(folder("loop/a.yaml", "mask: [output.user.email, usage.x, errors.y]\nrule: {match: [{output: '{\"accept\": !valid, \"stop\": false}'}]}"))
	if err != nil {
		t.Fatal(err)
	}
	output := map[string]any{"user": map[string]any{"email": "a@b", "name": "Ada"}}
	record, err := set.Decide(context.Background(), policypoint.Loop, map[string]any{"output": output, "errors": []any{"secret"}}, core.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"user": map[string]any{"name": "Ada"}}
	if diff := cmp.Diff(want, record.Inputs["output"]); diff != "" {
		t.Error(diff)
	}
	if _, there := record.Inputs["errors"]; there || output["user"].(map[string]any)["email"] != "a@b" {
		t.Errorf("errors %v, output %v", record.Inputs["errors"], output)
	}
}

// A set is replaced as a whole: two policies that agree within each version
// never disagree, whatever is decided meanwhile.
func TestASetIsReplacedAsAWhole(t *testing.T) {
	points := policy.AllPoints()
	version := func(n int) *policy.Set {
		code := fmt.Sprintf("v%d", n)
		set, err := points.Load(folder("reflect/a.yaml", deny("**", "true", code), "reflect/b.yaml", deny("a/**", "depth > 1", code)))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	sets := []*policy.Set{version(0), version(1)}
	p := policy.New(points, policy.Options{Set: sets[0]})
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				if got := p.Reflect(context.Background(), nil, &policypoint.ReflectInput{Namespace: "a", Depth: 2}); got.Allow || got.Decision.Failure != nil {
					t.Errorf("undecided: %+v", got)
					return
				}
			}
		})
	}
	for i := range 1000 {
		p.Replace(sets[i%2])
	}
	stop.Store(true)
	wg.Wait()
}
