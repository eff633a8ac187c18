package run

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/table"
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

// timeKey is a run's key in the index by time.
func timeKey(started time.Time, id string) []byte {
	return table.NumberKey(timePrefix, ^uint64(started.UnixNano()), id)
}

// timeID is the run id in a key of timeKey.
func timeID(key []byte) string { return table.AfterNumber(timePrefix, 1)(key, nil) }

// numbers are a visit, or a visit and an iteration, as in keys.
func numbers(list ...int) (text string) {
	for _, n := range list {
		text += string(binary.BigEndian.AppendUint32(nil, uint32(n)))
	}
	return text
}

func visitKey(id string, visit int) []byte { return []byte(visitPrefix + id + "/" + numbers(visit)) }

func attemptKey(id string, visit, iteration int) []byte {
	return []byte(attemptPrefix + id + "/" + numbers(visit, iteration))
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
