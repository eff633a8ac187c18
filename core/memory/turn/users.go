package turn

import (
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// noUser means that a session hadn't used a memory.
const noUser = "-"

// Users are the sessions that used a memory, and whether one of their uses was named.
func Users(r core.Reader, id string) (map[string]bool, error) {
	notes, err := userNotes(r, id)
	users := make(map[string]bool, len(notes))
	for session, note := range notes {
		users[session] = note == usedNamed
	}
	return users, err
}

func userNotes(r core.Reader, id string) (map[string]string, error) {
	sessions, err := core.Suffixes(r, record.UserKey(id, ""), math.MaxInt)
	if err != nil {
		return nil, err
	}
	notes := make(map[string]string, len(sessions))
	for _, session := range sessions {
		value, _, err := r.Get(record.UserKey(id, session))
		if err != nil {
			return nil, err
		}
		notes[session] = string(value)
	}
	return notes, nil
}

// TakeUsers records the sessions that used victim as users of keeper, when victim is merged into
// keeper. It returns them, and what was recorded before, for [GiveBackUsers].
func TakeUsers(t *record.Tx, keeper, victim *core.Memory) (taken map[string]bool, before map[string]string, err error) {
	own, err := userNotes(t, keeper.ID)
	if err != nil {
		return nil, nil, err
	}
	if taken, err = Users(t, victim.ID); err != nil {
		return nil, nil, err
	}
	before = map[string]string{}
	for session, named := range taken {
		note, known := own[session]
		if known && (!named || note == usedNamed) {
			continue
		}
		if before[session] = note; !known {
			before[session] = noUser
		}
		if _, _, err := noteUser(t, keeper, session, named); err != nil {
			return nil, nil, err
		}
	}
	return taken, before, nil
}

// GiveBackUsers takes back what [TakeUsers] recorded. users are the sessions that would count as
// users of the memory if it hadn't been merged, and whether one of their uses was named; nil if
// nothing was recorded since the merge.
func GiveBackUsers(t *record.Tx, keeper *core.Memory, before map[string]string, users map[string]bool) error {
	for session, note := range before {
		if users == nil {
			users := map[string]bool{}
			if note != noUser {
				users[session] = note == usedNamed
			}
			if err := correctUser(t, keeper, session, users); err != nil {
				return err
			}
			continue
		}
		if err := correctUser(t, keeper, session, users); err != nil {
			return err
		}
	}
	return nil
}

// Without returns a memory's signals and users as they would be without a merge, computed from the
// memory's journal.
func Without(t *record.Tx, m *core.Memory, run string, step int64) (core.Signals, map[string]bool, error) {
	history, err := record.ReadWholeHistory(t, m.Namespace, m.ID)
	if err != nil {
		return m.Signals, nil, err
	}
	p := NewReplay(m.ID)
	p.Unmerge(run, step)
	p.Run(history)
	s := p.signals
	s.TTLScore = m.Signals.TTLScore
	return s, p.sessions, nil
}
