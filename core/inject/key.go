package inject

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
)

// The layout of keys. core/store/FORMAT.md is its table. Numbers are 8 bytes big-endian;
// ^ is the complement, so that the newest is first.
const (
	snapshotPrefix = "snapshot/"
	payloadPrefix  = "snapshot-payload/"
	memoryPrefix   = "snapshot-memory/"
	sessionPrefix  = "snapshot-session/"

	// The following prefixes are for data that is derived from the snapshots.
	turnPrefix = "snapshot-turn/"
	timePrefix = "snapshot-time/"
)

func snapshotKey(id string) []byte    { return []byte(snapshotPrefix + id) }
func payloadKey(digest string) []byte { return []byte(payloadPrefix + digest) }

// memoryKey is the key of a payload with a memory's text: a purge of the memory finds it.
func memoryKey(memory, digest string) []byte { return []byte(memoryPrefix + memory + "/" + digest) }

// sessionKey is the key of a payload with what the feedback on a session's turns says.
func sessionKey(session, digest string) []byte { return []byte(sessionPrefix + session + "/" + digest) }

// placeOf is the key of a payload: with a memory's text, with a session's, or with any other.
func placeOf(session, memory, digest string) []byte {
	switch {
	case memory != "":
		return memoryKey(memory, digest)
	case strings.HasPrefix(digest, keyedPrefix):
		return sessionKey(session, digest)
	}
	return payloadKey(digest)
}

// turnKey leads to a turn's snapshot.
func turnKey(session string, turn int64) []byte {
	return binary.BigEndian.AppendUint64(sessionTurns(session), uint64(turn))
}

// sessionTurns begins the keys of a session's turns.
func sessionTurns(session string) []byte { return []byte(turnPrefix + session + "/") }

// timeKey lists a namespace's snapshots, the newest first.
func timeKey(namespace string, at time.Time, id string) []byte {
	return append(binary.BigEndian.AppendUint64(namespaceTimes(namespace), ^uint64(at.UnixNano())), id...)
}

// namespaceTimes begins the keys of a namespace's snapshots.
func namespaceTimes(namespace string) []byte { return []byte(timePrefix + namespace + "\x00") }

// timeID is the id in a key made by timeKey; "" for any other key.
func timeID(key []byte) string {
	at := bytes.IndexByte(key, 0)
	if at < 0 || len(key) < at+9 {
		return ""
	}
	return string(key[at+9:])
}

// ownerOf is the memory in a key made by memoryKey, and the session in one made by sessionKey.
func ownerOf(key []byte, prefix string) (owner, digest string) {
	owner, digest, _ = strings.Cut(string(key[len(prefix):]), "/")
	return owner, digest
}
