package lifecycle_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

func TestCreditByPlace(t *testing.T) {
	cases := []struct {
		name  string
		place lifecycle.RecallRank
		want  float64
	}{
		{"alone, perfect", lifecycle.RecallRank{Rank: 0, Of: 1, Score: 1}, 1},
		{"first of five, perfect", lifecycle.RecallRank{Rank: 0, Of: 5, Score: 1}, 1},
		{"first of five, score 0", lifecycle.RecallRank{Rank: 0, Of: 5, Score: 0}, .875},
		{"middle of five, half", lifecycle.RecallRank{Rank: 2, Of: 5, Score: .5}, .6625},
		{"last of five, perfect", lifecycle.RecallRank{Rank: 4, Of: 5, Score: 1}, .45},
		{"last of five, score 0", lifecycle.RecallRank{Rank: 4, Of: 5, Score: 0}, .325},
		{"last, opposite", lifecycle.RecallRank{Rank: 4, Of: 5, Score: -1}, .20},
		{"last, below every cosine", lifecycle.RecallRank{Rank: 4, Of: 5, Score: -9}, .15},
		{"boosted above 1", lifecycle.RecallRank{Rank: 0, Of: 5, Score: 9}, 1},
	}
	for _, c := range cases {
		if got := c.place.Weight(); !near(got, c.want) {
			t.Errorf("%s: weight %v, want %v", c.name, got, c.want)
		}
		s := lifecycle.After(lifecycle.Initial(), &lifecycle.Turn{Outcome: core.OutcomeSuccess, Used: true, Weight: c.place.Weight()})
		if want := .5 + .2*c.want*.5; !near(s.Q, want) {
			t.Errorf("%s: q %v, want %v", c.name, s.Q, want)
		}
	}
}

func TestBias(t *testing.T) {
	cases := []struct {
		before float64
		o      core.Outcome
		want   float64
	}{
		{0, core.OutcomeSuccess, .15}, {0, core.OutcomeFailure, -.15}, {0, core.OutcomePartial, 0},
		{.4, core.OutcomePartial, .34}, {-.4, core.OutcomeSuccess, -.19}, {1, core.OutcomeSuccess, 1},
		{-1, core.OutcomeFailure, -1}, {2, core.OutcomeSuccess, 1}, {-2, core.OutcomeFailure, -1},
	}
	for _, c := range cases {
		if got := lifecycle.Bias(c.before, c.o); !near(got, c.want) {
			t.Errorf("%v after %s: %v, want %v", c.before, c.o, got, c.want)
		}
	}
}

func TestSignalsStayInTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, bias, used := lifecycle.Initial(), 0.0, int64(0)
		for i := range rapid.IntRange(0, 200).Draw(t, "turns") {
			turn := &lifecycle.Turn{
				Number: int64(i), Used: rapid.Bool().Draw(t, "used"),
				Outcome: rapid.SampledFrom([]core.Outcome{core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial}).Draw(t, "outcome"),
				Weight:  lifecycle.RecallRank{Rank: rapid.IntRange(0, 9).Draw(t, "rank"), Of: 10, Score: rapid.Float64Range(-1, 2).Draw(t, "score")}.Weight(),
			}
			before := s
			s, bias = lifecycle.After(s, turn), lifecycle.Bias(bias, turn.Outcome)
			if turn.Used {
				used++
			} else if s.Q != before.Q || s.Utility != before.Utility {
				t.Fatal("credit without a use")
			}
		}
		for name, v := range map[string]float64{"hit rate": s.HitRate, "utility": s.Utility, "q": s.Q, "bias": (bias + 1) / 2} {
			if v < 0 || v > 1 {
				t.Fatalf("%s is %v", name, v)
			}
		}
		if s.Uses() != used || s.HitCount != used || s.MissStreak > s.RelevantTurns {
			t.Fatalf("%d uses counted as %+v", used, s)
		}
	})
}

func TestOutcomeByTheBestEvidence(t *testing.T) {
	ok, failed, saved := core.ToolOutcome{OK: true}, core.ToolOutcome{}, core.ToolOutcome{Recovered: true}
	tools := func(list ...core.ToolOutcome) []core.ToolOutcome { return list }
	cases := []struct {
		name    string
		request core.FeedbackRequest
		outcome core.Outcome
		source  string
	}{
		{"a text alone", core.FeedbackRequest{Outcome: core.OutcomePartial}, core.OutcomePartial, "text"},
		{"tools beat a text", core.FeedbackRequest{Outcome: core.OutcomeSuccess, ToolOutcomes: tools(failed)}, core.OutcomeFailure, "tool"},
		{"a user beats tools", core.FeedbackRequest{Outcome: core.OutcomeSuccess, Source: "user", ToolOutcomes: tools(failed)}, core.OutcomeSuccess, "user"},
		{"who looked at the tools says so", core.FeedbackRequest{Outcome: core.OutcomeSuccess, Source: "tool", ToolOutcomes: tools(failed)}, core.OutcomeSuccess, "tool"},
		{"tools alone, all well", core.FeedbackRequest{ToolOutcomes: tools(ok, ok)}, core.OutcomeSuccess, "tool"},
		{"one failed", core.FeedbackRequest{ToolOutcomes: tools(ok, failed)}, core.OutcomePartial, "tool"},
		{"one failed and was recovered from", core.FeedbackRequest{ToolOutcomes: tools(saved)}, core.OutcomePartial, "tool"},
		{"all failed", core.FeedbackRequest{ToolOutcomes: tools(failed, failed)}, core.OutcomeFailure, "tool"},
		{"a user who says nothing leaves it to tools", core.FeedbackRequest{Source: "user", ToolOutcomes: tools(ok)}, core.OutcomeSuccess, "tool"},
	}
	for _, c := range cases {
		if o, source, err := lifecycle.Judge(&c.request); err != nil || o != c.outcome || source != c.source {
			t.Errorf("%s: %s by %s, %v; want %s by %s", c.name, o, source, err, c.outcome, c.source)
		}
	}
	if _, _, err := lifecycle.Judge(&core.FeedbackRequest{Source: "user"}); sdk.ReasonOf(err) != "outcome_missing" {
		t.Errorf("no evidence: %v", err)
	}
}
