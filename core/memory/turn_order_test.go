package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// recallIn recalls in a turn of a session; turn 0 is its next.
func (w *world) recallIn(t *testing.T, session string, turn int64, query string) (*core.RecallResult, error) {
	t.Helper()
	r := &core.RecallRequest{Session: session, Turn: turn, Query: query}
	r.Namespace = "ns"
	return w.Recall(t.Context(), r)
}

func TestTurn_IsTheSessionsNextWhereNoneIsGiven(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		w.observe(t, core.ObserveRequest{Content: "the build needs Go"})
		for _, c := range []struct {
			session     string
			given, want int64
		}{{"a", 0, 1}, {"a", 0, 2}, {"b", 0, 1}, {"a", 2, 2}, {"a", 7, 7}, {"a", 0, 8}, {"b", 1, 1}} {
			got, err := w.recallIn(t, c.session, c.given, "build")
			if err != nil || got.Turn != c.want {
				t.Fatalf("turn %d of %s: %+v, %v, want turn %d", c.given, c.session, got, err, c.want)
			}
		}
		_, err := w.recallIn(t, "a", 7, "build")
		wantReason(t, err, sdk.Conflict, "turn_out_of_order")
		w.feedback(t, "a", 2, core.OutcomeSuccess) // a turn that isn't the current one may have its feedback
		w.feedback(t, "a", 8, core.OutcomeSuccess)
		_, err = w.recallIn(t, "a", 8, "build")
		wantReason(t, err, sdk.Conflict, "turn_closed")
		if got, err := w.recallIn(t, "", 0, "build"); err != nil || got.Turn != 0 {
			t.Errorf("without a session: %+v, %v", got, err)
		}
	})
}

func TestTurn_ThatFoundNothingIsATurn(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	got, err := w.recallIn(t, "a", 0, "build")
	if err != nil || got.Turn != 1 || len(got.Memories) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if result := w.feedback(t, "a", 1, core.OutcomeFailure); result.Bias != -.15 {
		t.Errorf("%+v", result)
	}
	if turn, err := w.Sessions.Turn(t.Context(), "ns"); err != nil || turn != 0 {
		t.Errorf("the namespace is at turn %d, %v: no item came from it", turn, err)
	}
	if got, err := w.recallIn(t, "a", 0, "build"); err != nil || got.Turn != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	w.wantEvents(t, 0, "recalled", "evolution.applied", "agent.reflection.recorded", "recalled")
}

// TestFeedback_OfABetterSourceGivesTheCreditAgain compares a turn whose feedback was
// corrected, before or after other turns, with a life in which that feedback was the
// only one.
func TestFeedback_OfABetterSourceGivesTheCreditAgain(t *testing.T) {
	type step struct {
		session, source string
		turn            int64
		outcome         core.Outcome
		used, assumed   bool
	}
	corrected := []step{
		{"a", "text", 1, core.OutcomeFailure, true, false},
		{"b", "text", 1, core.OutcomeSuccess, true, false},
		{"a", "tool", 2, core.OutcomeSuccess, false, true},
		{"a", "tool", 1, core.OutcomePartial, true, false},
		{"b", "text", 2, core.OutcomeFailure, true, false},
		{"a", "user", 1, core.OutcomeSuccess, false, false}, // names no use: the first one's use stays
		{"a", "user", 2, core.OutcomeFailure, true, false},
	}
	straight := []step{
		{"a", "user", 1, core.OutcomeSuccess, true, false},
		{"b", "text", 1, core.OutcomeSuccess, true, false},
		{"a", "user", 2, core.OutcomeFailure, true, false},
		{"b", "text", 2, core.OutcomeFailure, true, false},
	}
	live := func(steps []step) (core.Signals, float64) {
		w := living(t, empty(t), nil, nil)
		m := w.observe(t, core.ObserveRequest{ID: "m", Content: "c"})
		other := w.observe(t, core.ObserveRequest{ID: "other", Content: "d"})
		offered := map[core.TurnRef]bool{}
		for _, s := range steps {
			by := core.TurnRef{Session: s.session, Turn: s.turn}
			if !offered[by] {
				w.offer(t, s.session, s.turn, other.ID, m.ID)
			}
			offered[by] = true
			r := &core.FeedbackRequest{Session: s.session, Turn: s.turn, Outcome: s.outcome, Source: s.source}
			if s.used {
				r.Used = []string{m.ID}
			}
			if s.assumed {
				r.Assumed = []string{m.ID}
			}
			if result, err := w.Feedback(t.Context(), r); err != nil || result.Duplicate {
				t.Fatalf("%+v: %+v, %v", s, result, err)
			}
		}
		if turn, err := w.Sessions.Turn(t.Context(), "ns"); err != nil || turn != 4 {
			t.Errorf("the namespace is at turn %d, %v", turn, err)
		}
		if list := w.problems(t); len(list) > 0 {
			t.Errorf("problems: %+v", list)
		}
		bias, err := w.Sessions.Bias(t.Context(), "a")
		must(t, err)
		return w.get(t, "m").Signals, bias
	}
	want, wantBias := live(straight)
	got, bias := live(corrected)
	if diff := cmp.Diff(want, got, approximately); diff != "" {
		t.Errorf("signals (-straight +corrected):\n%s", diff)
	}
	if !near(bias, wantBias) {
		t.Errorf("the bias is %v, want %v", bias, wantBias)
	}
}

// TestFeedback_TakesAUseBack: what wasn't used after all is a miss, and the session
// isn't one that used it.
func TestFeedback_TakesAUseBack(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	right, wrong := w.observe(t, core.ObserveRequest{Content: "a"}), w.observe(t, core.ObserveRequest{Content: "b"})
	w.offer(t, "s", 1, wrong.ID, right.ID)
	w.feedback(t, "s", 1, core.OutcomeSuccess, wrong.ID)
	ask := func(source string, used string) *core.FeedbackResult {
		result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Source: source, Used: []string{used}})
		must(t, err)
		return result
	}
	ask("user", right.ID)
	if s := w.get(t, wrong.ID).Signals; s.Uses() != 0 || s.Sessions != 0 || s.MissStreak != 1 || s.RelevantTurns != 1 || s.Q != .5 {
		t.Errorf("the wrong one: %+v", s)
	}
	if s := w.get(t, right.ID).Signals; s.Successes != 1 || s.Sessions != 1 || s.RelevantTurns != 1 {
		t.Errorf("the right one: %+v", s)
	}
	for _, source := range []string{"text", "tool", "user"} { // none is better than the user's
		if result := ask(source, wrong.ID); !result.Duplicate || result.Source != "user" {
			t.Errorf("%s: %+v", source, result)
		}
	}
	if list := w.problems(t); len(list) > 0 {
		t.Errorf("problems: %+v", list)
	}
}

func TestFeedback_RecordsWhichUsesWereNamed(t *testing.T) {
	w := living(t, empty(t), nil, nil)
	m := w.observe(t, core.ObserveRequest{Content: "c"})
	for _, c := range []struct {
		session       string
		turn          int64
		outcome       core.Outcome
		named         bool
		uses          int64
		want, wantErr int64 // named uses, named failures
		sessions      int64 // that named one
	}{
		{"a", 1, core.OutcomeSuccess, false, 1, 0, 0, 0},
		{"a", 2, core.OutcomeFailure, false, 2, 0, 0, 0},
		{"b", 1, core.OutcomeFailure, true, 3, 1, 1, 1},
		{"a", 3, core.OutcomePartial, true, 4, 2, 1, 2},
		{"a", 4, core.OutcomeFailure, false, 5, 2, 1, 2},
	} {
		w.offer(t, c.session, c.turn, m.ID)
		r := &core.FeedbackRequest{Session: c.session, Turn: c.turn, Outcome: c.outcome}
		if r.Assumed = []string{m.ID}; c.named {
			r.Used, r.Assumed = r.Assumed, nil
		}
		result, err := w.Feedback(t.Context(), r)
		if err != nil || result.Items[0].Assumed == c.named {
			t.Fatalf("%+v, %v", result, err)
		}
		s := w.get(t, m.ID).Signals
		if s.Uses() != c.uses || s.Named() != c.want || s.NamedFailures() != c.wantErr || s.NamedSessions() != c.sessions {
			t.Errorf("after turn %d of %s: %d uses, %d named, %d of them failed, in %d sessions", c.turn, c.session, s.Uses(), s.Named(), s.NamedFailures(), s.NamedSessions())
		}
	}
	if list := w.problems(t); len(list) > 0 {
		t.Errorf("problems: %+v", list)
	}
}
