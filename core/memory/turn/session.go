package turn

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// sessionRecord is a session's stored totals.
type sessionRecord struct {
	// Bias is below 0 if recall has helped little lately.
	Bias float64 `json:"bias"`
	// Next is the number after the session's current turn, which is its highest. Early
	// stores don't have it, so it is looked up if it is 0.
	Next int64 `json:"next_turn,omitempty"`
	// Feedbacks counts the turns that had their feedback.
	Feedbacks int64 `json:"feedbacks,omitempty"`
}

func readBias(r core.Reader, session string) (float64, error) {
	s, err := getSession(r, session)
	return s.Bias, err
}

// getSession is a session's stored record; the zero one if there is none.
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
	if err != nil || s.Next > 0 {
		return s, err
	}
	s.Next = 1
	start := []byte(record.TurnRecordPrefix + session + "/")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if len(key) == len(start)+8 {
			s.Next = int64(binary.BigEndian.Uint64(key[len(start):])) + 1
		}
		return true, nil
	})
	return s, err
}

func putSession(t *record.Tx, session string, s sessionRecord) error {
	return t.WriteOfSession(session, record.SessionKey(session), core.MustJSON(s))
}

// Next is the turn that a recall begins if it names none.
func Next(r core.Reader, session string) (int64, error) {
	s, err := readSession(r, session)
	return s.Next, err
}

// moveBias adds the outcome of a turn to its session's bias, and returns the session's
// record.
func moveBias(t *record.Tx, session string, o core.Outcome) (sessionRecord, error) {
	s, err := readSession(t, session)
	if err != nil {
		return s, err
	}
	s.Bias = lifecycle.Bias(s.Bias, o)
	s.Feedbacks++
	return s, putSession(t, session, s)
}

// amendBias replaces the outcome of an earlier turn in its session's bias, as if it had
// been the new one at the time: each turn since then has reduced its effect.
func amendBias(t *record.Tx, session string, feedbacks int64, before, after core.Outcome) (sessionRecord, error) {
	s, err := readSession(t, session)
	if err != nil {
		return s, err
	}
	s.Bias = lifecycle.AmendBias(s.Bias, s.Feedbacks-feedbacks, before, after)
	return s, putSession(t, session, s)
}

// The values of a session's key among the users of a memory: whether a use was named, or
// all its uses were assumed.
const (
	usedNamed   = ""
	usedAssumed = "assumed"
)

// noteUser records that a session used a memory. It reports whether this is the first
// use, and whether it is the first named use.
func noteUser(t *record.Tx, m *core.Memory, session string, named bool) (first, firstNamed bool, err error) {
	key := record.UserKey(m.ID, session)
	value, found, err := t.Get(key)
	if err != nil || found && (!named || string(value) == usedNamed) {
		return false, false, err
	}
	note := usedAssumed
	if named {
		note = usedNamed
	}
	return !found, named, t.Write(m.Namespace, key, []byte(note))
}

// correctUser corrects what is recorded about a session's use of a memory: users has the
// sessions that used it, and whether a use was named.
func correctUser(t *record.Tx, m *core.Memory, session string, users map[string]bool) error {
	key := record.UserKey(m.ID, session)
	named, used := users[session]
	switch {
	case !used:
		return t.Erase(m.Namespace, key)
	case named:
		return t.Write(m.Namespace, key, []byte(usedNamed))
	}
	return t.Write(m.Namespace, key, []byte(usedAssumed))
}

// ForgetUsers removes the notes of which sessions used a memory.
func ForgetUsers(t *record.Tx, m *core.Memory) error {
	sessions, err := core.Suffixes(t, record.UserKey(m.ID, ""), math.MaxInt)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if err := t.Erase(m.Namespace, record.UserKey(m.ID, session)); err != nil {
			return err
		}
	}
	return nil
}

// Bias returns how a session's turns have gone lately, from -1 to 1: 0 for a
// session without feedback.
func (s *Turns) Bias(ctx context.Context, session string) (bias float64, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		bias, err = readBias(r, session)
		return err
	})
	return bias, err
}

// SessionNames returns the names of the sessions that had a turn, sorted, at most limit.
func (s *Turns) SessionNames(ctx context.Context, limit int) (names []string, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		names = nil
		return core.ScanPrefix(r, []byte(record.SessionPrefix), func(key, _ []byte) (bool, error) {
			names = append(names, string(key[len(record.SessionPrefix):]))
			return len(names) < limit, ctx.Err()
		})
	})
	return names, err
}

// Session is a session's totals.
type Session struct {
	Session string `json:"session"`
	// Bias is how its turns have gone lately, from -1 to 1.
	Bias float64 `json:"bias"`
	// NextTurn is the number of the turn that a recall would begin, and Feedbacks is how
	// many turns had their feedback.
	NextTurn  int64 `json:"next_turn"`
	Feedbacks int64 `json:"feedbacks"`
}

// SessionTurn is a turn of a session.
type SessionTurn struct {
	Turn int64 `json:"turn"`
	// Namespace is the namespace that its first recall searched; early stores don't
	// record it.
	Namespace string `json:"namespace,omitempty"`
	// Memories are the memories that it recalled.
	Memories []string `json:"memories"`
	// Feedback is the result of its feedback; nil if it had none yet.
	Feedback *core.FeedbackResult `json:"feedback,omitempty"`
}

// Session returns a session's totals, and its turns after one (0 for the start), at most
// limit; more is whether others follow. For a session that had no turn the error is
// sdk.NotFound, reason "session_not_found".
func (s *Turns) Session(ctx context.Context, name string, after int64, limit int) (session *Session, turns []SessionTurn, more bool, err error) {
	if err := checkTurn(name, after); err != nil {
		return nil, nil, false, err
	}
	err = s.View(ctx, func(r core.Reader) error {
		turns, more = nil, false
		start := []byte(record.TurnRecordPrefix + name + "/")
		if err := r.Scan(record.TurnRecordKey(name, after+1), core.PrefixEnd(start), func(key, value []byte) (bool, error) {
			if more = len(turns) == limit; more || len(key) != len(start)+8 {
				return !more, ctx.Err()
			}
			var stored turnRecord
			if err := json.Unmarshal(value, &stored); err != nil {
				return false, record.Damaged(record.TurnRecordPrefix+name, err)
			}
			turn := SessionTurn{Turn: int64(binary.BigEndian.Uint64(key[len(start):])), Namespace: stored.Namespace, Memories: []string{}, Feedback: stored.Feedback} //nolint:gosec // turns count from 1
			for i := range stored.Items {
				turn.Memories = append(turn.Memories, stored.Items[i].ID)
			}
			turns = append(turns, turn)
			return true, nil
		}); err != nil {
			return err
		}
		stored, err := readSession(r, name)
		if err == nil && stored.Next <= 1 {
			err = SessionNotFound(name)
		}
		session = &Session{Session: name, Bias: stored.Bias, NextTurn: stored.Next, Feedbacks: stored.Feedbacks}
		return err
	})
	return session, turns, more, err
}

// SessionNotFound is the error for a session that had no turn.
func SessionNotFound(name string) error {
	return sdk.Errorf(sdk.NotFound, "session_not_found", "there is no session %q", core.Cut(name)).WithDetail("session", core.Cut(name))
}
