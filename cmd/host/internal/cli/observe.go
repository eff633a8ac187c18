package cli

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/metrics"
	"github.com/reflectory/reflectory/cmd/host/internal/trace"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// observed are the observers of the host: the metrics of a server, and traces for a
// collector that the environment names.
type observed struct {
	// metrics are the metrics of a server; nil for other commands.
	metrics *metrics.Metrics
	// tracer is nil if no collector is named.
	tracer *trace.Tracer
	// content is whether traces may contain what plugins and callers wrote.
	content bool
}

// traceContentFlag adds the flag that lets content into traces.
func traceContentFlag(a *App, c *cobra.Command) {
	c.Flags().BoolVar(&a.observed.content, "trace-content", false,
		"put outputs, feedback and queries into the traces that go to "+trace.EndpointVariable+" (a server has its own flag)")
}

// observe adds the observers to the settings of a host.
func (a *App) observe(ctx context.Context, c *host.Config) {
	if m := a.observed.metrics; m != nil {
		c.Observe = m.Observe()
		c.Subscribers = append(c.Subscribers, journal.Subscriber(m.Entry))
	}
	if !trace.Wanted(a.Getenv) {
		return
	}
	tracer, err := trace.Start(ctx, trace.Options{Getenv: a.Getenv, Version: version, Content: a.observed.content, Failed: a.untraced()})
	if err != nil { // a command works without its traces
		a.notice(host.Notice{Level: "warn", Message: err.Error(), Hint: sdk.AsError(err).Hint})
		return
	}
	a.observed.tracer = tracer
	c.Observe.Work = work.Join(c.Observe.Work, tracer.Work)
}

// untraced reports once that traces can't be sent, since the collector may be unreachable
// for long.
func (a *App) untraced() func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() { a.notice(host.Notice{Level: "warn", Message: "traces can't be sent: " + err.Error()}) })
	}
}

// closeTracer sends what is left of the traces.
func (a *App) closeTracer() {
	if a.observed.tracer == nil {
		return
	}
	if err := a.observed.tracer.Close(); err != nil {
		a.notice(host.Notice{Level: "warn", Message: err.Error(), Hint: sdk.AsError(err).Hint})
	}
	a.observed.tracer = nil
}

// scrapes makes the handler of a server's /metrics. expiries are its certificates' ends.
func (o *observed) scrapes(h *host.Host, expiries map[string]func() time.Time) func(streams func() int) http.Handler {
	return func(streams func() int) http.Handler { return o.metrics.Handler(h, expiries, streams) }
}

// traces makes the function that traces a server's requests; nil if no collector is named.
func (o *observed) traces() func(context.Context, string) (context.Context, func(httpapi.Line)) {
	tracer := o.tracer
	if tracer == nil {
		return nil
	}
	return func(ctx context.Context, method string) (context.Context, func(httpapi.Line)) {
		ctx, end := tracer.Request(ctx, method)
		return ctx, func(l httpapi.Line) {
			end(trace.Request{Route: l.Route, Operation: l.Op, Code: l.Code, Status: l.Status})
		}
	}
}

// count counts an answered request.
func (o *observed) count(l httpapi.Line) {
	o.metrics.Request(metrics.Request{Route: l.Route, Method: l.Method, Status: l.Status, Model: l.Op == gatewayName, Duration: l.Duration})
}
