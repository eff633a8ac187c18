package store

// What the tests reach beyond the public surface.
var (
	PrepareTo      = prepare
	DescribeKey    = describeKey
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

type Migration = migration
