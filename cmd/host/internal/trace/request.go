package trace

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Request is a request over HTTP that was answered.
type Request struct {
	// Route is the path of the route as it is defined; "" is none. What a caller puts into a
	// path is no part of a trace.
	Route string
	// Operation is what it asked for; "" is none. Code is the refusal's, or "ok".
	Operation, Code string
	// Status is the answer's; 0 if the connection was closed without one.
	Status int
}

// methods are those that a span names; anybody may send others.
var methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

// Request follows a request by a span of the server, below the span that the caller named
// in the context's trace. What is done for it is done in the context that is returned.
func (t *Tracer) Request(ctx context.Context, method string) (context.Context, func(Request)) {
	if !slices.Contains(methods, method) {
		method = "_OTHER"
	}
	ctx, span := t.begin(withCaller(ctx), method, oteltrace.SpanKindServer, httpMethod.String(method))
	return ctx, func(r Request) {
		attributes := []attribute.KeyValue{code.String(r.Code)}
		if r.Route != "" {
			span.SetName(method + " " + r.Route)
			attributes = append(attributes, httpRoute.String(r.Route))
		}
		if r.Operation != "" {
			attributes = append(attributes, operation.String(r.Operation))
		}
		if r.Status != 0 {
			attributes = append(attributes, httpStatus.Int(r.Status))
		}
		if r.Status == 0 || r.Status >= 500 { // what was only refused is the caller's failure
			attributes = append(attributes, errorType.String(r.Code))
			span.SetStatus(codes.Error, r.Code)
		}
		span.SetAttributes(attributes...)
		span.End()
	}
}
