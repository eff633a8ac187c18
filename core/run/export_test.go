package run

import "github.com/reflectory/reflectory/core/table"

// What the tests reach beyond the public surface.
var (
	RunKey         = runKey
	ContentKey     = contentKey
	ResultKey      = resultKey
	TimeKey        = timeKey
	TimeID         = timeID
	VisitKey       = visitKey
	AttemptKey     = attemptKey
	HoursKey       = hoursKey
	HourPrefix     = hourPrefix
	ReplyKey       = func(digest string) []byte { return []byte(replyPrefix + digest) }
	ReplyTimeKey   = func(at uint64, digest string) []byte { return table.NumberKey(replyTimePrefix, at, digest) }
	ReplyMemoryKey = func(memory, digest string) []byte { return []byte(replyMemoryPrefix + memory + "/" + digest) }
)
