// Package trace sends traces of what a host does to a collector, by OpenTelemetry's
// protocol, and is the only package that imports OpenTelemetry. It works only if an
// operator names a collector, in OTEL_EXPORTER_OTLP_ENDPOINT.
//
// A request over HTTP is a span of the server, below the caller's. A run is a span, its iterations are spans below it, and calls of plugins and searches and
// changes of memories are spans below those, or below nothing where they belong to no run. A
// verdict isn't a span but a log event in the context of the call whose output was judged.
//
// What plugins and callers wrote leaves the program only if the operator allows it:
// [Options.Content]. Names of workflows, nodes, plugins and models are no content.
package trace

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/reflectory/reflectory/sdk"
)

// The environment variables that are read here. Others that OpenTelemetry defines, such as
// OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES, hold too.
const (
	EndpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	protocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL"
	serviceVariable  = "OTEL_SERVICE_NAME"
)

// protocol is the protocol in use.
const protocol = "http/protobuf"

// closeTime is how long the program tries to send the remaining spans at the end.
const closeTime = 5 * time.Second

// Options determine where traces are sent, and what they contain.
type Options struct {
	// Getenv reads the environment. It is required.
	Getenv func(string) string
	// Version is the program's.
	Version string
	// Content adds what plugins and callers wrote: outputs, feedback, queries.
	Content bool
	// Failed is called with what can't be sent, from goroutines of the exporter. Nil drops it.
	Failed func(error)
}

// Wanted reports whether the environment names a collector.
func Wanted(getenv func(string) string) bool { return getenv(EndpointVariable) != "" }

// Tracer sends traces. It is safe for concurrent use, and must be closed.
type Tracer struct {
	content bool
	spans   oteltrace.Tracer
	events  otellog.Logger
	traces  *sdktrace.TracerProvider
	logs    *sdklog.LoggerProvider
}

// Start makes a tracer. Nothing is sent yet, so an absent collector isn't an error.
func Start(ctx context.Context, o Options) (*Tracer, error) {
	endpoint := strings.TrimRight(o.Getenv(EndpointVariable), "/")
	if name := o.Getenv(protocolVariable); name != "" && name != protocol {
		return nil, sdk.Errorf(sdk.Invalid, "otlp_protocol_unsupported", "%s is %.40q, and traces are sent as %s", protocolVariable, name, protocol).
			WithHint("unset %s, and name the collector's port for HTTP, by default 4318", protocolVariable)
	}
	if !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://") {
		return nil, sdk.Errorf(sdk.Invalid, "otlp_endpoint_invalid", "%s is no URL with http or https", EndpointVariable).
			WithHint("write it as http://127.0.0.1:4318")
	}
	if o.Failed != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(o.Failed))
	}
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
	if err != nil {
		return nil, startFailed(err)
	}
	events, err := otlploghttp.New(ctx, otlploghttp.WithEndpointURL(endpoint+"/v1/logs"))
	if err != nil {
		return nil, errors.Join(startFailed(err), spans.Shutdown(ctx))
	}
	about := resourceOf(&o)
	t := &Tracer{
		content: o.Content,
		traces:  sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{})),
		logs:    sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(events)), sdklog.WithResource(about)),
	}
	const scope = "github.com/reflectory/reflectory"
	t.spans = t.traces.Tracer(scope, oteltrace.WithInstrumentationVersion(o.Version))
	t.events = t.logs.Logger(scope, otellog.WithInstrumentationVersion(o.Version))
	return t, nil
}

func startFailed(err error) error {
	return sdk.Errorf(sdk.Invalid, "otlp_endpoint_invalid", "traces can't be sent: %w", err).WithHint("look at the variables OTEL_EXPORTER_OTLP_*")
}

// resourceOf is what sends the traces.
func resourceOf(o *Options) *resource.Resource {
	name := o.Getenv(serviceVariable)
	if name == "" {
		name = "reflectory"
	}
	own := resource.NewSchemaless(attribute.String("service.name", name), attribute.String("service.version", o.Version))
	// What the environment says in OTEL_RESOURCE_ATTRIBUTES comes first. Neither has a schema,
	// so they can always be merged.
	merged, err := resource.Merge(resource.Environment(), own)
	if err != nil {
		return own
	}
	return merged
}

// Close sends what is left, and gives up after 5 s.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := errors.Join(t.traces.Shutdown(ctx), t.logs.Shutdown(ctx))
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "otlp_unavailable", "the last traces couldn't be sent: %w", err).
			WithHint("see whether the collector that %s names works", EndpointVariable)
	}
	return nil
}
