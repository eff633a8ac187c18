package lifecycle_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/policypoint"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestSignalsAfterOneTurn(t *testing.T) {
	before := core.Signals{
		HitCount: 4, MissStreak: 3, LastHitTurn: 7, HitRate: .5, Utility: .6, Q: .4,
		Successes: 2, Partials: 1, Failures: 1, RelevantTurns: 9, Sessions: 1, LastOutcomeError: true,
	}
	cases := []struct {
		name    string
		used    bool
		outcome core.Outcome
		want    core.Signals
	}{
		{"not used in a success", false, core.OutcomeSuccess, core.Signals{
			HitCount: 4, MissStreak: 4, LastHitTurn: 7, HitRate: .45, Utility: .6, Q: .4,
			Successes: 2, Partials: 1, Failures: 1, RelevantTurns: 10, Sessions: 1, LastOutcomeError: true}},
		{"not used in a failure", false, core.OutcomeFailure, core.Signals{
			HitCount: 4, MissStreak: 4, LastHitTurn: 7, HitRate: .45, Utility: .6, Q: .4,
			Successes: 2, Partials: 1, Failures: 1, RelevantTurns: 10, Sessions: 1, LastOutcomeError: true}},
		{"used with success", true, core.OutcomeSuccess, core.Signals{
			HitCount: 5, MissStreak: 0, LastHitTurn: 12, HitRate: .55, Utility: .64, Q: .52,
			Successes: 3, Partials: 1, Failures: 1, RelevantTurns: 10, Sessions: 1}},
		{"used with success in part", true, core.OutcomePartial, core.Signals{
			HitCount: 5, MissStreak: 0, LastHitTurn: 12, HitRate: .5, Utility: .59, Q: .42,
			Successes: 2, Partials: 2, Failures: 1, RelevantTurns: 10, Sessions: 1}},
		{"used in vain", true, core.OutcomeFailure, core.Signals{
			HitCount: 5, MissStreak: 4, LastHitTurn: 12, HitRate: .45, Utility: .54, Q: .32,
			Successes: 2, Partials: 1, Failures: 2, RelevantTurns: 10, Sessions: 1, LastOutcomeError: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ref := core.TurnRef{Session: "s", Turn: 3}
			got := lifecycle.After(before, &lifecycle.Turn{TurnRef: ref, Number: 12, Outcome: c.outcome, Used: c.used, Weight: 1, NoWindow: true})
			if !near(got.HitRate, c.want.HitRate) || !near(got.Utility, c.want.Utility) || !near(got.Q, c.want.Q) {
				t.Errorf("hit rate %v, utility %v, q %v; want %v, %v, %v", got.HitRate, got.Utility, got.Q, c.want.HitRate, c.want.Utility, c.want.Q)
			}
			got.HitRate, got.Utility, got.Q = c.want.HitRate, c.want.Utility, c.want.Q
			if c.used {
				c.want.RecentUses = []core.TurnRef{ref}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestSessionsAreCountedOnceEach(t *testing.T) {
	s := lifecycle.Initial()
	for i, isFirst := range []bool{true, false, true} {
		s = lifecycle.After(s, &lifecycle.Turn{Number: int64(i), Outcome: core.OutcomePartial, Used: true, FirstOfSession: isFirst, FirstNamed: isFirst})
	}
	s = lifecycle.After(s, &lifecycle.Turn{Number: 4, Outcome: core.OutcomeSuccess, FirstOfSession: true})
	if s.Sessions != 2 || s.NamedSessions() != 2 {
		t.Errorf("%d sessions, want the 2 that used it", s.Sessions)
	}
}

// TestTheLastTwentyTurnsAreRemembered: the turns that offered it, until one used it, and
// from then on the turns that used it.
func TestTheLastTwentyTurnsAreRemembered(t *testing.T) {
	s := lifecycle.Initial()
	live := func(turn int64, used bool) {
		s = lifecycle.After(s, &lifecycle.Turn{TurnRef: core.TurnRef{Session: "s", Turn: turn}, Used: used, Outcome: core.OutcomeSuccess})
	}
	for i := range int64(25) {
		before := s
		live(i, false)
		if n := len(before.Recent); n > 0 && before.Recent[n-1].Turn != i-1 {
			t.Fatalf("turn %d changed the signals that it was given", i)
		}
	}
	if len(s.Recent) != 20 || s.Recent[0].Turn != 5 || s.Recent[19].Turn != 24 || s.RelevantTurns != 25 {
		t.Errorf("%d turns from %+v to %+v", len(s.Recent), s.Recent[0], s.Recent[len(s.Recent)-1])
	}
	for i := int64(25); i < 75; i++ {
		live(i, i%2 == 0)
	}
	if s.Recent != nil || len(s.RecentUses) != 20 || s.RecentUses[0].Turn != 36 || s.RecentUses[19].Turn != 74 {
		t.Errorf("%d offers and uses %+v", len(s.Recent), s.RecentUses)
	}
}

func TestRetain(t *testing.T) {
	s := core.Signals{MissStreak: 7, LastHitTurn: 3, RelevantTurns: 11, HitRate: .1, Utility: .2, Q: .3}
	got := lifecycle.Retained(s, 40, lifecycle.Decision{Utility: .62, Evidence: "e"})
	if got.MissStreak != 0 || got.LastHitTurn != 40 || got.Revalidation == nil || *got.Revalidation != .62 || !got.Gated || got.GatedAt != 11 || got.GateEvidence != "e" {
		t.Errorf("after the retain: %+v", got)
	}
	if got.HitRate != s.HitRate || got.Utility != s.Utility || got.Q != s.Q || got.HitCount != 0 {
		t.Errorf("the retain changed what use has shown: %+v", got)
	}
	w := core.DefaultRetentionWeights()
	scores := map[float64]core.MemoryState{
		.34: core.StateCooling, .35: core.StateActive, .9: core.StateActive, .35 - 1e-10: core.StateActive, .35 - 2e-9: core.StateCooling,
	}
	for score, want := range scores {
		for _, before := range []core.MemoryState{core.StateOpen, ""} { // an early store didn't say
			if state := lifecycle.AfterRetain(before, score, w); state != want {
				t.Errorf("score %v leads from %q to %s, want %s", score, before, state, want)
			}
		}
		for _, before := range []core.MemoryState{core.StateActive, core.StateCooling} {
			if state := lifecycle.AfterRetain(before, score, w); state != before {
				t.Errorf("score %v leads from %s to %s", score, before, state)
			}
		}
	}
}

func TestTheGateRestsLongerWithoutNewEvidence(t *testing.T) {
	var s core.Signals
	for i, c := range []struct {
		fresh bool
		rest  int64
	}{{false, 10}, {false, 20}, {false, 40}, {true, 10}, {false, 20}, {false, 40}, {false, 80}, {false, 160}, {false, 160}, {true, 10}} {
		s = lifecycle.Decided(s, lifecycle.Decision{Fresh: c.fresh})
		if s.GateRest != c.rest {
			t.Errorf("decision %d has a rest of %d, want %d", i+1, s.GateRest, c.rest)
		}
		s.RelevantTurns += c.rest - 1
		if lifecycle.Rested(&s) {
			t.Errorf("decision %d: rested after %d turns", i+1, c.rest-1)
		}
		if s.RelevantTurns++; !lifecycle.Rested(&s) {
			t.Errorf("decision %d: not rested after %d turns", i+1, c.rest)
		}
	}
	if !lifecycle.Rested(&core.Signals{RelevantTurns: 3}) || lifecycle.Rested(&core.Signals{Gated: true, GatedAt: 11, RelevantTurns: 20}) {
		t.Error("what the gate never saw may come to it, and what it saw without a rest after 10 turns")
	}
}

func TestWhatCoolsAgainSoonWaitsLonger(t *testing.T) {
	const active, cooling = core.StateActive, core.StateCooling
	var s core.Signals
	for i, c := range []struct{ back, wait int64 }{ // turns from coming back to cooling again
		{0, 10}, {50, 20}, {1, 40}, {51, 10}, {50, 20}, {50, 40}, {50, 80}, {50, 160}, {50, 160}, {51, 10},
	} {
		s.RelevantTurns += c.back
		if s = lifecycle.Moved(s, active, cooling); s.CoolingWait != c.wait || s.CooledAt != s.RelevantTurns {
			t.Errorf("cooling %d: it waits for %d turns from %d, want %d from %d", i+1, s.CoolingWait, s.CooledAt, c.wait, s.RelevantTurns)
		}
		s.RelevantTurns += c.wait
		s = lifecycle.Moved(s, cooling, active)
	}
	if got := lifecycle.Moved(s, core.StateOpen, active); !reflect.DeepEqual(got, s) {
		t.Error("what becomes active for the first time doesn't come back")
	}
}

func TestThresholdsAreComparedInNineDigits(t *testing.T) {
	w := core.RetentionWeights{Active: .35 + 1e-10, Revalidate: .15 - 1e-10, Hysteresis: .05 + 1e-10, Hit: 1e-10}
	want := core.RetentionWeights{Active: .35, Revalidate: .15, Hysteresis: .05, Hit: 1e-10}
	if got := lifecycle.RetentionInput(&core.Memory{}, 0, w).Weights; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if state := lifecycle.AfterRetain(core.StateOpen, .35, w); state != core.StateActive {
		t.Errorf("a score at the threshold leads to %s", state)
	}
}

func TestWhatTheRetentionPolicySees(t *testing.T) {
	revalidation := .55
	m := &core.Memory{
		ID: "memory-1", Namespace: "a/b", State: core.StateCooling, CreatedTurn: 2, Kind: core.KindSemantic, AgentID: "ada", Tags: []string{"x"},
		Priority: 7, Importance: .3, Confidence: .4, ReflectionDepth: 2,
		Signals: core.Signals{
			HitCount: 3, MissStreak: 4, LastHitTurn: 5, HitRate: .6, Utility: .7, Q: .8, TTLScore: .9,
			Successes: 10, Partials: 11, Failures: 12, RelevantTurns: 13, Gated: true, GatedAt: 6, GateRest: 20, Sessions: 14,
			CooledAt: 10, CoolingWait: 40, Revalidation: &revalidation,
		},
	}
	w := core.DefaultRetentionWeights()
	want := policypoint.RetentionInput{
		Namespace: "a/b", State: "cooling", Turn: 20, CreatedTurn: 2, LastHitTurn: 5, AgeTurns: 18, Hits: 3, MissStreak: 4,
		RelevantTurns: 13, Gated: true, SinceGate: 7, GateRest: 20, SinceCooled: 3, CoolingWait: 40, Sessions: 14, Successes: 10, Partials: 11, Failures: 12,
		HitRate: .6, Utility: .7, Q: .8, TTLScore: .9, Weights: w,
		Facts: policypoint.MemoryFacts{
			MemoryID: "memory-1", Kind: "semantic", AgentID: "ada", Tags: []string{"x"}, Priority: 7, Importance: .3, Confidence: .4, ReflectionDepth: 2, Revalidation: .55,
		},
	}
	if got := lifecycle.RetentionInput(m, 20, w); !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test doesn't cover %s", v.Type().Field(i).Name)
		}
	}
}
