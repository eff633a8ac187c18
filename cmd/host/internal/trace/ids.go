package trace

import (
	"context"
	"crypto/rand"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
)

// ids names traces and spans. A trace that a surface began, for example for a request
// without a traceparent, keeps its id, which is in the log and in refusals.
type ids struct{}

// NewIDs implements the SDK's IDGenerator for the first span of a trace.
func (g ids) NewIDs(ctx context.Context) (id oteltrace.TraceID, span oteltrace.SpanID) {
	if begun, err := oteltrace.TraceIDFromHex(traceparent.Of(ctx).ID); err == nil {
		id = begun
	} else {
		_, _ = rand.Read(id[:]) // it never fails
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements the SDK's IDGenerator.
func (ids) NewSpanID(context.Context, oteltrace.TraceID) (span oteltrace.SpanID) {
	_, _ = rand.Read(span[:])
	return span
}

// withCaller makes the span of the caller, if it named one, the parent of the first one here.
func withCaller(ctx context.Context) context.Context {
	if oteltrace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	begun := traceparent.Of(ctx)
	id, err := oteltrace.TraceIDFromHex(begun.ID)
	if err != nil || begun.Parent == "" {
		return ctx
	}
	parent, err := oteltrace.SpanIDFromHex(begun.Parent)
	if err != nil {
		return ctx
	}
	var flags oteltrace.TraceFlags
	return oteltrace.ContextWithRemoteSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: id, SpanID: parent, TraceFlags: flags.WithSampled(!begun.Unsampled), Remote: true,
	}))
}
