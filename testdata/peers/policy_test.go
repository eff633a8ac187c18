package peers

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

const (
	decisionRounds = 21
	decisionTurn   = 200
	// regoTarget is how many times as long OPA takes at least.
	regoTarget = 40
)

// regoRetention is the default retention policy in Rego.
const regoRetention = `package retention

ttl := round(1e9 * (((input.w_hit * input.hit_rate + input.w_utility * input.utility_score) - input.w_miss * input.miss_streak) - input.w_stale * input.inactivity_turn_gap)) / 1e9

rate := input.failure_count / input.uses

free if not input.gated
free if input.since_gate >= input.gate_rest

candidate if { input.uses >= 3; rate >= 0.70 }
candidate if { input.uses >= 3; rate <= 0.25; input.sessions >= 2 }

state := "revalidate_pending" if {
	input.uses >= 3
	input.state in {"open", "active", "cooling"}
	free
	candidate
} else := "cooling" if { input.state == "active"; ttl < input.active_threshold
} else := "active" if { input.state == "open"; input.hit_count > 0; ttl >= input.active_threshold
} else := "cooling" if { input.state == "open"; input.relevant_turns >= 5; ttl < input.active_threshold
} else := "active" if { input.state == "cooling"; ttl >= round(1e9 * (input.active_threshold + input.hysteresis)) / 1e9; input.since_cooled >= input.cooling_wait
} else := "revalidate_pending" if { input.state == "cooling"; ttl < input.revalidate_threshold; free
} else := input.state

decision := {"ttl_score": ttl, "state": state}
`

// exprRetention is the same for expr-lang.
const exprRetention = `let ttl = rounded(w_hit * hit_rate + w_utility * utility_score - w_miss * miss_streak - w_stale * inactivity_turn_gap);
let rate = failure_count / uses;
let free = !gated || since_gate >= gate_rest;
let state2 = uses >= 3 && state in ["open", "active", "cooling"] && free && (rate >= 0.70 || (rate <= 0.25 && sessions >= 2)) ? "revalidate_pending"
  : state == "active" && ttl < active_threshold ? "cooling"
  : state == "open" && hit_count > 0 && ttl >= active_threshold ? "active"
  : state == "open" && relevant_turns >= 5 && ttl < active_threshold ? "cooling"
  : state == "cooling" && ttl >= rounded(active_threshold + hysteresis) && since_cooled >= cooling_wait ? "active"
  : state == "cooling" && ttl < revalidate_threshold && free ? "revalidate_pending"
  : state;
{"ttl_score": ttl, "state": state2}`

// retained is what each engine decides.
type retained struct {
	score float64
	state string
}

// memories are inputs of every state and outcome.
func memories() []*policypoint.RetentionInput {
	var list []*policypoint.RetentionInput
	for i, state := range []string{"open", "active", "cooling", "revalidate_pending"} {
		for j := range int64(25) {
			list = append(list, &policypoint.RetentionInput{
				Namespace: "team/a", State: state, Turn: 100, CreatedTurn: 10, LastHitTurn: 60 + j, Hits: j % 3, MissStreak: j % 4,
				RelevantTurns: j, Gated: j%5 == 0, SinceGate: j, GateRest: 10, SinceCooled: j % 7, CoolingWait: 5, Sessions: j % 3, Successes: j % 7, Failures: (j + int64(i)) % 5,
				HitRate: float64(j) / 25, Utility: 0.5 + float64(j%2)/2, Q: 0.5, Weights: core.DefaultRetentionWeights(),
			})
		}
	}
	return list
}

// asMap is the input as engines take it that know no Go types.
func asMap(in *policypoint.RetentionInput) map[string]any {
	return map[string]any{
		"state": in.State, "hit_count": in.Hits, "miss_streak": in.MissStreak, "inactivity_turn_gap": in.InactivityGap(),
		"relevant_turns": in.RelevantTurns, "gated": in.Gated, "since_gate": in.SinceGate, "gate_rest": in.GateRest,
		"since_cooled": in.SinceCooled, "cooling_wait": in.CoolingWait, "sessions": in.Sessions,
		"failure_count": in.Failures, "uses": in.Uses(), "hit_rate": in.CorrectedHitRate(), "utility_score": in.Utility,
		"w_hit": in.Weights.Hit, "w_utility": in.Weights.Utility, "w_miss": in.Weights.Miss, "w_stale": in.Weights.Stale,
		"active_threshold": in.Weights.Active, "revalidate_threshold": in.Weights.Revalidate, "hysteresis": in.Weights.Hysteresis,
	}
}

// engine decides retention.
type engine struct {
	name   string
	decide func(in *policypoint.RetentionInput) (retained, error)
}

// engines are this project's first, each with its rules compiled once.
func engines(t *testing.T) []engine {
	t.Helper()
	own := policy.New(policy.AllPoints(), policy.Options{})
	return []engine{
		{"Reflectory", func(in *policypoint.RetentionInput) (retained, error) {
			out := own.Retention(context.Background(), nil, in)
			return retained{out.TTLScore, out.State}, nil
		}},
		{"OPA", newRego(t)},
		{"expr-lang", newExpr(t)},
	}
}

// TestPolicyPeersAgree fails where the rules that were written for the other engines no longer
// decide what the default policy does, so that their times can be compared. make check runs it.
func TestPolicyPeersAgree(t *testing.T) {
	engines, states := engines(t), map[string]int{}
	for _, in := range memories() {
		want, _ := engines[0].decide(in)
		states[in.State+" "+want.state]++
		for _, e := range engines[1:] {
			if got, err := e.decide(in); err != nil || got != want {
				t.Fatalf("%s decides %+v for %+v, want %+v (%v)", e.name, got, in, want, err)
			}
		}
	}
	for _, change := range []string{"open active", "open cooling", "active cooling", "cooling active", "active revalidate_pending", "cooling revalidate_pending"} {
		if states[change] == 0 {
			t.Errorf("no input goes from %s: %v", change, states)
		}
	}
}

// TestPolicyPeers decides retention by each engine, with a fresh input each time.
func TestPolicyPeers(t *testing.T) {
	engines, inputs := engines(t), memories()
	samples := make([]coretest.Samples, len(engines))
	for round := range decisionRounds + 1 {
		for i, e := range engines {
			runtime.GC()
			began := time.Now()
			for n := range decisionTurn {
				if _, err := e.decide(inputs[n%len(inputs)]); err != nil {
					t.Fatal(err)
				}
			}
			if round > 0 {
				samples[i] = append(samples[i], time.Since(began)/decisionTurn)
			}
		}
	}
	fmt.Printf("\nOne retention decision: µs. %d interleaved rounds of %d decisions on %d inputs.\n\n", decisionRounds, decisionTurn, len(inputs))
	for i, e := range engines {
		ratio := samples[i].Micros(0.5) / samples[0].Micros(0.5)
		fmt.Fprintf(os.Stdout, "%-12s %9.2f  p10 %9.2f  %7.1f × ours\n", e.name, samples[i].Micros(0.5), samples[i].Micros(0.1), ratio)
		if e.name == "OPA" && ratio < regoTarget {
			t.Errorf("OPA takes %.1f times as long: the target is at least %d", ratio, regoTarget)
		}
	}
}

func newRego(t *testing.T) func(*policypoint.RetentionInput) (retained, error) {
	t.Helper()
	query, err := rego.New(rego.Query("data.retention.decision"), rego.Module("retention.rego", regoRetention)).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(in *policypoint.RetentionInput) (retained, error) {
		results, err := query.Eval(context.Background(), rego.EvalInput(asMap(in)))
		if err != nil || len(results) != 1 {
			return retained{}, fmt.Errorf("%d results: %w", len(results), err)
		}
		out := results[0].Expressions[0].Value.(map[string]any)
		score, err := out["ttl_score"].(interface{ Float64() (float64, error) }).Float64()
		return retained{score, out["state"].(string)}, err
	}
}

func newExpr(t *testing.T) func(*policypoint.RetentionInput) (retained, error) {
	t.Helper()
	rounded := expr.Function("rounded", func(params ...any) (any, error) { return rounded(params[0].(float64)), nil }, new(func(float64) float64))
	compiled, err := expr.Compile(exprRetention, expr.Env(asMap(&policypoint.RetentionInput{})), rounded)
	if err != nil {
		t.Fatal(err)
	}
	var machine vm.VM
	return func(in *policypoint.RetentionInput) (retained, error) {
		v, err := machine.Run(compiled, asMap(in))
		if err != nil {
			return retained{}, err
		}
		out := v.(map[string]any)
		return retained{out["ttl_score"].(float64), out["state"].(string)}, nil
	}
}

// rounded rounds to 1e-9.
func rounded(x float64) float64 {
	if x < 0 {
		return -rounded(-x)
	}
	return float64(int64(x*1e9+0.5)) / 1e9
}
