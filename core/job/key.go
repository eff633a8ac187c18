package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// The layout of keys. core/store/FORMAT.md is its table. Numbers are 8 bytes big-endian, so
// that byte order is their order, and times are Unix nanoseconds; ^ is the complement, so
// that the newest is first.
const (
	jobPrefix      = "job/"
	contentPrefix  = "job-content/"
	resultPrefix   = "job-result/"
	stepPrefix     = "job-step/"
	sequencePrefix = "job-sequence/"
	servedPrefix   = "job-served/"
	forcedPrefix   = "job-forced/"
	holderPrefix   = "job-holder/"

	// The following prefixes are for data that is derived from the others.
	queuePrefix    = "job-queue/"
	countPrefix    = "job-count/"
	finishedPrefix = "job-finished/"
	readyPrefix    = "job-ready/"
	waitPrefix     = "job-wait/"
	activePrefix   = "job-active/"
	requestPrefix  = "job-request/"
	runningPrefix  = "job-running/"
	timePrefix     = "job-time/"
	userPrefix     = "job-user/"
	endPrefix      = "job-end/"
	tookPrefix     = "job-took/"
	memoryPrefix   = "job-memory/"
	shardPrefix    = "job-shard/"
)

// The names after a shard in its keys.
const (
	shardCount = "count"
	shardReady = "ready/"
	shardWait  = "wait/"
)

// maxIDBytes is the longest id of a job: a UUID has 36 bytes.
const maxIDBytes = 64

func jobKey(id string) []byte     { return []byte(jobPrefix + id) }
func contentKey(id string) []byte { return []byte(contentPrefix + id) }
func resultKey(id string) []byte  { return []byte(resultPrefix + id) }

func stepKey(id, name string) []byte { return []byte(stepPrefix + id + "/" + name) }

// dividedKey has the number of shards, if jobs are divided.
func dividedKey() []byte { return []byte(shardPrefix + "divided") }

// key is a key of a shard, or, if jobs aren't divided, whole.
func (s shard) key(whole, name string) []byte {
	if s == "" {
		return []byte(whole)
	}
	return []byte(shardPrefix + string(s) + "/" + name)
}

// countKey has how many jobs of a shard wait and run.
func (s shard) countKey() []byte { return s.key(countPrefix+"all", shardCount) }

// numberKey counts the jobs that were ever queued, and servedKey the starts. They aren't next
// to the other keys of the shard: they always exist, and a look at the shards would read them
// needlessly.
func (s shard) numberKey() []byte { return s.counter(sequencePrefix + "number") }
func (s shard) servedKey() []byte { return s.counter(sequencePrefix + "served") }

func (s shard) counter(whole string) []byte {
	if s == "" {
		return []byte(whole)
	}
	return []byte(whole + "/" + string(s))
}

func servedKey(queue string) []byte  { return []byte(servedPrefix + queue) }
func forcedKey(user string) []byte   { return []byte(forcedPrefix + user) }
func holderKey(holder string) []byte { return []byte(holderPrefix + holder) }
func queueKey(queue string) []byte   { return []byte(queuePrefix + queue) }
func finishedKey(user string) []byte { return []byte(finishedPrefix + user) }

// activeKey is the key of the one active job of a user, type and namespace.
func activeKey(user string, t Type, namespace string) []byte {
	return []byte(activePrefix + user + "/" + string(t) + "/" + namespace)
}

// requestKey is the key of the job that a request with an idempotency key made. In the
// digest's text, only the last part, the idempotency key, may contain a zero byte.
func requestKey(j *Job) []byte {
	sum := sha256.Sum256([]byte(j.UserID + "\x00" + string(j.Type) + "\x00" + j.Namespace + "\x00" + j.IdempotencyKey))
	return []byte(requestPrefix + hex.EncodeToString(sum[:]))
}

func runningKey(holder, id string) []byte { return []byte(runningPrefix + holder + "/" + id) }

func timeKey(number uint64, id string) []byte { return numbered(timePrefix, number, id) }

func userKey(user string, number uint64, id string) []byte {
	return numbered(userPrefix+user+"/", number, id)
}

func endKey(ended time.Time, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte(endPrefix), uint64(ended.UnixNano())), id...)
}

func tookKey(t Type, ended time.Time, id string) []byte {
	return numbered(tookPrefix+string(t)+"/", uint64(ended.UnixNano()), id)
}

func memoryKey(memory, id string) []byte { return []byte(memoryPrefix + memory + "/" + id) }

// numbered is a key whose prefix has its highest number first.
func numbered(prefix string, number uint64, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte(prefix), ^number), id...)
}

// afterNumber is the id in a key that ends in a number and an id.
func afterNumber(key []byte, prefix string) string {
	if len(key) < len(prefix)+8 {
		return ""
	}
	return string(key[len(prefix)+8:])
}

// afterSlash is what follows the last slash of a key.
func afterSlash(key []byte) string { return string(key[bytes.LastIndexByte(key, '/')+1:]) }

// DescribeKey renders a key for messages: its text, and its numbers in decimal.
func DescribeKey(key []byte) string {
	prefix, rest, _ := strings.Cut(string(key), "/")
	start := prefix + "/"
	flip := uint64(0)
	switch prefix + "/" {
	case timePrefix:
		flip = ^flip
	case userPrefix, tookPrefix:
		flip = ^flip
		first, after, _ := strings.Cut(rest, "/")
		start, rest = start+first+"/", after
	case endPrefix:
	default:
		return strings.Trim(strconv.Quote(string(key)), `"`)
	}
	if len(rest) < 8 {
		return strings.Trim(strconv.Quote(string(key)), `"`)
	}
	number := binary.BigEndian.Uint64([]byte(rest[:8])) ^ flip
	return start + strconv.FormatUint(number, 10) + "/" + strings.Trim(strconv.Quote(rest[8:]), `"`)
}

// validID reports whether id can name a job, or a step of one: 1 to 64 letters, digits,
// dashes, dots and underscores.
func validID(id string) bool {
	if id == "" || len(id) > maxIDBytes {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("-._", rune(c)) {
			return false
		}
	}
	return true
}
