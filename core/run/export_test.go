package run

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
	ReplyKey       = replyKey
	ReplyTimeKey   = replyTimeKey
	ReplyMemoryKey = replyMemoryKey
)
