package operation_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// sound checks the store.
func sound(w *world) {
	w.T.Helper()
	if checked := try[operation.StoreChecked](w, "store_check", &operation.StoreCheck{}); !checked.Valid {
		w.T.Errorf("the store has %+v", checked.Problems)
	}
}

// keyOf is the name of a caller's session in the store.
func keyOf(w *world, c core.Caller, session string) string {
	w.T.Helper()
	out, err := w.Do(c, "session_get", &operation.SessionGet{Session: session})
	w.Must(err)
	return out.(*operation.Session).Key
}

// windowsApart checks that each window of a session knows exactly its own turns.
func windowsApart(w *world, c core.Caller, session string) {
	w.T.Helper()
	out, err := w.Do(c, "session_get", &operation.SessionGet{Session: session, Paging: operation.Paging{Limit: operation.MaxLimit}})
	w.Must(err)
	s := out.(*operation.Session)
	want := map[int64][]string{}
	for _, turn := range s.Items {
		want[turn.Window] = append(want[turn.Window], fmt.Sprintf("%s:%d", session, turn.Turn))
	}
	for window := int64(1); window <= s.Windows; window++ {
		_, err := w.Do(c, "session_resume", &operation.SessionResume{Session: session, Window: window})
		w.Must(err)
		known, err := w.Host.Memories.Sessions.Context(core.WithCaller(w.Ctx, c), keyOf(w, c, session), 0)
		w.Must(err)
		var got []string
		for _, turn := range known.Turns {
			got = append(got, turn.Text)
		}
		if !slices.Equal(got, want[window]) {
			w.T.Errorf("window %d of session %s knows %v, and had %v", window, session, got, want[window])
		}
	}
}

// turnOf is a turn of a caller's session with an outcome and a summary; the answer is its
// number and the session's bias.
func turnOf(w *world, c core.Caller, session string, outcome core.Outcome, summary string) (int64, float64) {
	w.T.Helper()
	out, err := w.Do(c, "memory_recall", &core.RecallRequest{Session: session, Query: "harbour", RecallFilter: core.RecallFilter{Namespace: here}})
	w.Must(err)
	turn := out.(*operation.Recalled).Turn
	out, err = w.Do(c, "memory_feedback", &core.FeedbackRequest{Session: session, Turn: turn, Outcome: outcome, Summary: summary})
	w.Must(err)
	return turn, out.(*core.FeedbackResult).Bias
}

// TestSession_Windows: a reset begins at bias 0 and a resume continues with what the window
// had, while turns are numbered through; each window only knows its own turns.
func TestSession_Windows(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	enter := func(name string, in any) *memory.Session {
		out, err := w.Do(me, name, in)
		w.Must(err)
		return out.(*memory.Session)
	}
	turnOf(w, me, "s", core.OutcomeSuccess, "one")
	_, before := turnOf(w, me, "s", core.OutcomeSuccess, "two")
	if s := enter("session_reset", &operation.SessionReset{Session: "s"}); s.Bias != 0 || s.Window != 2 || s.Windows != 2 || s.NextTurn != 3 {
		t.Errorf("after the reset it is %+v", s)
	}
	if turn, bias := turnOf(w, me, "s", core.OutcomeFailure, "three"); turn != 3 || bias != -.15 {
		t.Errorf("the new window's first turn is %d, with bias %v", turn, bias)
	}
	if s := enter("session_resume", &operation.SessionResume{Session: "s"}); s.Bias != before || s.Window != 1 || s.Windows != 2 || s.NextTurn != 4 || s.Feedbacks != 2 {
		t.Errorf("the first window goes on as %+v, with bias %v before", s, before)
	}
	if turn, _ := turnOf(w, me, "s", core.OutcomePartial, "four"); turn != 4 {
		t.Errorf("the first window goes on with turn %d", turn)
	}
	for window, want := range map[int64]string{1: "one two four", 2: "three"} {
		enter("session_resume", &operation.SessionResume{Session: "s", Window: window})
		c, err := w.Host.Memories.Sessions.Context(core.WithCaller(w.Ctx, me), keyOf(w, me, "s"), 0)
		w.Must(err)
		var got []string
		for _, turn := range c.Turns {
			got = append(got, turn.Text)
		}
		if strings.Join(got, " ") != want || c.Turn != 5 {
			t.Errorf("window %d knows %v, in turn %d", window, got, c.Turn)
		}
	}
	if s := enter("session_reset", &operation.SessionReset{Session: "s"}); s.Window != 3 || s.Windows != 3 {
		t.Errorf("another reset opens %+v", s)
	}
	for _, window := range []int64{-1, 4} {
		_, err := w.Do(me, "session_resume", &operation.SessionResume{Session: "s", Window: window})
		w.Refused(err, sdk.NotFound, "window_not_found")
	}
	sound(w)
}

// TestSession_FeedbackAfterAReset: a turn that was open belongs to its own window, whose
// bias its feedback moves, and takes no recall of another window.
func TestSession_FeedbackAfterAReset(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	recall := &core.RecallRequest{Session: "s", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: here}}
	_, err := w.Do(me, "memory_recall", recall)
	w.Must(err)
	_, err = w.Do(me, "session_reset", &operation.SessionReset{Session: "s"})
	w.Must(err)
	again := *recall
	again.Turn = 1
	_, err = w.Do(me, "memory_recall", &again)
	w.Refused(err, sdk.Conflict, "turn_out_of_order")
	for _, step := range []struct {
		source  string
		outcome core.Outcome
		bias    float64
	}{{"text", core.OutcomeFailure, -.15}, {"user", core.OutcomeSuccess, .15}} {
		out, err := w.Do(me, "memory_feedback", &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: step.outcome, Source: step.source})
		w.Must(err)
		if got := out.(*core.FeedbackResult).Bias; got != step.bias {
			t.Errorf("after feedback by %s the first window's bias is %v", step.source, got)
		}
	}
	if s := try[operation.Page[memory.Session]](w, "session_list", &operation.SessionList{Owner: core.OperatorSubject}); len(s.Items) != 0 {
		t.Errorf("the operator's sessions are %+v", s.Items)
	}
	head, err := w.Host.Memories.Sessions.Head(w.Ctx, keyOf(w, me, "s"))
	w.Must(err)
	if head.Bias != 0 || head.Window != 2 || head.Feedbacks != 0 {
		t.Errorf("the second window is %+v", head)
	}
	sound(w)
}

// TestSession_ATurnKeepsItsWindow: what the prompt of a turn can use comes from the window in which
// the turn began, whichever window the session has entered since.
func TestSession_ATurnKeepsItsWindow(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	enter := func(name string, in any) {
		_, err := w.Do(me, name, in)
		w.Must(err)
	}
	_, first := turnOf(w, me, "s", core.OutcomeSuccess, "one")
	enter("session_reset", &operation.SessionReset{Session: "s"})
	_, second := turnOf(w, me, "s", core.OutcomeFailure, "two")
	open := &core.RecallRequest{Session: "s", Query: "harbour"}
	enter("memory_recall", open) // turn 3, in the second window
	enter("session_resume", &operation.SessionResume{Session: "s", Window: 1})
	enter("memory_recall", open) // turn 4, in the first window
	enter("session_reset", &operation.SessionReset{Session: "s"})
	for _, c := range []struct {
		turn, window int64
		bias         float64
		texts        string
	}{{1, 1, first, ""}, {2, 2, second, ""}, {3, 2, second, "two"}, {4, 1, first, "one"}, {5, 3, 0, ""}, {0, 3, 0, ""}} {
		known, err := w.Host.Memories.Sessions.Context(core.WithCaller(w.Ctx, me), keyOf(w, me, "s"), c.turn)
		w.Must(err)
		var texts []string
		for _, turn := range known.Turns {
			texts = append(texts, turn.Text)
		}
		if known.Window != c.window || known.Bias != c.bias || strings.Join(texts, " ") != c.texts {
			t.Errorf("turn %d is in window %d, with bias %v and %q; want %+v", c.turn, known.Window, known.Bias, texts, c)
		}
	}
}

// TestSession_HintIsForTheNextTurnOnly follows a hint from its feedback on.
func TestSession_HintIsForTheNextTurnOnly(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	turnOf(w, me, "s", core.OutcomeSuccess, "")
	out, err := w.Do(me, "memory_recall", &core.RecallRequest{Session: "s", Query: "harbour"})
	w.Must(err)
	_, err = w.Do(me, "memory_feedback", &core.FeedbackRequest{
		Session: "s", Turn: out.(*operation.Recalled).Turn, Outcome: core.OutcomeFailure, NextTurnHint: "ask the harbour master",
		CorrectiveAction: "asked", ToolOutcomes: []core.ToolOutcome{{Tool: "phone"}},
	})
	w.Must(err)
	ctx := core.WithCaller(w.Ctx, me)
	c, err := w.Host.Memories.Sessions.Context(ctx, keyOf(w, me, "s"), 0)
	w.Must(err)
	if c.Hint != "ask the harbour master" || c.Turn != 3 || c.HintTurn != 3 || c.FailureClass != core.FailureToolError {
		t.Errorf("the next turn gets %+v", c)
	}
	_, err = w.Do(me, "memory_recall", &core.RecallRequest{Session: "s", Turn: 5, Query: "harbour"})
	w.Must(err)
	_, err = w.Do(me, "memory_recall", &core.RecallRequest{Session: "s", Turn: 6, Query: "harbour"})
	w.Must(err)
	for turn, hinted := range map[int64]int64{5: 5, 6: 5} {
		c, err := w.Host.Memories.Sessions.Context(ctx, keyOf(w, me, "s"), turn)
		w.Must(err)
		if c.HintTurn != hinted {
			t.Errorf("the hint in turn %d is for turn %d, not %d", turn, c.HintTurn, hinted)
		}
	}
}

// TestSession_SummaryHoldsForItsTexts: a window's summary is used as long as its turns say
// what it was written from. A purge removes it, and nothing that was removed comes into a
// later summary.
func TestSession_SummaryHoldsForItsTexts(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	ctx := core.WithCaller(w.Ctx, me)
	for i := range 3 {
		turnOf(w, me, "s", core.OutcomeSuccess, fmt.Sprintf("Ship %d is in.", i+1))
	}
	known := func(turn int64) *memory.SessionContext {
		t.Helper()
		c, err := w.Host.Memories.Sessions.Context(ctx, keyOf(w, me, "s"), turn)
		w.Must(err)
		return c
	}
	summary := func(text string) *memory.SummarizedWindow {
		return &memory.SummarizedWindow{
			Session: keyOf(w, me, "s"), Window: 1, WindowSummary: memory.WindowSummary{Through: 2, Turns: memory.DigestOfTurns(known(0).Turns[:2]), Text: text},
		}
	}
	store := func(s *memory.SummarizedWindow, want bool) {
		t.Helper()
		if stored, err := w.Host.Memories.Sessions.SummarizeWindow(ctx, s); err != nil || stored != want {
			t.Errorf("it is stored: %v, %v", stored, err)
		}
	}
	store(summary("Two ships."), true)
	if c := known(0); c.Summary == nil || c.Summary.Text != "Two ships." || !c.Newest {
		t.Errorf("the next turn gets %+v", c.Summary)
	}
	if c := known(2); c.Summary != nil || c.Newest {
		t.Errorf("an earlier turn gets %+v", c.Summary)
	}
	late := summary("Two ships, one of them late.")
	_, err := w.Do(me, "memory_feedback", &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Source: "user", Summary: "Ship 1 sank."})
	w.Must(err)
	if c := known(0); c.Summary != nil {
		t.Errorf("after a turn got another the summary is %+v", c.Summary)
	}
	store(late, false)
	store(summary("One ship."), true)
	late = summary("One ship, and none.")
	other := core.WithCaller(w.Ctx, subject("other"))
	if _, err := w.Host.Memories.Sessions.SummarizeWindow(other, late); sdk.ReasonOf(err) != "session_not_found" {
		t.Errorf("another subject may sum up: %v", err)
	}
	_, err = w.Host.Memories.Gate.Erase(w.Ctx, "m", memory.EraseRequest{Reason: "it is wrong"})
	w.Must(err)
	store(late, false)
	for key, value := range contents(t, w.Config.Store, "") {
		if strings.Contains(value, "One ship") || strings.HasPrefix(key, "session-window-summary/") {
			t.Errorf("%q holds %s", key, value)
		}
	}
	sound(w)
}

// TestSession_PurgeTakesItsTexts: what a turn's feedback said is removed with any memory
// that the turn recalled, and the store's check still passes.
func TestSession_PurgeTakesItsTexts(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := subject("me")
	for range 2 {
		turnOf(w, me, "s", core.OutcomeSuccess, "The harbour closes at noon.")
	}
	_, err := w.Host.Memories.Gate.Erase(w.Ctx, "m", memory.EraseRequest{Reason: "it is wrong"})
	w.Must(err)
	out, err := w.Do(me, "session_get", &operation.SessionGet{Session: "s"})
	w.Must(err)
	for _, turn := range out.(*operation.Session).Items {
		if r := turn.Reflection; r == nil || r.Summary != "" || !r.Purged || r.Outcome != core.OutcomeSuccess {
			t.Errorf("turn %d says %+v", turn.Turn, r)
		}
	}
	c, err := w.Host.Memories.Sessions.Context(core.WithCaller(w.Ctx, me), keyOf(w, me, "s"), 0)
	w.Must(err)
	if len(c.Turns) != 0 {
		t.Errorf("the next turn gets %+v", c.Turns)
	}
	sound(w)
}

// TestSession_ManyAtOnce makes two sessions of a user and one of another recall, reset,
// resume and get feedback at the same time: no turn number is used twice, and no window
// knows a turn of another, of another session, or of another user.
func TestSession_ManyAtOnce(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	type of struct {
		caller  core.Caller
		session string
	}
	sessions := []of{{subject("one"), "a"}, {subject("one"), "b"}, {subject("two"), "c"}}
	const workers, rounds = 3, 8
	var mu sync.Mutex
	turns := map[string][]int64{}
	var all sync.WaitGroup
	for _, s := range sessions {
		turnOf(w, s.caller, s.session, core.OutcomeSuccess, s.session+":1")
		for n := range workers {
			all.Go(func() {
				for i := range rounds {
					out, err := w.Do(s.caller, "memory_recall", &core.RecallRequest{Session: s.session, Query: "harbour"})
					if err != nil {
						t.Errorf("recall: %v", err)
						return
					}
					turn := out.(*operation.Recalled).Turn
					mu.Lock()
					turns[s.session] = append(turns[s.session], turn)
					mu.Unlock()
					switch (n + i) % 3 {
					case 0:
						_, err = w.Do(s.caller, "session_reset", &operation.SessionReset{Session: s.session})
					case 1:
						_, err = w.Do(s.caller, "session_resume", &operation.SessionResume{Session: s.session, Window: 1})
					}
					if err != nil {
						t.Errorf("window: %v", err)
					}
					if _, err = w.Do(s.caller, "memory_feedback", &core.FeedbackRequest{
						Session: s.session, Turn: turn, Outcome: core.OutcomePartial, Summary: fmt.Sprintf("%s:%d", s.session, turn),
					}); err != nil {
						t.Errorf("feedback: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, s := range sessions {
		got := slices.Sorted(slices.Values(turns[s.session]))
		if len(slices.Compact(slices.Clone(got))) != workers*rounds || got[0] != 2 || got[len(got)-1] != workers*rounds+1 {
			t.Errorf("session %s had the turns %v", s.session, got)
		}
		windowsApart(w, s.caller, s.session)
	}
	sound(w)
}
