package trace

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives traces and events on this machine's loopback.
type collector struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	spans   []*traces.Span
	events  []*logs.LogRecord
	service map[string]string
	// raw is all that was sent.
	raw []byte
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(_ http.ResponseWriter, r *http.Request) {
		sent := &collecttraces.ExportTraceServiceRequest{}
		c.read(r, sent)
		for _, resource := range sent.ResourceSpans {
			c.service = attributesOf(resource.Resource.Attributes)
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	})
	mux.HandleFunc("POST /v1/logs", func(_ http.ResponseWriter, r *http.Request) {
		sent := &collectlogs.ExportLogsServiceRequest{}
		c.read(r, sent)
		for _, resource := range sent.ResourceLogs {
			for _, scope := range resource.ScopeLogs {
				c.events = append(c.events, scope.LogRecords...)
			}
		}
	})
	c.server = httptest.NewServer(mux)
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) read(r *http.Request, into proto.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, into)
	}
	if err != nil {
		c.t.Error(err)
	}
	c.raw = append(c.raw, body...)
}

// tracer is one that sends to the collector.
func (c *collector) tracer(content bool) *Tracer {
	c.t.Helper()
	t, err := Start(c.t.Context(), Options{
		Getenv: func(name string) string { return map[string]string{EndpointVariable: c.server.URL + "/"}[name] }, Version: "1.2.3", Content: content,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return t
}

// tree is what was sent, sorted: each span with its parents, attributes and status, and each
// event with the span that it is in.
func (c *collector) tree() string {
	byID := map[string]*traces.Span{}
	for _, s := range c.spans {
		byID[string(s.SpanId)] = s
	}
	var path func(id []byte) string
	path = func(id []byte) string {
		s := byID[string(id)]
		if s == nil {
			return ""
		}
		return path(s.ParentSpanId) + "/" + s.Name
	}
	var lines []string
	for _, s := range c.spans {
		status := ""
		if s.Status.GetCode() == traces.Status_STATUS_CODE_ERROR {
			status = " failed: " + s.Status.Message
		}
		if len(s.Events) > 0 {
			status += " with span events"
		}
		lines = append(lines, path(s.SpanId)+" "+strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")+shown(s.Attributes)+status)
	}
	for _, e := range c.events {
		lines = append(lines, path(e.SpanId)+" ! "+e.EventName+shown(e.Attributes))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func attributesOf(list []*common.KeyValue) map[string]string {
	values := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			values[a.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_DoubleValue:
			values[a.Key] = fmt.Sprint(v.DoubleValue)
		case *common.AnyValue_BoolValue:
			values[a.Key] = fmt.Sprint(v.BoolValue)
		}
	}
	return values
}

func shown(list []*common.KeyValue) (text string) {
	values := attributesOf(list)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text += " " + key + "=" + values[key]
	}
	return text
}
