package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/reflectory/reflectory/core"
)

// The layout of keys; core/store/FORMAT.md is its table. Namespaces, agents and
// tags hold no control character, so that a zero byte ends them in a key; ids
// hold no slash.
const (
	memoryPrefix  = "memory/"
	vectorPrefix  = "memory-vector/"
	purgedPrefix  = "memory-purged/"
	historyPrefix = "memory-history/"
	countPrefix   = "memory-count/"
	turnPrefix    = "memory-turn/"

	timePrefix  = "memory-time/"
	statePrefix = "memory-state/"
	kindPrefix  = "memory-kind/"
	agentPrefix = "memory-agent/"
	tagPrefix   = "memory-tag/"
	titlePrefix = "memory-title/"

	linkPrefix   = "link/"
	linkToPrefix = "link-to/"

	pendingPrefix          = "pending/"
	pendingNamespacePrefix = "pending-namespace/"
	pendingSourcePrefix    = "pending-source/"
	requestPrefix          = "reflect-request/"
	observePrefix          = "observe-request/"

	decisionPrefix = "gate-decision/"
)

func memoryKey(id string) []byte       { return []byte(memoryPrefix + id) }
func vectorKey(id string) []byte       { return []byte(vectorPrefix + id) }
func purgedKey(id string) []byte       { return []byte(purgedPrefix + id) }
func countKey(namespace string) []byte { return []byte(countPrefix + namespace) }
func turnKey(namespace string) []byte  { return []byte(turnPrefix + namespace) }
func decisionKey(id string) []byte     { return []byte(decisionPrefix + id) }

// historyKey notes that an entry of its namespace's stream is about a memory.
func historyKey(id string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(historyPrefix+id+"/"), seq)
}

// place is where a memory is in an index, within the part for a namespace
// and value: the newest first, and by id within the same nanosecond.
func place(created time.Time, id string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, ^uint64(created.UnixNano())), id...)
}

// placeID is the id in what [place] made; "" where there is none.
func placeID(place []byte) string {
	if len(place) < 8 {
		return ""
	}
	return string(place[8:])
}

// indexStart is where the part of an index for a namespace and value begins. The
// time index has no values.
func indexStart(prefix, namespace, value string) []byte {
	key := append([]byte(prefix+namespace), 0)
	if prefix != timePrefix {
		key = append(append(key, value...), 0)
	}
	return key
}

// titleStart is where the title index has the live memories of a title.
func titleStart(namespace, title string) []byte {
	sum := sha256.Sum256([]byte(title))
	return append(append([]byte(titlePrefix+namespace), 0), sum[:]...)
}

// indexKeys are the keys of a memory's secondary indices, the time index first.
// The title index holds live memories only: it is there to keep titles apart.
func indexKeys(m *core.Memory) [][]byte {
	at := place(m.CreatedAt, m.ID)
	in := func(prefix, value string) []byte { return append(indexStart(prefix, m.Namespace, value), at...) }
	keys := make([][]byte, 0, 5+len(m.Tags))
	keys = append(keys, in(timePrefix, ""), in(statePrefix, string(m.State)), in(kindPrefix, string(m.Kind)))
	if m.AgentID != "" {
		keys = append(keys, in(agentPrefix, m.AgentID))
	}
	for _, tag := range m.Tags {
		keys = append(keys, in(tagPrefix, tag))
	}
	if m.State.Live() {
		keys = append(keys, append(titleStart(m.Namespace, m.Title), m.ID...))
	}
	return keys
}
