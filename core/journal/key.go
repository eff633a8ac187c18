package journal

import (
	"bytes"
	"encoding/binary"
)

// The prefixes of the keys. See the package comment.
const (
	eventPrefix = "event/"
	headPrefix  = "event-head/"
	newPrefix   = "event-new/"
	startPrefix = "event-start/"
)

func headKey(stream string) []byte { return []byte(headPrefix + stream) }

func startKey(stream string) []byte { return []byte(startPrefix + stream) }

func eventKey(stream string, seq uint64) []byte { return seqKey(eventPrefix, stream, seq) }

// EntryKey is the key of an entry, for callers that compact a range of keys.
func EntryKey(stream string, seq uint64) []byte { return eventKey(stream, seq) }

func newKey(stream string, seq uint64) []byte { return seqKey(newPrefix, stream, seq) }

func seqKey(prefix, stream string, seq uint64) []byte {
	key := append([]byte(prefix+stream), 0)
	return binary.BigEndian.AppendUint64(key, seq)
}

// eventsEnd is the first key after all entries of the stream.
func eventsEnd(stream string) []byte { return append([]byte(eventPrefix+stream), 1) }

// splitKey returns the stream and the number in a key made by seqKey. ok is whether it is
// such a key.
func splitKey(prefix string, key []byte) (stream string, seq uint64, ok bool) {
	rest, found := bytes.CutPrefix(key, []byte(prefix))
	name, number, cut := bytes.Cut(rest, []byte{0})
	if !found || !cut || len(number) != 8 {
		return "", 0, false
	}
	return string(name), binary.BigEndian.Uint64(number), true
}

// keySeq is the sequence number in an entry's key; 0 if there is none.
func keySeq(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}
