package journal

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// Get returns one entry of a stream, and whether it is there. It checks that the
// entry can be decoded, not that the chain holds.
func Get(r core.Reader, stream string, seq uint64) (e Entry, found bool, err error) {
	if err := checkStream(stream); err != nil {
		return e, false, err
	}
	value, found, err := r.Get(eventKey(stream, seq))
	if err != nil || !found {
		return e, false, err
	}
	if err := json.Unmarshal(value, &e); err != nil {
		return e, false, broken(stream, seq, "the entry can't be decoded: "+err.Error())
	}
	return e, true, nil
}
