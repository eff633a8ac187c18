package turn

import (
	"bytes"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// The prompt of a turn has texts of earlier turns' feedback. Whoever stores the prompt has to
// remove these texts when a memory is purged that they may repeat, and must not store texts that
// were purged after they were read.

// Texts are the salts of the texts of turns.
type Texts []salted

type salted struct {
	Turn int64
	Salt string
}

// Secret can't be guessed, and changes whenever a text of these turns does: a purge of a text
// removes its salt.
func (s Texts) Secret(from, to int64) string {
	var salts []string
	for _, t := range s {
		if from <= t.Turn && t.Turn <= to {
			salts = append(salts, t.Salt)
		}
	}
	return core.Digest(core.MustJSON(salts))
}

// add notes a reflection.
func (s *Texts) add(r *reflectionRecord) {
	if r.hasText() {
		*s = append(*s, salted{r.TurnID, r.Salt})
	}
}

// ReadTexts reads the salts of turns of a window.
func ReadTexts(r core.Reader, session string, window, from, to int64) (s Texts, err error) {
	err = r.Scan(record.ReflectionKey(session, window, from), record.ReflectionKey(session, window, to+1), func(_, value []byte) (bool, error) {
		stored, err := decodeReflection(session, value)
		if err == nil {
			s.add(stored)
		}
		return err == nil, err
	})
	return s, err
}

// Place is a turn of a window of a session.
type Place struct {
	Session      string
	Window, Turn int64
}

// Repeating are the turns whose texts may repeat a memory.
func Repeating(r core.Reader, memoryID string) (list []Place, err error) {
	start := record.ReflectionMemoryStart(memoryID)
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if place := bytes.TrimPrefix(key, start); len(place) > 8 {
			session, window := record.ReflectionWindow(string(place))
			list = append(list, Place{session, window, turnOf(key)})
		}
		return true, nil
	})
	return list, err
}
