package policy_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// says repeats all that an access policy sees.
const says = `rule: {match: [{output: '{"allow": true, "reason": [subject, string(local), operation, scope, ns, string(size(scopes)), string(size(namespaces))].join("|") + "|" + scopes.join("+") + "|" + namespaces.join("+")}'}]}`

// TestAccess_DecidesByEachInput, asked first and again, and each decision is reported and recorded.
func TestAccess_DecidesByEachInput(t *testing.T) {
	set := load(t, "access/a.yaml", says).Set()
	var recorded []*policy.Record
	decisions := 0
	p := policy.New(policy.AllPoints(), policy.Options{
		Set: set, SampleEvery: 1, Log: func(_ context.Context, r *policy.Record) { recorded = append(recorded, r) },
		Decided: func(policypoint.Point, string) { decisions++ },
	})
	inputs := map[string]policypoint.AccessInput{}
	for want, change := range map[string]func(*policypoint.AccessInput){
		"s|false|o|c|n|2|2|a+b|x+y":   func(*policypoint.AccessInput) {},
		"so|false||c|n|2|2|a+b|x+y":   func(in *policypoint.AccessInput) { in.Subject, in.Operation = "so", "" },
		"s|true|o|c|n|2|2|a+b|x+y":    func(in *policypoint.AccessInput) { in.Local = true },
		"s|false|oc||n|2|2|a+b|x+y":   func(in *policypoint.AccessInput) { in.Operation, in.Scope = "oc", "" },
		"s|false|o||cn|2|2|a+b|x+y":   func(in *policypoint.AccessInput) { in.Scope, in.Namespace = "", "cn" },
		"s|false|o|c|n|1|2|ab|x+y":    func(in *policypoint.AccessInput) { in.Scopes = []string{"ab"} },
		"s|false|o|c|n|1|3|a|b+x+y":   func(in *policypoint.AccessInput) { in.Scopes, in.Namespaces = []string{"a"}, []string{"b", "x", "y"} },
		"s|false|o|c|n|2|0|a+b|":      func(in *policypoint.AccessInput) { in.Namespaces = nil },
		"s|false|o|c|n|2|2|a+b|x+y\t": func(in *policypoint.AccessInput) { in.Namespaces = []string{"x", "y\t"} },
	} {
		in := policypoint.AccessInput{Subject: "s", Operation: "o", Scope: "c", Namespace: "n", Scopes: []string{"a", "b"}, Namespaces: []string{"x", "y"}}
		change(&in)
		inputs[want] = in
	}
	for range 3 {
		for want, in := range inputs {
			out := p.Access(t.Context(), &in)
			if out.Reason != want || !out.Allow || out.Decision.Namespace != in.Namespace || out.Decision.File != "access/a.yaml" {
				t.Errorf("%+v, want %q", out, want)
			}
			if last := recorded[len(recorded)-1]; last.Inputs["subject"] != in.Subject || last.Output["reason"] != want {
				t.Errorf("recorded %+v, want %q", last, want)
			}
		}
	}
	if want := 3 * len(inputs); decisions != want || len(recorded) != want {
		t.Errorf("%d are reported and %d recorded of %d", decisions, len(recorded), want)
	}
}

// TestAccess_OneThatFailsIsDecidedAgain once there is time, and another set decides by itself.
func TestAccess_OneThatFailsIsDecidedAgain(t *testing.T) {
	p, in := load(t), &policypoint.AccessInput{Local: true}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for i, ctx := range []context.Context{over, t.Context(), over, t.Context()} {
		if got := p.Access(ctx, in); got.Allow != (ctx.Err() == nil) {
			t.Errorf("%d: %+v", i, got)
		}
	}
	p.Replace(load(t, "access/a.yaml", deny("**", "local", "closed")).Set())
	for range 2 {
		if got := p.Access(t.Context(), in); got.Allow || got.Code != "closed" {
			t.Errorf("by the new set: %+v", got)
		}
	}
}

// TestAccess_OfManyAtOnce are decided each by its own inputs, also when there are more than are kept.
func TestAccess_OfManyAtOnce(t *testing.T) {
	p := load(t, "access/a.yaml", says)
	var all sync.WaitGroup
	for caller := range 4 {
		all.Go(func() {
			for i := range 3000 {
				in := &policypoint.AccessInput{Subject: fmt.Sprint(i / 2 * (1 + caller%2))}
				if got, want := p.Access(t.Context(), in).Reason, in.Subject+"|false||||0|0||"; got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
	all.Wait()
}
