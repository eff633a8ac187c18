package turn

import (
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

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
