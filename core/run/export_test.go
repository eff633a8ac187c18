package run

import "github.com/reflectory/reflectory/core/table"

// What the tests reach beyond the public surface.
var (
	RunKey        = runKey
	ContentKey    = contentKey
	ResultKey     = resultKey
	TimeKey       = timeKey
	TimeID        = timeID
	VisitKey      = visitKey
	AttemptKey    = attemptKey
	HoursKey      = hoursKey
	HourPrefix    = hourPrefix
	StepKey       = func(run, key string) []byte { return []byte(stepPrefix + stepID(run, key)) }
	StepMemoryKey = func(memory, run, key string) []byte {
		return []byte(stepMemoryPrefix + memory + "/" + stepID(run, key))
	}
	ReplyKey       = func(digest string) []byte { return []byte(replyPrefix + digest) }
	ReplyTimeKey   = func(at uint64, digest string) []byte { return table.NumberKey(replyTimePrefix, at, digest) }
	ReplyMemoryKey = func(memory, digest string) []byte { return []byte(replyMemoryPrefix + memory + "/" + digest) }
)
