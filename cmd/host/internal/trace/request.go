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
	// path isn't part of a trace.
	Route string
	// Operation is the requested operation; "" is none. Code is the refusal's code, or "ok".
	Operation, Code string
	// Status is the answer's status; 0 if the connection was closed without an answer.
	Status int
}

// methods are the methods that a span names; callers may send others.
var methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

// Request follows a request with a span of the server, below the span that the caller
// named in the context's trace. The work for the request must use the returned context.
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
		if r.Status == 0 || r.Status >= 500 { // a refusal is the caller's failure
			attributes = append(attributes, errorType.String(r.Code))
			span.SetStatus(codes.Error, r.Code)
		}
		span.SetAttributes(attributes...)
		span.End()
	}
}
