package run

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The layout of keys. core/store/FORMAT.md is its table; the journal's keys are in
// core/journal. Numbers are big-endian, so that byte order is their order.
const (
	runPrefix     = "run/"
	contentPrefix = "run-content/"
	resultPrefix  = "run-result/"
	timePrefix    = "run-time/"
	visitPrefix   = "visit/"
	attemptPrefix = "attempt/"
)

// maxIDBytes is the longest run id: a UUID has 36 bytes.
const maxIDBytes = 64

func runKey(id string) []byte     { return []byte(runPrefix + id) }
func contentKey(id string) []byte { return []byte(contentPrefix + id) }
func resultKey(id string) []byte  { return []byte(resultPrefix + id) }

// timeKey orders runs by their start, the newest first: it holds the complement
// of the start in Unix nanoseconds.
func timeKey(started time.Time, id string) []byte {
	key := binary.BigEndian.AppendUint64([]byte(timePrefix), ^uint64(started.UnixNano()))
	return append(append(key, '/'), id...)
}

// timeID is the run id in a key of timeKey.
func timeID(key []byte) string {
	const skip = len(timePrefix) + 8 + 1
	if len(key) < skip {
		return ""
	}
	return string(key[skip:])
}

func visitKey(id string, visit int) []byte {
	return binary.BigEndian.AppendUint32([]byte(visitPrefix+id+"/"), uint32(visit))
}

func attemptKey(id string, visit, iteration int) []byte {
	key := binary.BigEndian.AppendUint32([]byte(attemptPrefix+id+"/"), uint32(visit))
	return binary.BigEndian.AppendUint32(key, uint32(iteration))
}

// DescribeKey formats a key for messages: its text, and its numbers in decimal.
func DescribeKey(key []byte) string {
	if bytes.HasPrefix(key, []byte(textPrefix)) {
		if memory, run, visit, ok := textPlace(key); ok {
			return fmt.Sprintf("%s%s/%s/%d", textPrefix, memory, run, visit)
		}
	}
	for _, prefix := range []string{visitPrefix, attemptPrefix, promptPrefix} {
		rest, ok := strings.CutPrefix(string(key), prefix)
		if !ok {
			continue
		}
		id, numbers, _ := strings.Cut(rest, "/")
		text := prefix + id
		for ; len(numbers) >= 4; numbers = numbers[4:] {
			text += fmt.Sprintf("/%d", binary.BigEndian.Uint32([]byte(numbers)))
		}
		return text
	}
	return strings.Trim(strconv.Quote(string(key)), `"`)
}

// validID reports whether id can be part of a key: 1 to 64 letters, digits,
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
