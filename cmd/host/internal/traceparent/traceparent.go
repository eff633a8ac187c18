// Package traceparent has the trace of W3C's trace context that a request is part of.
package traceparent

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Trace is the trace that a request is a part of, as in W3C's trace context. A surface
// continues its caller's trace, or begins a new one, so that a refusal, a line of the log
// and an exported trace have the same id.
type Trace struct {
	// ID is 32 hexadecimal digits, not all 0.
	ID string
	// Parent is the caller's part of the trace, 16 hexadecimal digits; "" if the trace
	// begins here.
	Parent string
	// Unsampled is true if the caller records nothing of the trace.
	Unsampled bool
}

// form is the header of a trace: version, trace, parent, flags.
var form = core.Pattern(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

// Parse reads the whole value of a traceparent header. It returns false for an
// invalid value, which is to be ignored.
func Parse(header string) (Trace, bool) {
	parts := form().FindStringSubmatch(header)
	if parts == nil || parts[1] == "ff" || strings.Trim(parts[2], "0") == "" || strings.Trim(parts[3], "0") == "" {
		return Trace{}, false
	}
	sampled := strings.IndexByte("13579bdf", parts[4][1]) >= 0
	return Trace{ID: parts[2], Parent: parts[3], Unsampled: !sampled}, true
}

// String is the traceparent header of a trace that has a parent.
func (t Trace) String() string {
	flags := "01"
	if t.Unsampled {
		flags = "00"
	}
	return "00-" + t.ID + "-" + t.Parent + "-" + flags
}

type contextKey struct{}

// traceContext is a context with a trace, in one allocation.
type traceContext struct {
	context.Context
	trace Trace
}

// Value implements [context.Context].
func (t *traceContext) Value(key any) any {
	if key == (contextKey{}) {
		return &t.trace
	}
	return t.Context.Value(key)
}

// With returns a context of work that belongs to a trace.
func With(ctx context.Context, t Trace) context.Context { return &traceContext{ctx, t} }

// Of is the trace that a context belongs to; the zero Trace for none.
func Of(ctx context.Context) Trace {
	if t, is := ctx.Value(contextKey{}).(*Trace); is {
		return *t
	}
	return Trace{}
}
