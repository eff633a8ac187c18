package turn

import (
	"bytes"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// The prompt of a turn has texts of earlier turns' feedback. The code that stores the prompt has to
// remove these texts when a memory is purged that they may repeat, and must not store texts that
// were purged after they were read.

// Texts are the salts of the texts of turns.
type Texts []salted

type salted struct {
	Turn int64
	Salt string
}

// Between are the texts of these turns.
func (s Texts) Between(from, to int64) (between Texts) {
	for _, t := range s {
		if from <= t.Turn && t.Turn <= to {
			between = append(between, t)
		}
	}
	return between
}

// Turns are the turns whose texts they are, sorted.
func (s Texts) Turns() []int64 {
	turns := make([]int64, len(s))
	for i, t := range s {
		turns[i] = t.Turn
	}
	return turns
}

// Secret can't be guessed, and changes whenever one of the texts does: a purge of a text
// removes its salt.
func (s Texts) Secret() string {
	var salts []string
	for _, t := range s {
		salts = append(salts, t.Salt)
	}
	return core.Digest(jsontext.MustEncode(salts))
}

// add notes a reflection.
func (s *Texts) add(r *reflectionRecord) {
	if r.hasText() {
		*s = append(*s, salted{r.TurnID, r.Salt})
	}
}

// ReadTexts reads the salts of turns of a window.
func ReadTexts(r core.Reader, session string, window int64, turns []int64) (s Texts, err error) {
	for _, turn := range turns {
		value, found, err := r.Get(record.ReflectionKey(session, window, turn))
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		stored, err := decodeReflection(session, value)
		if err != nil {
			return nil, err
		}
		s.add(stored)
	}
	return s, nil
}

// WindowTurn is a turn of a window of a session.
type WindowTurn struct {
	Session      string
	Window, Turn int64
}

// Repeating are the turns whose feedback has texts that may repeat a memory.
func Repeating(r core.Reader, memoryID string) (list []WindowTurn, err error) {
	start := record.ReflectionMemoryStart(memoryID)
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if place := bytes.TrimPrefix(key, start); len(place) > 8 {
			session, window := record.ReflectionWindow(string(place))
			at := WindowTurn{session, window, turnOf(key)}
			reflection, err := readReflection(r, session, window, at.Turn)
			if err != nil {
				return false, err
			}
			if reflection != nil && reflection.hasText() { // else only the turn's query may repeat it
				list = append(list, at)
			}
		}
		return true, nil
	})
	return list, err
}
