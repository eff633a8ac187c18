package inject

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A session's block has what the feedback on the session's turns says, which may repeat the
// memories that these turns were given. A purge of such a memory has to find the payload, so it
// lies under its session, and its salt names the turns. The salt also has a secret of their
// texts, which a purge of the texts removes: without it, nobody can guess a text from the digest.
// In place of the payload, the purge leaves the id of the memory, so that a check can tell a
// purge from a loss.

// Turns are turns of a window of a session.
type Turns struct {
	Window, From, To int64
}

// Salt is the salt of a block that has texts of these turns. secret is the texts' secret.
func (t Turns) Salt(secret string) string {
	return fmt.Sprintf("%d/%d/%d/%s", t.Window, t.From, t.To, secret)
}

// turnsOf are the turns in a salt that [Turns.Salt] made.
func turnsOf(salt string) (t Turns, secret string, ok bool) {
	n, err := fmt.Sscanf(salt, "%d/%d/%d/%s", &t.Window, &t.From, &t.To, &secret)
	return t, secret, n == 4 && err == nil
}

// SessionTurn is a turn of a session.
type SessionTurn struct {
	Session      string
	Window, Turn int64
}

// SessionTexts knows what the feedback on turns says.
type SessionTexts interface {
	// Secret changes with the texts of these turns of a window, and can't be guessed.
	Secret(r core.Reader, session string, window int64, turns []int64) (string, error)
	// Repeating are the turns whose texts may repeat a memory.
	Repeating(r core.Reader, memoryID string) ([]SessionTurn, error)
}

// sessionChanged is the error for a block whose texts were changed or purged after it was made.
func sessionChanged(session string) error {
	return sdk.Errorf(sdk.Conflict, "session_changed", "the texts of session %s changed while its prompt was built", core.Cut(session)).
		WithHint("build the prompt again")
}

// fresh refuses blocks whose texts were changed or purged after they were made. A turn whose
// feedback came after that is in none of them, so it doesn't count: in a session of many
// callers there is always one.
func (p *Repository) fresh(r core.Reader, in *Input) error {
	for _, b := range in.Blocks {
		turns, secret, is := turnsOf(b.draft.Salt)
		if b.draft.MemoryID != "" || !is || p.Sessions == nil {
			continue
		}
		if now, err := p.Sessions.Secret(r, in.SessionID, turns.Window, b.draft.Turns); err != nil {
			return err
		} else if now != secret {
			return sessionChanged(in.SessionID)
		}
	}
	return nil
}

// forgetSessions removes the payloads with texts that may repeat a memory.
func (p *Repository) forgetSessions(tx core.Tx, memoryID string) error {
	if p.Sessions == nil {
		return nil
	}
	list, err := p.Sessions.Repeating(tx, memoryID)
	if err != nil {
		return err
	}
	bySession := map[string][]SessionTurn{}
	for _, t := range list {
		bySession[t.Session] = append(bySession[t.Session], t)
	}
	for session, turns := range bySession {
		var keys [][]byte
		err := core.ScanPrefix(tx, sessionKey(session, ""), func(key, value []byte) (bool, error) {
			var stored storedPayload
			if json.Unmarshal(value, &stored) != nil {
				return false, corrupt(session, "a payload can't be decoded")
			}
			if stored.has(turns) {
				keys = append(keys, bytes.Clone(key))
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := tx.Put(key, jsontext.MustEncode(storedPayload{Purged: memoryID})); err != nil {
				return err
			}
		}
	}
	return nil
}

// has reports whether a session's payload has the text of one of these turns.
func (p *storedPayload) has(list []SessionTurn) bool {
	of, _, is := turnsOf(p.Salt)
	for _, t := range list {
		if is && t.Window == of.Window && of.From <= t.Turn && t.Turn <= of.To {
			return true
		}
	}
	return false
}
