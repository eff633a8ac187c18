package memory

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// The keys of turns and sessions; core/store/FORMAT.md has the table.
const (
	turnRecordPrefix = "turn/"
	sessionPrefix    = "session/"
	userPrefix       = "memory-session/"
)

// sessionRecord is what a session has come to.
type sessionRecord struct {
	// Bias is below 0 where recall has been of little help lately.
	Bias float64 `json:"bias"`
	// Next is the number after the session's current turn, which is its highest. Early
	// stores don't have it, so it is looked up where it is 0.
	Next int64 `json:"next_turn,omitempty"`
	// Feedbacks counts the turns that had their feedback.
	Feedbacks int64 `json:"feedbacks,omitempty"`
}

func sessionKey(session string) []byte { return []byte(sessionPrefix + session) }

// userKey notes that a session used a memory; early stores noted named uses only.
func userKey(id, session string) []byte { return []byte(userPrefix + id + "/" + session) }

// Bias returns how a session's turns have gone lately, from -1 to 1: 0 for a
// session without feedback.
func (m *Memories) Bias(ctx context.Context, session string) (bias float64, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		bias, err = readBias(r, session)
		return err
	})
	return bias, err
}

func readBias(r core.Reader, session string) (float64, error) {
	s, err := getSession(r, session)
	return s.Bias, err
}

// getSession is a session's record as it is stored, the zero one where there is none.
func getSession(r core.Reader, session string) (s sessionRecord, err error) {
	value, found, err := r.Get(sessionKey(session))
	if err != nil || !found {
		return s, err
	}
	if err := json.Unmarshal(value, &s); err != nil {
		return s, damaged(sessionPrefix+session, err)
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
	start := []byte(turnRecordPrefix + session + "/")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if len(key) == len(start)+8 {
			s.Next = int64(binary.BigEndian.Uint64(key[len(start):])) + 1
		}
		return true, nil
	})
	return s, err
}

func putSession(t *tx, session string, s sessionRecord) error {
	return t.writeOfSession(session, sessionKey(session), core.MustJSON(s))
}

// nextTurnOf is the turn that a recall without one begins.
func nextTurnOf(r core.Reader, session string) (int64, error) {
	s, err := readSession(r, session)
	return s.Next, err
}

// moveBias brings the outcome of a turn to its session's bias, and returns what the
// session has come to.
func moveBias(t *tx, session string, o core.Outcome) (sessionRecord, error) {
	s, err := readSession(t, session)
	if err != nil {
		return s, err
	}
	s.Bias = lifecycle.Bias(s.Bias, o)
	s.Feedbacks++
	return s, putSession(t, session, s)
}

// amendBias takes the outcome of a turn back out of its session's bias and brings
// another in its place, as if it had been that at the time: each turn since then made
// it count for less.
func amendBias(t *tx, session string, feedbacks int64, before, after core.Outcome) (sessionRecord, error) {
	s, err := readSession(t, session)
	if err != nil {
		return s, err
	}
	s.Bias = lifecycle.AmendBias(s.Bias, s.Feedbacks-feedbacks, before, after)
	return s, putSession(t, session, s)
}

// The values of a session's key among the users of a memory: whether somebody named
// a use, or all its uses were assumed.
const (
	usedNamed   = ""
	usedAssumed = "assumed"
)

// noteUser notes that a session used a memory. It reports whether it is the first
// time, and whether it is the first time that somebody named the use.
func noteUser(t *tx, m *core.Memory, session string, named bool) (first, firstNamed bool, err error) {
	key := userKey(m.ID, session)
	value, found, err := t.Get(key)
	if err != nil || found && (!named || string(value) == usedNamed) {
		return false, false, err
	}
	note := usedAssumed
	if named {
		note = usedNamed
	}
	return !found, named, t.write(m.Namespace, key, []byte(note))
}

// correctUser makes what is noted of a session's use of a memory what it turned out
// to be: users has the sessions that used it, and whether somebody named a use.
func correctUser(t *tx, m *core.Memory, session string, users map[string]bool) error {
	key := userKey(m.ID, session)
	named, used := users[session]
	switch {
	case !used:
		return t.erase(m.Namespace, key)
	case named:
		return t.write(m.Namespace, key, []byte(usedNamed))
	}
	return t.write(m.Namespace, key, []byte(usedAssumed))
}

// forgetUsers removes what [noteUser] noted of a memory.
func forgetUsers(t *tx, m *core.Memory) error {
	sessions, err := core.Suffixes(t, userKey(m.ID, ""), math.MaxInt)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if err := t.erase(m.Namespace, userKey(m.ID, session)); err != nil {
			return err
		}
	}
	return nil
}
