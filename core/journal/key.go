package journal

import "encoding/binary"

func headKey(stream string) []byte { return []byte("event-head/" + stream) }

func eventKey(stream string, seq uint64) []byte {
	key := append([]byte("event/"+stream), 0)
	return binary.BigEndian.AppendUint64(key, seq)
}

// eventsEnd is the first key after all entries of the stream.
func eventsEnd(stream string) []byte { return append([]byte("event/"+stream), 1) }

// keySeq is the sequence number in an entry's key; 0 if there is none.
func keySeq(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}
