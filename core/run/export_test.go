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
	ReplyKey       = replyKey
	ReplyTimeKey   = replyTimeKey
	ReplyMemoryKey = replyMemoryKey
)
