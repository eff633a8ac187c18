package httpapi

import (
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Limits bound what callers may send and hold open. The zero value has every default. Each refusal
// has its own reason, so that a caller knows which limit it reached.
type Limits struct {
	// Body is how many bytes a request's JSON may have: 1 MiB by default. ImportBody is the same for a
	// streamed body, such as an import: 256 MiB.
	Body, ImportBody int64
	// Headers is how many bytes a request's headers have together: 32 KiB by default.
	Headers int
	// JSONDepth is how deep a request's JSON may be nested: [MaxJSONDepth] by default.
	JSONDepth int
	// HeaderTime is how long headers may take to arrive, 5 s by default, and BodyTime how long a body
	// may take: 30 s in all, or, for a streamed body, 30 s without a byte. IdleTime is how long a
	// connection without a request stays open: 120 s, or 10 s before its first credentials.
	HeaderTime, BodyTime, IdleTime time.Duration
	// Requests and Writes are how many requests, and how many writing requests, a subject may make in
	// a second, 100 and 60 by default, in bursts of twice that. They don't apply to the socket. A
	// value below 0 means no limit.
	Requests, Writes float64
	// FailedLogins is how many wrong credentials an address may send in a minute: 10.
	FailedLogins float64
	// AtOnce is how many requests over TCP are worked on at once, 64 by default; it is the host's, for
	// all surfaces. Tenants take turns for the next place: otherwise one with many subjects, each
	// below its rate, would have the whole server. Operations that may take long don't count:
	// plugins, jobs and streams have shares of their own. A value below 0 means no limit.
	AtOnce int
	// Gateway is how many requests of a foreign surface, see [Foreign], are worked on at once: 256.
	// Tenants, and their users, take turns for the next.
	Gateway int
	// Connections is how many are open at once: 2,000. The oldest one without credentials that
	// isn't in use is closed for a new one, then the oldest idle one of a tenant with more than
	// half; addresses without credentials have at most half.
	Connections int
	// Streams is how many streams of events are open at once, 1,000 by default, and SubjectStreams how
	// many a subject may have open: 16. A tenant with more than half of all loses its oldest one
	// for another tenant's.
	Streams, SubjectStreams int
	// StreamTime is how long the buffer of a stream, [streamBuffer] events, may stay full
	// before the stream is ended because its reader lags: 5 s.
	StreamTime time.Duration
	// DrainTime is how long requests may take to end when the server is stopped: 22 s.
	DrainTime time.Duration
}

const (
	// MaxJSONDepth is how deep a request's JSON may be nested by default. Requests are flat; a state or
	// metadata may be deeper, but not this deep.
	MaxJSONDepth = 32
	// MaxKey is how many bytes an Idempotency-Key has at most.
	MaxKey = 128
	// MaxStreamNamespaces is how many namespaces a stream of events follows at most: each needs its
	// own reader.
	MaxStreamNamespaces = 16
)

// reached completes a refusal at a limit: it names the limit's key below limits: in reflectory.yaml,
// which the operator can raise.
func reached(err *sdk.Error, key, hint string) *sdk.Error {
	return err.WithHint("%s, or ask the operator to raise limits.%s in reflectory.yaml, then to restart the server", hint, key).WithDetail("limit", key)
}

// streamBuffer is how many events wait for a reader of a stream.
const streamBuffer = 256

// withDefaults sets what is zero.
func (l Limits) withDefaults() Limits {
	or(&l.Body, 1<<20)
	or(&l.ImportBody, 256<<20)
	or(&l.Headers, 32<<10)
	or(&l.JSONDepth, MaxJSONDepth)
	or(&l.AtOnce, 64)
	or(&l.Gateway, 256)
	or(&l.HeaderTime, 5*time.Second)
	or(&l.BodyTime, 30*time.Second)
	or(&l.IdleTime, 120*time.Second)
	or(&l.Requests, 100)
	or(&l.Writes, 60)
	or(&l.FailedLogins, 10)
	or(&l.Connections, 2000)
	or(&l.Streams, 1000)
	or(&l.SubjectStreams, 16)
	or(&l.StreamTime, 5*time.Second)
	or(&l.DrainTime, 22*time.Second)
	return l
}

func or[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Validate reports every problem of the limits in one error: sdk.Invalid, reason
// "limits_invalid".
func (l Limits) Validate() error {
	var problems []error
	add := func(field string, wrong bool, what string) {
		if wrong {
			problems = append(problems, sdk.Errorf(sdk.Invalid, "limits_invalid", "limits: %s %s", field, what).WithDetail("field", field))
		}
	}
	for _, n := range []struct {
		field string
		value int64
		most  int64
	}{
		{"body", l.Body, 64 << 20}, {"import_body", l.ImportBody, 1 << 40}, {"headers", int64(l.Headers), 1 << 20},
		{"json_depth", int64(l.JSONDepth), jsontext.MaxDepth}, {"at_once", int64(l.AtOnce), 1 << 16}, {"gateway", int64(l.Gateway), 1 << 16},
		{"connections", int64(l.Connections), 1 << 20}, {"streams", int64(l.Streams), 1 << 20},
		{"subject_streams", int64(l.SubjectStreams), 1 << 20},
	} {
		add(n.field, n.value < 0 && n.field != "at_once", "is below 0")
		add(n.field, n.value > n.most, "is too large")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"header_time", l.HeaderTime}, {"body_time", l.BodyTime}, {"idle_time", l.IdleTime}, {"stream_time", l.StreamTime},
		{"drain_time", l.DrainTime},
	} {
		add(d.field, d.value < 0, "is below 0")
		add(d.field, d.value > 24*time.Hour, "is above 24 hours")
	}
	for _, r := range []struct {
		field string
		value float64
	}{{"requests", l.Requests}, {"writes", l.Writes}, {"failed_logins", l.FailedLogins}} {
		add(r.field, r.value != r.value || r.value > 1e9, "is no rate")
	}
	return core.JoinErrors(problems...)
}
