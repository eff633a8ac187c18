package journal

import "strconv"

// TurnNumber is the number of a session's turn, from 1. 0 is no turn, as of sweeps, jobs and
// dream passes, and is null in JSON, so that every event that may have a turn says whether it
// has one.
type TurnNumber int64

// MarshalJSON implements json.Marshaler. Reading needs no method, for null either.
func (n TurnNumber) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}
