package turn

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// A session has windows: parts of it that don't see each other's turns, as when a user
// begins a new conversation under the same name. A reset opens a new window, and a resume
// goes back to an earlier one, with the bias that it had. Memories belong to no window, and
// the turn counter continues over all of them, because turns are keys: evidence and
// snapshots name a turn by its session and number.
//
// The current window is in the session's record, which every recall reads anyway; the
// others have their own records.

// windowRecord is how a window was going when it was left.
type windowRecord struct {
	Bias      float64 `json:"bias"`
	Feedbacks int64   `json:"feedbacks,omitempty"`
}

func readWindow(r core.Reader, session string, number int64) (w windowRecord, err error) {
	value, found, err := r.Get(record.WindowKey(session, number))
	if err != nil || !found {
		return w, err
	}
	if err := json.Unmarshal(value, &w); err != nil {
		return w, record.Damaged(record.WindowPrefix+session, err)
	}
	return w, nil
}

func putWindow(t *record.Tx, session string, number int64, w windowRecord) error {
	return t.WriteOfSession(session, record.WindowKey(session, number), jsontext.MustEncode(w))
}

// changeWindow changes how a window of a session is going, and returns what it is then.
func changeWindow(t *record.Tx, session string, number int64, change func(*windowRecord)) (windowRecord, error) {
	s, err := readSession(t, session)
	if err != nil {
		return windowRecord{}, err
	}
	if number == s.window() {
		w := windowRecord{s.Bias, s.Feedbacks}
		change(&w)
		s.Bias, s.Feedbacks = w.Bias, w.Feedbacks
		return w, putSession(t, session, s)
	}
	w, err := readWindow(t, session, number)
	if err != nil {
		return w, err
	}
	change(&w)
	return w, putWindow(t, session, number, w)
}

// moveBias adds the outcome of a turn to its window's bias, and returns the window.
func moveBias(t *record.Tx, session string, window int64, o core.Outcome) (windowRecord, error) {
	return changeWindow(t, session, window, func(w *windowRecord) {
		w.Bias = lifecycle.Bias(w.Bias, o)
		w.Feedbacks++
	})
}

// amendBias replaces the outcome of an earlier turn in its window's bias, as if it had
// been the new one at the time: each turn since then has reduced its effect.
func amendBias(t *record.Tx, session string, window, feedbacks int64, before, after core.Outcome) (windowRecord, error) {
	return changeWindow(t, session, window, func(w *windowRecord) {
		w.Bias = lifecycle.AmendBias(w.Bias, w.Feedbacks-feedbacks, before, after)
	})
}

// Reset opens a new window of a session, with bias 0. Its turns and memories stay. For a
// session that had no turn, or belongs to another subject than the caller's, the error is
// sdk.NotFound, reason "session_not_found".
func (s *Turns) Reset(ctx context.Context, session string) (*Session, error) {
	return s.enterWindow(ctx, session, func(stored *sessionRecord) (int64, error) { return stored.windows() + 1, nil })
}

// Resume goes back to an earlier window of a session, with the bias that it had; 0 is the
// window before the current one. The errors are [Turns.Reset]'s, and sdk.NotFound, reason
// "window_not_found".
func (s *Turns) Resume(ctx context.Context, session string, window int64) (*Session, error) {
	return s.enterWindow(ctx, session, func(stored *sessionRecord) (int64, error) {
		if window == 0 {
			window = stored.window() - 1
		}
		if window < 1 || window > stored.windows() {
			return 0, sdk.Errorf(sdk.NotFound, "window_not_found", "session %s has no window %d: it has %d and is in window %d", session, window, stored.windows(), stored.window()).
				WithHint("name one of its windows, from 1").WithAction("session show", "session", session).
				WithDetail("windows", stored.windows()).WithDetail("window", stored.window())
		}
		return window, nil
	})
}

// enterWindow makes another window of a session the current one. A new window has no record
// yet.
func (s *Turns) enterWindow(ctx context.Context, session string, choose func(*sessionRecord) (int64, error)) (entered *Session, err error) {
	var p bounds.Problems
	p.ID("session", session)
	if err := p.Err(); err != nil {
		return nil, err
	}
	err = s.Update(ctx, func(t *record.Tx) error {
		stored, err := readOwn(t, t.Caller(), session)
		if err != nil {
			return err
		}
		if !stored.began() {
			return SessionNotFound(session)
		}
		to, err := choose(&stored)
		if err != nil {
			return err
		}
		if entered, err = switchWindow(t, session, &stored, to); err != nil || stored.Namespace == "" {
			return err
		}
		return t.Record(stored.Namespace, journal.SessionWindowEntered{
			SessionID: session, TurnID: stored.Next, Window: to, Windows: stored.windows(), AgentID: t.Caller().Label,
		})
	})
	return entered, err
}

// switchWindow stores how the current window is going, and takes up another.
func switchWindow(t *record.Tx, session string, stored *sessionRecord, to int64) (*Session, error) {
	if to == stored.window() {
		return stored.shown(session), nil
	}
	if err := putWindow(t, session, stored.window(), windowRecord{stored.Bias, stored.Feedbacks}); err != nil {
		return nil, err
	}
	w, err := readWindow(t, session, to)
	if err != nil {
		return nil, err
	}
	stored.Bias, stored.Feedbacks = w.Bias, w.Feedbacks
	stored.Windows, stored.Window = max(stored.windows(), to), to
	return stored.shown(session), putSession(t, session, *stored)
}
