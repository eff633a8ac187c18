package memory

import (
	"context"
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
}

func sessionKey(session string) []byte { return []byte(sessionPrefix + session) }

// userKey notes that a session used a memory.
func userKey(id, session string) []byte { return []byte(userPrefix + id + "/" + session) }

// Bias returns how a session's turns have gone lately, from -1 to 1: 0 for a
// session without feedback (spec 3.6).
func (m *Memories) Bias(ctx context.Context, session string) (bias float64, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		bias, err = readBias(r, session)
		return err
	})
	return bias, err
}

func readBias(r core.Reader, session string) (float64, error) {
	value, found, err := r.Get(sessionKey(session))
	if err != nil || !found {
		return 0, err
	}
	var s sessionRecord
	if err := json.Unmarshal(value, &s); err != nil {
		return 0, damaged(sessionPrefix+session, err)
	}
	return s.Bias, nil
}

// moveBias brings an outcome to a session's bias, and returns it.
func moveBias(t *tx, session string, o core.Outcome) (float64, error) {
	bias, err := readBias(t, session)
	if err != nil {
		return 0, err
	}
	bias = lifecycle.Bias(bias, o)
	return bias, t.writeOfSession(session, sessionKey(session), core.MustJSON(sessionRecord{Bias: bias}))
}

// noteUser notes that a session used a memory, and reports whether it is the
// first time.
func noteUser(t *tx, m *core.Memory, session string) (first bool, err error) {
	key := userKey(m.ID, session)
	_, found, err := t.Get(key)
	if err != nil || found {
		return false, err
	}
	return true, t.write(m.Namespace, key, nil)
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
