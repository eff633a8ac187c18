package policy_test

import (
	"context"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// cooling is a memory whose decision asks most of the default's conditions.
func cooling() *policypoint.RetentionInput {
	return &policypoint.RetentionInput{
		Namespace: "team/a", State: "cooling", Turn: 90, CreatedTurn: 10, LastHitTurn: 80, Hits: 4, MissStreak: 2, RelevantTurns: 12,
		Sessions: 1, Successes: 2, Failures: 1, HitRate: 0.4, Utility: 0.6, Q: 0.5, Weights: core.DefaultRetentionWeights(),
	}
}

func BenchmarkRetention(b *testing.B) {
	p := policy.New(policy.AllPoints(), policy.Options{})
	in := cooling()
	b.ReportAllocs()
	for b.Loop() {
		if out := p.Retention(context.Background(), nil, in); out.State != "cooling" {
			b.Fatal(out)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	p := policy.New(policy.AllPoints(), policy.Options{})
	in := &policypoint.GateInput{Successes: 5, RelevantTurns: 9, Q: 0.9}
	b.ReportAllocs()
	for b.Loop() {
		if out := p.Gate(context.Background(), nil, in); out.Verdict != "retain" {
			b.Fatal(out)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	points := policy.AllPoints()
	files := folder("reflect/a.yaml", deny("**", "depth > 1 && size(tags) > 0", "x"), "reflect/b.yaml", deny("a/**", "depth > 1", "x"))
	for b.Loop() {
		if _, err := points.Load(files); err != nil {
			b.Fatal(err)
		}
	}
}
