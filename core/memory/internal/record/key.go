package record

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

// The layout of keys; core/store/FORMAT.md is its table. Namespaces, agents and
// tags hold no control character, so that a zero byte ends them in a key; ids
// hold no slash.
const (
	MemoryPrefix  = "memory/"
	VectorPrefix  = "memory-vector/"
	PurgedPrefix  = "memory-purged/"
	HistoryPrefix = "memory-history/"
	CountPrefix   = "memory-count/"
	SumPrefix     = "memory-sum/"
	TurnPrefix    = "memory-turn/"

	TimePrefix  = "memory-time/"
	StatePrefix = "memory-state/"
	KindPrefix  = "memory-kind/"
	AgentPrefix = "memory-agent/"
	TagPrefix   = "memory-tag/"
	TitlePrefix = "memory-title/"

	IndexPrefix      = "memory-index/"
	IndexWordsPrefix = "memory-index-words/"
	IndexDocsPrefix  = "memory-index-docs/"

	LinkPrefix   = "link/"
	LinkToPrefix = "link-to/"

	PendingPrefix          = "pending/"
	PendingNamespacePrefix = "pending-namespace/"
	PendingSourcePrefix    = "pending-source/"
	requestPrefix          = "reflect-request/"
	observePrefix          = "observe-request/"

	DecisionPrefix       = "gate-decision/"
	DecisionMemoryPrefix = "gate-decision-memory/"

	TurnRecordPrefix       = "turn/"
	SessionPrefix          = "session/"
	WindowPrefix           = "session-window/"
	WindowSummaryPrefix    = "session-window-summary/"
	ReflectionPrefix       = "turn-reflection/"
	reflectionMemoryPrefix = "turn-reflection-memory/"
	UserPrefix             = "memory-session/"

	TrialPrefix = "memory-trial/"

	PromotionPrefix          = "promotion/"
	KnowledgePrefix          = "knowledge/"
	KnowledgeNamespacePrefix = "knowledge-namespace/"
	KnowledgePurgedPrefix    = "knowledge-purged/"

	DreamPrefix          = "dream-run/"
	DreamNamespacePrefix = "dream-namespace/"
	DreamStepPrefix      = "dream-step/"
	DreamUndoPrefix      = "dream-undo/"
	DreamMarkPrefix      = "dream-mark/"
)

// MemoryKey is the key of a memory's record.
func MemoryKey(id string) []byte { return []byte(MemoryPrefix + id) }

// VectorKey is the key of a memory's vector.
func VectorKey(id string) []byte { return []byte(VectorPrefix + id) }

// PurgedKey is the key of a memory's tombstone.
func PurgedKey(id string) []byte { return []byte(PurgedPrefix + id) }

// CountKey is the key of a namespace's counters.
func CountKey(namespace string) []byte { return []byte(CountPrefix + namespace) }

// SumKey is the key of a tenant's sums.
func SumKey(tenant string) []byte { return []byte(SumPrefix + tenant) }

// TrialKey is the key of a memory's trial.
func TrialKey(id string) []byte { return []byte(TrialPrefix + id) }

// TurnKey is the key of a namespace's turn counter.
func TurnKey(namespace string) []byte { return []byte(TurnPrefix + namespace) }

// decisionKey is the key of a decision of the gate.
func decisionKey(id string) []byte { return []byte(DecisionPrefix + id) }

// HistoryKey notes that an entry of its namespace's stream is about a memory.
func HistoryKey(id string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(HistoryPrefix+id+"/"), seq)
}

// Place is a memory's position in an index, within the part for one namespace and value:
// the newest first, and by id within the same nanosecond.
func Place(created time.Time, id string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, ^uint64(created.UnixNano())), id...)
}

// PlaceID is the id in a result of [Place]; "" if there is none.
func PlaceID(place []byte) string {
	if len(place) < 8 {
		return ""
	}
	return string(place[8:])
}

// IndexStart is where the part of an index for one namespace and value begins. The time
// index has no values.
func IndexStart(prefix, namespace, value string) []byte {
	key := append([]byte(prefix+namespace), 0)
	if prefix != TimePrefix {
		key = append(append(key, value...), 0)
	}
	return key
}

// TitleStart is where the title index lists the live memories with a title.
func TitleStart(namespace, title string) []byte {
	sum := sha256.Sum256([]byte(title))
	return append(append([]byte(TitlePrefix+namespace), 0), sum[:]...)
}

// SessionKey is the key of a session's totals.
func SessionKey(session string) []byte { return []byte(SessionPrefix + session) }

// WindowKey is the key of a window of a session that isn't the current one.
func WindowKey(session string, number int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(WindowPrefix+session+"/"), uint64(number))
}

// WindowSummaryKey is the key of the summary of a window's oldest turns.
func WindowSummaryKey(session string, window int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(WindowSummaryPrefix+session+"/"), uint64(window))
}

// ReflectionStart is where the reflection records of a window begin, in the order of their
// turns.
func ReflectionStart(session string, window int64) []byte {
	return fmt.Appendf(nil, "%s%s/%010d/", ReflectionPrefix, session, window)
}

// ReflectionKey is the key of the reflection record of a turn.
func ReflectionKey(session string, window, turn int64) []byte {
	return binary.BigEndian.AppendUint64(ReflectionStart(session, window), uint64(turn))
}

// ReflectionMemoryStart is where the keys of a memory begin that lead to the reflection
// records of turns that recalled it. Each ends as the record's key does.
func ReflectionMemoryStart(id string) []byte { return []byte(reflectionMemoryPrefix + id + "/") }

// ReflectionMemoryKey notes that the reflection record of a turn may repeat a memory.
func ReflectionMemoryKey(id, session string, window, turn int64) []byte {
	return append(ReflectionMemoryStart(id), ReflectionKey(session, window, turn)[len(ReflectionPrefix):]...)
}

// ReflectionWindow is the session and the window of a reflection record, whose key has that
// ending; 0 is no window.
func ReflectionWindow(ending string) (session string, window int64) {
	session, rest, _ := strings.Cut(ending, "/")
	number, _, _ := strings.Cut(rest, "/")
	window, _ = strconv.ParseInt(number, 10, 64)
	return session, window
}

// UserKey notes that a session used a memory.
func UserKey(id, session string) []byte { return []byte(UserPrefix + id + "/" + session) }

// TurnRecordKey is the key of a turn of a session.
func TurnRecordKey(session string, turn int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(TurnRecordPrefix+session+"/"), uint64(turn))
}

// KnowledgeKey is the key of an entry.
func KnowledgeKey(id string) []byte { return []byte(KnowledgePrefix + id) }

// KnowledgeStart is where the index of a namespace's knowledge begins, the newest
// first.
func KnowledgeStart(namespace string) []byte {
	return append([]byte(KnowledgeNamespacePrefix+namespace), 0)
}

// KnowledgeIndexKey is the key of an entry in the index of its namespace.
func KnowledgeIndexKey(k *core.Knowledge) []byte {
	return append(KnowledgeStart(k.Namespace), Place(k.CreatedAt, k.ID)...)
}

// KnowledgePurgedKey is the key of the tombstone of an entry.
func KnowledgePurgedKey(id string) []byte { return []byte(KnowledgePurgedPrefix + id) }

// PromotionKey is the key of the record of a memory's promotion.
func PromotionKey(memoryID string) []byte { return []byte(PromotionPrefix + memoryID) }

// DecisionMemoryKey is the key of a decision in the index of decisions by memory.
func DecisionMemoryKey(memory, id string) []byte {
	return []byte(DecisionMemoryPrefix + memory + "/" + id)
}

// LinkKey is the key of a link by the memory that it starts at; see [LinkToKey].
func LinkKey(from, relation, to string) []byte {
	return []byte(LinkPrefix + from + "/" + relation + "/" + to)
}

// LinkToKey is the key of a link by the memory that it ends at.
func LinkToKey(to, relation, from string) []byte {
	return []byte(LinkToPrefix + to + "/" + relation + "/" + from)
}

// SplitLink returns the parts of a link's key.
func SplitLink(key string) (from, relation, to string, ok bool) {
	from, rest, _ := strings.Cut(strings.TrimPrefix(key, LinkPrefix), "/")
	relation, to, ok = strings.Cut(rest, "/")
	return from, relation, to, ok
}

// pendingKey is the key of a pending reflection.
func pendingKey(id string) []byte { return []byte(PendingPrefix + id) }

// PendingStart is where the index of a namespace's pending reflections begins, sorted by
// id.
func PendingStart(namespace string) []byte {
	return append([]byte(PendingNamespacePrefix+namespace), 0)
}

// indexedID is the id at the end of an index key, after the namespace, the value if the
// index has one, and 8 bytes of time or 32 of a title's digest.
func indexedID(key, _ []byte) string {
	prefix, rest, _ := strings.Cut(string(key), "/")
	_, rest, _ = strings.Cut(rest, "\x00")
	skip := 8
	switch prefix + "/" {
	case TimePrefix:
	case TitlePrefix:
		skip = 32
	default:
		_, rest, _ = strings.Cut(rest, "\x00")
	}
	if len(rest) < skip {
		return ""
	}
	return rest[skip:]
}
