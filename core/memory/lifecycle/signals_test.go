package lifecycle_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// first is the place of what was recalled alone, with a perfect score: weight 1.

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
			HitCount: 4, MissStreak: 4, LastHitTurn: 7, HitRate: .4, Utility: .6, Q: .4,
			Successes: 2, Partials: 1, Failures: 1, RelevantTurns: 10, Sessions: 1, LastOutcomeError: true}},
		{"not used in a failure", false, core.OutcomeFailure, core.Signals{
			HitCount: 4, MissStreak: 4, LastHitTurn: 7, HitRate: .4, Utility: .6, Q: .4,
			Successes: 2, Partials: 1, Failures: 1, RelevantTurns: 10, Sessions: 1, LastOutcomeError: true}},
		{"used with success", true, core.OutcomeSuccess, core.Signals{
			HitCount: 5, MissStreak: 0, LastHitTurn: 12, HitRate: .6, Utility: .68, Q: .52,
			Successes: 3, Partials: 1, Failures: 1, RelevantTurns: 10, Sessions: 1}},
		{"used with success in part", true, core.OutcomePartial, core.Signals{
			HitCount: 5, MissStreak: 0, LastHitTurn: 12, HitRate: .5, Utility: .58, Q: .42,
			Successes: 2, Partials: 2, Failures: 1, RelevantTurns: 10, Sessions: 1}},
		{"used in vain", true, core.OutcomeFailure, core.Signals{
			HitCount: 5, MissStreak: 4, LastHitTurn: 12, HitRate: .4, Utility: .48, Q: .32,
			Successes: 2, Partials: 1, Failures: 2, RelevantTurns: 10, Sessions: 1, LastOutcomeError: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ref := core.TurnRef{Session: "s", Turn: 3}
			got := lifecycle.After(before, &lifecycle.Turn{TurnRef: ref, Number: 12, Outcome: c.outcome, Used: c.used, Weight: 1})
			if !near(got.HitRate, c.want.HitRate) || !near(got.Utility, c.want.Utility) || !near(got.Q, c.want.Q) {
				t.Errorf("hit rate %v, utility %v, q %v; want %v, %v, %v", got.HitRate, got.Utility, got.Q, c.want.HitRate, c.want.Utility, c.want.Q)
			}
			got.HitRate, got.Utility, got.Q = c.want.HitRate, c.want.Utility, c.want.Q
			c.want.Recent = []core.TurnRef{ref}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestSessionsAreCountedOnceEach(t *testing.T) {
	s := lifecycle.Initial()
	for i, isFirst := range []bool{true, false, true} {
		s = lifecycle.After(s, &lifecycle.Turn{Number: int64(i), Outcome: core.OutcomePartial, Used: true, FirstOfSession: isFirst})
	}
	s = lifecycle.After(s, &lifecycle.Turn{Number: 4, Outcome: core.OutcomeSuccess, FirstOfSession: true})
	if s.Sessions != 2 {
		t.Errorf("%d sessions, want the 2 that used it", s.Sessions)
	}
}

func TestTheLastTwentyTurnsAreRemembered(t *testing.T) {
	s := lifecycle.Initial()
	for i := range int64(25) {
		before := s
		s = lifecycle.After(s, &lifecycle.Turn{TurnRef: core.TurnRef{Session: "s", Turn: i}})
		if n := len(before.Recent); n > 0 && before.Recent[n-1].Turn != i-1 {
			t.Fatalf("turn %d changed the signals that it was given", i)
		}
	}
	if len(s.Recent) != 20 || s.Recent[0].Turn != 5 || s.Recent[19].Turn != 24 || s.RelevantTurns != 25 {
		t.Errorf("%d turns from %+v to %+v", len(s.Recent), s.Recent[0], s.Recent[len(s.Recent)-1])
	}
}

func TestRetain(t *testing.T) {
	s := core.Signals{MissStreak: 7, LastHitTurn: 3, RelevantTurns: 11, HitRate: .1, Utility: .2, Q: .3}
	got := lifecycle.Retained(s, 40, .62)
	if got.MissStreak != 0 || got.LastHitTurn != 40 || got.Revalidation == nil || *got.Revalidation != .62 || !got.Gated || got.GatedAt != 11 {
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
		if state := lifecycle.AfterRetain(&core.Signals{TTLScore: score}, w); state != want {
			t.Errorf("score %v leads to %s, want %s", score, state, want)
		}
	}
}

func TestTheGateLooksAgainAfterTenRelevantTurns(t *testing.T) {
	for turns, want := range map[int64]bool{11: false, 20: false, 21: true, 30: true} {
		if got := lifecycle.Rested(&core.Signals{Gated: true, GatedAt: 11, RelevantTurns: turns}); got != want {
			t.Errorf("at relevant turn %d: %v, want %v", turns, got, want)
		}
	}
	if !lifecycle.Rested(&core.Signals{RelevantTurns: 3}) {
		t.Error("what the gate never saw may come to it")
	}
}

func TestThresholdsAreComparedInNineDigits(t *testing.T) {
	w := core.RetentionWeights{Active: .35 + 1e-10, Revalidate: .15 - 1e-10, Hysteresis: .05 + 1e-10, Hit: 1e-10}
	want := core.RetentionWeights{Active: .35, Revalidate: .15, Hysteresis: .05, Hit: 1e-10}
	if got := lifecycle.RetentionInput(&core.Memory{}, 0, w).Weights; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if state := lifecycle.AfterRetain(&core.Signals{TTLScore: .35}, w); state != core.StateActive {
		t.Errorf("a score at the threshold leads to %s", state)
	}
}

func TestWhatTheRetentionPolicySees(t *testing.T) {
	m := &core.Memory{
		Namespace: "a/b", State: core.StateCooling, CreatedTurn: 2,
		Signals: core.Signals{
			HitCount: 3, MissStreak: 4, LastHitTurn: 5, HitRate: .6, Utility: .7, Q: .8, TTLScore: .9,
			Successes: 10, Partials: 11, Failures: 12, RelevantTurns: 13, Gated: true, GatedAt: 6, Sessions: 14,
		},
	}
	w := core.DefaultRetentionWeights()
	want := core.RetentionInput{
		Namespace: "a/b", State: "cooling", Turn: 20, CreatedTurn: 2, LastHitTurn: 5, Hits: 3, MissStreak: 4,
		RelevantTurns: 13, Gated: true, SinceGate: 7, Sessions: 14, Successes: 10, Partials: 11, Failures: 12,
		HitRate: .6, Utility: .7, Q: .8, TTLScore: .9, Weights: w,
	}
	if got := lifecycle.RetentionInput(m, 20, w); *got != want {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test doesn't cover %s", v.Type().Field(i).Name)
		}
	}
}
