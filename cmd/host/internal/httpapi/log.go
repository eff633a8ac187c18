package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

// Line is the log line of an answered request. It has no content: no path, whose last part
// may be anything, no query, and no part of the request or the answer.
type Line struct {
	At time.Time
	// Level is info, also for a refusal, or error if something failed, inside the server or
	// in something that it depends on, such as a plugin or the disk.
	Level   string
	TraceID string
	// Subject is the authorised subject; "" if there is none.
	Subject string
	// Op is the operation; "" if the path has none.
	Op string
	// Method is the request's method, and Route the path of its route as it is defined, such
	// as /v1/memories/{id}; "" if there is none.
	Method, Route string
	// Code is the code of the refusal; "ok" if there was none.
	Code     string
	Status   int
	Duration time.Duration
	// By is the address of the host that answered; "" is this host.
	By string
	// Failure is an error inside the server; nil if there was none. For a failure elsewhere
	// the line has only the code, since its message may quote content.
	Failure error
}

// String is the line's text in a log.
func (l Line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s] http: trace_id=%s subject=%s op=%s code=%s status=%d duration_ms=%.1f",
		l.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), strings.ToUpper(l.Level), l.TraceID, field(l.Subject), orDash(l.Op), field(l.Code), l.Status,
		float64(l.Duration.Microseconds())/1000)
	if l.By != "" {
		fmt.Fprintf(&b, " by=%s", field(l.By))
	}
	if l.Failure != nil {
		fmt.Fprintf(&b, " error=%q", access.Hide([]byte(l.Failure.Error())))
	}
	return b.String()
}

// plainWord is what a word of a log line may be without quotes.
var plainWord = core.Pattern(`^[\w.@:/+-]+$`)

// field is a value of a log line, in quotes if it could be mistaken for several values.
func field(text string) string {
	if text = orDash(text); !plainWord().MatchString(text) {
		return strconv.Quote(text)
	}
	return text
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// line is the log line of the request.
func (r *request) line(took time.Duration) Line {
	l := Line{
		At: r.begun, Level: "info", TraceID: r.trace.ID, Subject: r.caller.Subject, Op: r.op, Method: r.http.Method, Route: r.route(),
		Code: r.code, Status: r.status, Duration: took, By: r.by,
	}
	if l.Code == "" && r.status < http.StatusBadRequest {
		l.Code = "ok"
	}
	l.Failure = r.failure
	if r.failed5xx() || r.failure != nil && sdk.CodeOf(r.failure) == sdk.Internal {
		l.Level = "error"
	}
	return l
}

// failed5xx reports whether the answer shows that something failed on the server's side. A
// refusal because something is full for all callers doesn't count.
func (r *request) failed5xx() bool {
	return r.status >= http.StatusInternalServerError && transportStatuses[r.code] == 0
}
