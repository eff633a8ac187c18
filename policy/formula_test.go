package policy_test

import (
	"context"
	"math"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// The formulas of the lifecycle and of the gate, written a second time, independently of
// the default files.

func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }

func clamp01(x float64) float64 { return math.Max(0, math.Min(1, x)) }

func wantGate(in *policypoint.GateInput) (verdict string, confidence float64) {
	s, f := float64(in.Successes), float64(in.Failures)
	uses := s + f + float64(in.Partials)
	failureRate, freq := 0.0, 0.0
	if uses > 0 {
		failureRate, freq = f/uses, uses/(uses+3)
	} else if in.LastOutcomeError {
		failureRate = 1
	}
	p := (float64(in.React.Good) + 1) / (float64(in.React.Good+in.React.ToolFailures) + 2)
	react := p * (.4 + .6*in.React.Recurrence)
	graph := .5
	if in.Graph.Known {
		graph = 0
		if in.Graph.PathReachable {
			graph = .4 + .35*in.Graph.Dependency + .25*in.Graph.Decomposition
		}
	}
	omega := (.5 + .5 + in.Utility) / 3
	if in.Omega.UpstreamStatus != nil {
		omega = (*in.Omega.UpstreamStatus + .5 + in.Utility) / 3
	}
	ttl := round9(clamp01(.45*freq + .35*(1-failureRate) + .20*(s+1)/(s+f+2)))
	utility := round9(clamp01(.32*react + .23*graph + .25*omega + .20*in.Q))
	switch {
	case uses >= 3 && utility >= .78 && failureRate <= .25 && ttl >= .50:
		return "promote", clamp01(.55 + 1.8*(utility-.78) + .8*(.25-failureRate))
	case uses >= 2 && utility <= .32 && failureRate >= .70 && (ttl <= .45 || uses >= 10):
		return "obsolete", clamp01(.55 + 1.8*(.32-utility) + .8*(failureRate-.70))
	case uses == 0 && in.RelevantTurns >= 10 && utility <= .32 && in.Graph.Known && !in.Graph.PathReachable:
		return "obsolete", clamp01(.75 + 1.8*(.32-utility))
	}
	return "retain", math.Min(.85, .42+.6*math.Min(math.Abs(.78-utility), math.Abs(utility-.32)))
}

func checkGate(t *testing.T, p *policy.Policies, in *policypoint.GateInput) string {
	t.Helper()
	got := p.Gate(context.Background(), nil, in)
	verdict, confidence := wantGate(in)
	if got.Verdict != verdict || math.Abs(got.Confidence-confidence) > 1e-6 || got.Decision.Failure != nil {
		t.Fatalf("%+v: got %s %v %v, want %s %v", in, got.Verdict, got.Confidence, got.Decision.Failure, verdict, confidence)
	}
	return verdict
}

func TestDefaultGateIsTheFormulaOverAGrid(t *testing.T) {
	p := policy.New(policy.AllPoints(), policy.Options{})
	seen := map[string]int{}
	factors := []*float64{nil, new(float64), new(float64)}
	*factors[2] = 1
	for _, counts := range [][3]int64{{}, {1, 0, 0}, {0, 0, 1}, {0, 0, 2}, {3, 0, 0}, {3, 0, 1}, {2, 1, 1}, {1, 0, 3}, {3, 0, 7}, {2, 1, 7}, {0, 0, 12}, {30, 1, 2}} {
		for _, q := range []float64{0, .3, 1} {
			for _, react := range []policypoint.ReactEvidence{{}, {ToolFailures: 5}, {Good: 40, Recurrence: 1}, {ToolFailures: 9, Good: 1, Recurrence: .25}} {
				for _, graph := range []policypoint.GraphEvidence{{}, {Known: true}, {Known: true, PathReachable: true}, {Known: true, PathReachable: true, Dependency: 1, Decomposition: 1}} {
					for i, omega := range factors {
						in := &policypoint.GateInput{
							Successes: counts[0], Partials: counts[1], Failures: counts[2], RelevantTurns: 8 + int64(i), LastOutcomeError: i == 1,
							Q: q, React: react, Graph: graph, Omega: policypoint.OmegaFactors{UpstreamStatus: omega},
						}
						seen[checkGate(t, p, in)]++
					}
				}
			}
		}
	}
	if seen["promote"] == 0 || seen["obsolete"] == 0 || seen["retain"] == 0 {
		t.Errorf("the grid saw only %v", seen)
	}
}

// Every way in which up to twelve uses can end, of something useless and of
// something useful.
func TestDefaultGateIsTheFormulaForEachCountOfUses(t *testing.T) {
	p := policy.New(policy.AllPoints(), policy.Options{})
	seen := map[string]int{}
	for uses := range int64(13) {
		for failures := range uses + 1 {
			for successes := range uses - failures + 1 {
				in := &policypoint.GateInput{Utility: .5, Successes: successes, Partials: uses - failures - successes, Failures: failures, Graph: policypoint.GraphEvidence{Known: true}}
				seen[checkGate(t, p, in)]++
				in.Graph, in.Q = policypoint.GraphEvidence{Known: true, PathReachable: true, Dependency: 1, Decomposition: 1}, 1
				in.React, in.Omega.UpstreamStatus = policypoint.ReactEvidence{Good: 98, Recurrence: 1}, new(float64)
				*in.Omega.UpstreamStatus = 1
				seen[checkGate(t, p, in)]++
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("the counts saw only %v", seen)
	}
}

// q is chosen so that the utility is just below, at, and just above each limit.
func TestDefaultGateIsTheFormulaAtEveryBound(t *testing.T) {
	p := policy.New(policy.AllPoints(), policy.Options{})
	verdicts := map[string]int{}
	for _, utility := range []float64{.32 - 1e-8, .32 - 1e-10, .32, .32 + 1e-10, .32 + 1e-8, .78 - 1e-8, .78 - 1e-10, .78, .78 + 1e-10, .78 + 1e-8} {
		for _, counts := range [][3]int64{ // uses 2 and 3 and 10, failure rates .25 and .70, evidence_ttl about .45 and .50
			{0, 0, 0}, {2, 0, 0}, {3, 0, 0}, {3, 0, 1}, {74, 0, 26}, {2, 0, 1}, {0, 0, 2}, {0, 0, 1}, {3, 0, 7}, {31, 0, 69}, {3, 0, 6}, {0, 1, 8}, {0, 1, 9},
		} {
			for _, turns := range []int64{9, 10} {
				in := &policypoint.GateInput{Utility: .5, Successes: counts[0], Partials: counts[1], Failures: counts[2], RelevantTurns: turns, Graph: policypoint.GraphEvidence{Known: true}}
				if utility > .5 {
					in.Graph = policypoint.GraphEvidence{Known: true, PathReachable: true, Dependency: 1, Decomposition: 1}
					in.React = policypoint.ReactEvidence{Good: 98, Recurrence: 1}
				}
				rest := .32*in.React.Lane() + .23*in.Graph.Lane() + .25*in.OmegaLane()
				in.Q = (utility - rest) / .20
				verdicts[checkGate(t, p, in)]++
			}
		}
	}
	if len(verdicts) != 3 {
		t.Errorf("the bounds saw only %v", verdicts)
	}
}

// rate9 is the hit rate without the effect of its starting value.
func rate9(in *policypoint.RetentionInput) float64 {
	return min(1, in.HitRate/(1-math.Pow(.9, float64(in.RelevantTurns))))
}

func wantRetention(in *policypoint.RetentionInput) (float64, string) {
	w, gap := in.Weights, in.Turn-in.CreatedTurn
	if in.Hits > 0 {
		gap = in.Turn - in.LastHitTurn
	}
	ttl := round9(w.Hit*rate9(in) + w.Utility*in.Utility - w.Miss*float64(in.MissStreak) - w.Stale*math.Min(40, float64(gap)))
	uses := in.Successes + in.Partials + in.Failures
	rate := float64(in.Failures) / float64(max(1, uses))
	free := !in.Gated || in.SinceGate >= in.GateRest
	if in.State != "revalidate_pending" && free && uses >= 3 && (rate >= .70 || rate <= .25 && in.Sessions >= 2) {
		return ttl, "revalidate_pending"
	}
	switch {
	case in.State == "active" && ttl < w.Active:
		return ttl, "cooling"
	case in.State == "open" && in.Hits > 0 && ttl >= w.Active:
		return ttl, "active"
	case in.State == "open" && in.RelevantTurns >= 5 && ttl < w.Active:
		return ttl, "cooling"
	case in.State == "cooling" && ttl >= round9(w.Active+w.Hysteresis) && in.SinceCooled >= in.CoolingWait:
		return ttl, "active"
	case in.State == "cooling" && ttl < w.Revalidate && free:
		return ttl, "revalidate_pending"
	}
	return ttl, in.State
}

func TestDefaultRetentionIsTheFormulaOverAGrid(t *testing.T) {
	p := policy.New(policy.AllPoints(), policy.Options{})
	seen := map[string]int{}
	for _, state := range []string{"open", "active", "cooling", "revalidate_pending"} {
		for _, ttl := range []float64{.05, .15 - 2e-9, .15, .2, .35 - 2e-9, .35 - 1e-10, .35, .5 - 2e-9, .5 - 1e-10, .5, .9} {
			for _, counts := range [][3]int64{{}, {3, 0, 0}, {3, 0, 1}, {2, 1, 7}, {2, 0, 1}, {0, 0, 2}} {
				for i := range int64(8) {
					in := &policypoint.RetentionInput{
						State: state, Turn: 100, CreatedTurn: 40 + 10*i, LastHitTurn: 95, Hits: i % 2, MissStreak: i % 3, RelevantTurns: 3 + i%4,
						Gated: i > 4, SinceGate: 8 + i%3, GateRest: 10, SinceCooled: 19 + i%2, CoolingWait: 20, Sessions: i % 3, Successes: counts[0], Partials: counts[1], Failures: counts[2],
						Utility: .5, Weights: core.DefaultRetentionWeights(),
					}
					in.HitRate = (ttl - .25 + .03*float64(in.MissStreak) + .005*float64(in.InactivityGap())) / .5 * (1 - math.Pow(.9, float64(in.RelevantTurns)))
					got := p.Retention(context.Background(), nil, in)
					score, want := wantRetention(in)
					if got.State != want || math.Abs(got.TTLScore-score) > 1e-9 || got.Decision.Failure != nil {
						t.Fatalf("%+v: got %v %s %v, want %v %s", in, got.TTLScore, got.State, got.Decision.Failure, score, want)
					}
					if state != want {
						seen[state+" → "+want]++
					}
				}
			}
		}
	}
	if len(seen) != 7 { // open, active → two each and cooling → two, and each to the gate
		t.Errorf("the grid saw %v", seen)
	}
}
