package turn

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// sessionRecord is a stored session: who owns it, and how its current window is going.
type sessionRecord struct {
	// Bias is below 0 if recall has helped little lately in the current window.
	Bias float64 `json:"bias"`
	// Next is the number after the session's current turn, which is its highest. It never
	// goes back: turns are keys.
	Next int64 `json:"next_turn,omitempty"`
	// Feedbacks counts the turns of the current window that had their feedback.
	Feedbacks int64 `json:"feedbacks,omitempty"`
	// Owner is the subject that first used the session. It is "" if the caller had no
	// subject.
	Owner string `json:"owner,omitempty"`
	// Namespace is where its recalls without a namespace search: the namespace of its first
	// recall.
	Namespace string `json:"namespace,omitempty"`
	// Window is the current window and Windows how many there are; 0 means 1.
	Window  int64 `json:"window,omitempty"`
	Windows int64 `json:"windows,omitempty"`
}

// window is the number of the current window.
func (s *sessionRecord) window() int64 { return cmp.Or(s.Window, 1) }

// windows is how many windows there are.
func (s *sessionRecord) windows() int64 { return cmp.Or(s.Windows, 1) }

// began reports whether the session had a turn.
func (s *sessionRecord) began() bool { return s.Next > 1 }

// of refuses a caller that the session doesn't belong to, as if there were no such
// session. The local operator is never refused: it may resume any run, which continues in
// the run's session.
func (s *sessionRecord) of(caller core.Caller, name string) error {
	if !s.began() || caller.Subject == s.Owner || caller.Subject == core.OperatorSubject {
		return nil
	}
	return SessionNotFound(name)
}

// getSession is a session's stored record; the zero record if there is none.
func getSession(r core.Reader, session string) (s sessionRecord, err error) {
	value, found, err := r.Get(record.SessionKey(session))
	if err != nil || !found {
		return s, err
	}
	if err := json.Unmarshal(value, &s); err != nil {
		return s, record.Damaged(record.SessionPrefix+session, err)
	}
	return s, nil
}

// readSession is a session's record with its next turn: 1 for a new session.
func readSession(r core.Reader, session string) (sessionRecord, error) {
	s, err := getSession(r, session)
	s.Next = max(s.Next, 1)
	return s, err
}

// readOwn is readSession for a caller, which may only read its own sessions.
func readOwn(r core.Reader, caller core.Caller, session string) (sessionRecord, error) {
	s, err := readSession(r, session)
	if err != nil {
		return s, err
	}
	return s, s.of(caller, session)
}

func putSession(t *record.Tx, session string, s sessionRecord) error {
	return t.WriteOfSession(session, record.SessionKey(session), core.MustJSON(s))
}

// Next is the turn that a recall begins if it names none.
func Next(r core.Reader, session string) (int64, error) {
	s, err := readSession(r, session)
	return s.Next, err
}

// Bias returns how the turns of a session's current window have gone lately, from -1 to
// 1: 0 without feedback. A session of another subject is sdk.NotFound, reason
// "session_not_found".
func (s *Turns) Bias(ctx context.Context, session string) (bias float64, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		stored, err := readOwn(r, core.CallerOf(ctx), session)
		bias = stored.Bias
		return err
	})
	return bias, err
}

// Head returns a session without its turns, for any owner; nil for a session that had no
// turn. It is for code that decides who may see the session.
func (s *Turns) Head(ctx context.Context, name string) (session *Session, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		stored, err := readSession(r, name)
		if session = nil; err == nil && stored.began() {
			session = stored.shown(name)
		}
		return err
	})
	return session, err
}

// List returns the sessions of an owner that follow a name ("" for the start), by name, at
// most limit. next is the name after which the next page begins; "" if there is none.
func (s *Turns) List(ctx context.Context, owner, after string, limit int) (list []Session, next string, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		list, next = nil, ""
		start := []byte(record.SessionPrefix)
		return r.Scan(append(record.SessionKey(after), 0), core.PrefixEnd(start), func(key, value []byte) (bool, error) {
			name := string(key[len(start):])
			var stored sessionRecord
			if err := json.Unmarshal(value, &stored); err != nil {
				return false, record.Damaged(record.SessionPrefix+name, err)
			}
			early := stored.Owner == "" && owner == core.OperatorSubject
			if stored.Owner != owner && !early || !stored.began() {
				return true, ctx.Err()
			}
			if len(list) == limit {
				next = list[limit-1].Session
				return false, nil
			}
			list = append(list, *stored.shown(name))
			return true, ctx.Err()
		})
	})
	return list, next, err
}

// Session is a session, and how its current window is going.
type Session struct {
	Session string `json:"session"`
	// Owner is the subject that the session belongs to; "" if it began without one.
	Owner string `json:"owner,omitempty"`
	// Namespace is where its recalls without a namespace search.
	Namespace string `json:"namespace,omitempty"`
	// Window is its current window, from 1, and Windows is how many it has.
	Window  int64 `json:"window"`
	Windows int64 `json:"windows"`
	// Bias is how the window's turns have gone lately, from -1 to 1.
	Bias float64 `json:"bias"`
	// NextTurn is the number of the turn that a recall would begin, and Feedbacks is how
	// many turns of the window had their feedback.
	NextTurn  int64 `json:"next_turn"`
	Feedbacks int64 `json:"feedbacks"`
}

// shown is a session in the form that callers see.
func (s *sessionRecord) shown(name string) *Session {
	return &Session{
		Session: name, Owner: s.Owner, Namespace: s.Namespace, Window: s.window(), Windows: s.windows(),
		Bias: s.Bias, NextTurn: s.Next, Feedbacks: s.Feedbacks,
	}
}

// SessionTurn is a turn of a session.
type SessionTurn struct {
	Turn int64 `json:"turn"`
	// Window is the window that it belongs to.
	Window int64 `json:"window"`
	// Namespace is the namespace that its first recall searched.
	Namespace string `json:"namespace,omitempty"`
	// Memories are the memories that it recalled.
	Memories []string `json:"memories"`
	// Feedback is the result of its feedback; nil if it had none yet.
	Feedback *core.FeedbackResult `json:"feedback,omitempty"`
	// Reflection is what its feedback said about it, in addition to the credit; nil if it
	// had none yet.
	Reflection *Reflection `json:"reflection,omitempty"`
}

// Session returns a session's totals, and its turns after a given turn (0 for the start),
// at most limit; more is whether other turns follow. For a session that had no turn, or
// belongs to another subject than the caller's, the error is sdk.NotFound, reason
// "session_not_found".
func (s *Turns) Session(ctx context.Context, name string, after int64, limit int) (session *Session, turns []SessionTurn, more bool, err error) {
	if err := checkTurn(name, after); err != nil {
		return nil, nil, false, err
	}
	err = s.View(ctx, func(r core.Reader) error {
		stored, err := readOwn(r, core.CallerOf(ctx), name)
		if err != nil {
			return err
		}
		if !stored.began() {
			return SessionNotFound(name)
		}
		session = stored.shown(name)
		turns, more, err = listTurns(ctx, r, name, after, limit)
		return err
	})
	return session, turns, more, err
}

// listTurns lists the turns of a session after a given turn, at most limit; more is
// whether other turns follow.
func listTurns(ctx context.Context, r core.Reader, name string, after int64, limit int) (turns []SessionTurn, more bool, err error) {
	start := []byte(record.TurnRecordPrefix + name + "/")
	err = r.Scan(record.TurnRecordKey(name, after+1), core.PrefixEnd(start), func(key, value []byte) (bool, error) {
		if more = len(turns) == limit; more || len(key) != len(start)+8 {
			return !more, ctx.Err()
		}
		var stored turnRecord
		if err := json.Unmarshal(value, &stored); err != nil {
			return false, record.Damaged(record.TurnRecordPrefix+name, err)
		}
		turn := SessionTurn{
			Turn:   int64(binary.BigEndian.Uint64(key[len(start):])), //nolint:gosec // turns count from 1
			Window: stored.window(), Namespace: stored.Namespace, Memories: []string{}, Feedback: stored.Feedback,
		}
		for i := range stored.Items {
			turn.Memories = append(turn.Memories, stored.Items[i].ID)
		}
		if stored.Feedback != nil {
			reflection, err := readReflection(r, name, turn.Window, turn.Turn)
			if err != nil {
				return false, err
			}
			turn.Reflection = reflection.shown()
		}
		turns = append(turns, turn)
		return true, nil
	})
	return turns, more, err
}

// SessionNotFound is the error for a session that had no turn, and for another subject's
// session.
func SessionNotFound(name string) error {
	return sdk.Errorf(sdk.NotFound, "session_not_found", "there is no session %q", core.Cut(name)).WithDetail("session", core.Cut(name))
}
