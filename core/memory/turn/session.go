package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
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
	// LastAt is when its current turn began.
	LastAt time.Time `json:"last_at,omitzero"`
	// Trial is what is under test in all its turns; nil for nothing.
	Trial *draw `json:"trial,omitempty"`
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
	return t.WriteOfSession(session, record.SessionKey(session), jsontext.MustEncode(s))
}

// Next is the turn that a recall begins if it names none.
func Next(r core.Reader, session string) (int64, error) {
	s, err := readSession(r, session)
	return s.Next, err
}

// Bias returns how the turns of a session's current window have gone lately, from -1 to
// 1: 0 without feedback. A session of another subject than the caller's is sdk.NotFound, reason
// "session_not_found".
func Bias(r core.Reader, caller core.Caller, session string) (bias float64, err error) {
	stored, err := readOwn(r, caller, session)
	return stored.Bias, err
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

// SessionFilter selects sessions.
type SessionFilter struct {
	// Owner is the subject whose sessions are listed; Any lists the sessions of every subject.
	Owner string
	Any   bool
	// In selects sessions by namespace, and Text by a part of their names, in upper or lower case.
	// Without them, all are listed.
	In   func(namespace string) bool
	Text string
	// Since leaves out sessions whose newest turn began before; the zero time selects all.
	Since time.Time
	// Named selects the sessions that have this name with a mark; "" is any name.
	Named string
	// After is the name after which the list begins, and Limit is how many are listed at most.
	After string
	Limit int
}

// fits reports whether the filter selects a session.
func (f *SessionFilter) fits(s *sessionRecord, name string) bool {
	nobodys := s.Owner == "" && f.Owner == core.OperatorSubject
	return s.began() && (f.Any || s.Owner == f.Owner || nobodys) && (f.In == nil || f.In(s.Namespace)) && !s.LastAt.Before(f.Since) &&
		(f.Named == "" || len(name) == len(core.ScopedName(f.Named, ""))+core.ScopeMarkBytes) && strings.Contains(strings.ToLower(s.chosen(name)), strings.ToLower(f.Text))
}

// List returns sessions by [Session.Key]. next is the key after which the next page begins; "" if there
// is none.
func (s *Turns) List(ctx context.Context, f *SessionFilter) (list []Session, next string, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		list, next = nil, ""
		begin := ""
		if f.Named != "" {
			begin = core.ScopedName(f.Named, "")
		}
		return r.Scan(append(record.SessionKey(max(f.After, begin)), 0), core.PrefixEnd(record.SessionKey(begin)), func(key, value []byte) (bool, error) {
			name := string(key[len(record.SessionPrefix):])
			var stored sessionRecord
			if err := json.Unmarshal(value, &stored); err != nil {
				return false, record.Damaged(record.SessionPrefix+name, err)
			}
			if !f.fits(&stored, name) {
				return true, ctx.Err()
			}
			if len(list) == f.Limit {
				next = list[f.Limit-1].Key
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
	// Session is its name as its owner chose it, and Key is the name under which it is stored: the
	// same, or with a mark of its owner, so that no other session has it.
	Session string `json:"session"`
	Key     string `json:"key"`
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
	// LastAt is when its newest turn began.
	LastAt time.Time `json:"last_at,omitzero"`
}

// LastTurn is the number of its newest turn.
func (s *Session) LastTurn() int64 { return s.NextTurn - 1 }

// Marks are the marks that the names of a caller's sessions have in the store, so that each subject
// has its own names: see [core.ScopedName]. The second is for a subject that had a session of the
// same name where it doesn't reach now, perhaps for another tenant. There are none for callers whose
// sessions are stored under the names themselves: the operator, everybody whom a server lets in
// without credentials, and a Go program without callers.
func Marks(c core.Caller) []string {
	switch c.Subject {
	case "", core.OperatorSubject, core.LocalSubject:
		return nil
	}
	return []string{core.ScopeMark(c.Subject), core.ScopeMark(c.Tenant() + "\x00" + c.Subject)}
}

// chosen is the name that a session's owner chose.
func (s *sessionRecord) chosen(name string) string {
	owner := core.Caller{Subject: s.Owner}
	for _, mark := range append(Marks(owner), core.ScopeMark(core.Tenant(s.Namespace)+"\x00"+s.Owner)) {
		if chosen, is := strings.CutSuffix(name, core.ScopedName("", mark)); is {
			return chosen
		}
	}
	return name
}

// shown is a session in the form that callers see.
func (s *sessionRecord) shown(name string) *Session {
	return &Session{
		Session: s.chosen(name), Key: name, Owner: s.Owner, Namespace: s.Namespace, Window: s.window(), Windows: s.windows(),
		Bias: s.Bias, NextTurn: s.Next, Feedbacks: s.Feedbacks, LastAt: s.LastAt,
	}
}

// SessionTurn is a turn of a session.
type SessionTurn struct {
	Turn int64 `json:"turn"`
	// Window is the window that it belongs to.
	Window int64 `json:"window"`
	// Namespace is the namespace that its first recall searched.
	Namespace string `json:"namespace,omitempty"`
	// At is when it began.
	At time.Time `json:"at,omitzero"`
	// RunID is the run that began it; "" if none did.
	RunID string `json:"run_id,omitempty"`
	// Query is the beginning of its first query, of at most 500 characters; "" if it had none, and
	// after a purge of a memory that it recalled.
	Query string `json:"query,omitempty"`
	// Memories are the memories that it recalled.
	Memories []string `json:"memories"`
	// Withheld is the memory that it left out by chance, to see what that contributes.
	Withheld []string `json:"withheld,omitempty"`
	// Score is the score of the memory that fitted best; 0 if none was recalled.
	Score float64 `json:"score"`
	// Feedback is the result of its feedback; nil if it had none yet.
	Feedback *core.FeedbackResult `json:"feedback,omitempty"`
	// Reflection is what its feedback said about it, in addition to the credit; nil if it
	// had none yet.
	Reflection *Reflection `json:"reflection,omitempty"`
}

// TurnFilter selects turns of a session.
type TurnFilter struct {
	Session string
	// Any shows a session of another subject too, for code that decides who may see it.
	Any bool
	// In leaves out turns that belong to a namespace for which it is false; nil leaves out none.
	In func(namespace string) bool
	// After is the turn after which the list begins, and Limit is how many are listed at most.
	After int64
	Limit int
}

// Session returns a session's totals and its turns, the oldest first; more is whether other turns
// follow. For a session that had no turn, or that belongs to another subject than the caller's, the
// error is sdk.NotFound, reason "session_not_found".
func (s *Turns) Session(ctx context.Context, f *TurnFilter) (session *Session, turns []SessionTurn, more bool, err error) {
	if err := checkTurn(f.Session, f.After); err != nil {
		return nil, nil, false, err
	}
	err = s.View(ctx, func(r core.Reader) error {
		stored, err := readSession(r, f.Session)
		if err == nil && !f.Any {
			err = stored.of(core.CallerOf(ctx), f.Session)
		}
		if err != nil {
			return err
		}
		if !stored.began() {
			return SessionNotFound(f.Session)
		}
		session = stored.shown(f.Session)
		turns, more, err = listTurns(ctx, r, f)
		return err
	})
	return session, turns, more, err
}

// listTurns lists the turns of a session; more is whether other turns follow.
func listTurns(ctx context.Context, r core.Reader, f *TurnFilter) (turns []SessionTurn, more bool, err error) {
	start := []byte(record.TurnRecordPrefix + f.Session + "/")
	err = r.Scan(record.TurnRecordKey(f.Session, f.After+1), core.PrefixEnd(start), func(key, value []byte) (bool, error) {
		if len(key) != len(start)+8 {
			return true, ctx.Err()
		}
		var stored turnRecord
		if err := json.Unmarshal(value, &stored); err != nil {
			return false, record.Damaged(record.TurnRecordPrefix+f.Session, err)
		}
		if f.In != nil && slices.ContainsFunc(stored.namespaces(), func(namespace string) bool { return !f.In(namespace) }) {
			return true, ctx.Err()
		}
		if more = len(turns) == f.Limit; more {
			return false, nil
		}
		turn, err := shownTurn(r, f.Session, turnOf(key), &stored)
		turns = append(turns, turn)
		return err == nil, err
	})
	return turns, more, err
}

// shownTurn is a turn in the form that callers see.
func shownTurn(r core.Reader, session string, number int64, stored *turnRecord) (SessionTurn, error) {
	turn := SessionTurn{
		Turn: number, Window: stored.window(), Namespace: stored.Namespace, At: stored.At, RunID: stored.RunID, Query: stored.Query,
		Memories: []string{}, Withheld: stored.withheld(), Feedback: stored.Feedback,
	}
	for i := range stored.Items {
		turn.Memories, turn.Score = append(turn.Memories, stored.Items[i].ID), max(turn.Score, stored.Items[i].Score)
	}
	if stored.Feedback == nil {
		return turn, nil
	}
	reflection, err := readReflection(r, session, turn.Window, number)
	turn.Reflection = reflection.shown()
	return turn, err
}

// SessionNotFound is the error for a session that had no turn, and for another subject's
// session.
func SessionNotFound(name string) error {
	return sdk.Errorf(sdk.NotFound, "session_not_found", "there is no session %q", core.Cut(name)).WithDetail("session", core.Cut(name))
}
