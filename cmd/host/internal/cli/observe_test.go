package cli

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	collectlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected is what a collector of traces was sent.
type collected struct {
	mu     sync.Mutex
	spans  map[string]*traces.Span // by their ids
	events []string
	raw    string
}

// collect makes the world's programs send traces to a collector on this machine's loopback.
func (w *world) collect() *collected {
	c := &collected{spans: map[string]*traces.Span{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw += string(body)
		var spans collecttraces.ExportTraceServiceRequest
		var logs collectlogs.ExportLogsServiceRequest
		if r.URL.Path == "/v1/traces" && proto.Unmarshal(body, &spans) == nil {
			for _, s := range spans.ResourceSpans[0].ScopeSpans[0].Spans {
				c.spans[string(s.SpanId)] = s
			}
		}
		if r.URL.Path == "/v1/logs" && proto.Unmarshal(body, &logs) == nil {
			for _, e := range logs.ResourceLogs[0].ScopeLogs[0].LogRecords {
				c.events = append(c.events, c.path(e.SpanId)+" "+e.EventName)
			}
		}
	}))
	w.t.Cleanup(server.Close)
	w.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = server.URL
	return c
}

// path is a span with those that it is below.
func (c *collected) path(id []byte) string {
	s := c.spans[string(id)]
	if s == nil {
		return ""
	}
	return c.path(s.ParentSpanId) + "/" + s.Name
}

// paths are the paths of all spans, each once.
func (c *collected) paths() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.spans {
		list = append(list, c.path([]byte(id)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestServe_IsObserved: what a run does is counted and traced, and a request's trace is its
// caller's.
func TestServe_IsObserved(t *testing.T) {
	w := newWorld(t)
	c := w.collect()
	s := w.serve()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	w.ok("run", "../../../../examples/extract-contact/workflow.yaml", "--input", "../../../../examples/extract-contact/message.eml")
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.Listen+"/v1/memories", strings.NewReader(`{"namespace": "team/canary", "content": "canary"}`))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(s.Token)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}

	_, metrics := s.get("/metrics")
	for _, want := range []string{
		`reflectory_runs_total{status="passed"} 1`, `reflectory_iterations_total{outcome="accepted"} 1`, `reflectory_run_score_sum{which="best"} 1`,
		`reflectory_plugin_calls_total{code="ok",plugin="reflectory/schema-eval",role="evaluate"}`,
		`reflectory_plugin_instance_events_total{event="started",plugin="reflectory/schema-eval"} `,
		`reflectory_plugin_instances{plugin="reflectory/schema-eval"} `, `reflectory_memories{state="open"} 1`,
		`reflectory_http_requests_total{class="2xx",method="POST",route="/v1/memories"} 1`,
		`reflectory_memory_operations_total{code="ok",operation="update"} 1`, `reflectory_decisions_total{outcome="allow",point="admission"}`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("there is no %s in\n%s", want, metrics)
		}
	}
	if code := s.stop(); code != exitPassed {
		t.Fatalf("exit %d", code)
	}
	paths := c.paths()
	for _, want := range []string{
		"/POST /v1/runs/invoke_workflow extract-contact", "/POST /v1/runs/invoke_workflow extract-contact/iteration",
		"/POST /v1/memories/update_memory", "/POST /v1/runs/invoke_workflow extract-contact/iteration/evaluate reflectory/schema-eval",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("there is no span %s in\n%s", want, strings.Join(paths, "\n"))
		}
	}
	for _, span := range c.spans {
		if span.Name == "POST /v1/memories" && (hex.EncodeToString(span.TraceId) != trace || hex.EncodeToString(span.ParentSpanId) != parent) {
			t.Errorf("the request's span is of the trace %x, below %x", span.TraceId, span.ParentSpanId)
		}
	}
	if len(c.events) == 0 || strings.Contains(c.raw, "canary\"") {
		t.Errorf("%d verdicts are sent, content: %v", len(c.events), strings.Contains(c.raw, "canary\""))
	}
}

// TestTrace_IsNoReasonToFail: a command does what it does, whether the collector works or not.
func TestTrace_IsNoReasonToFail(t *testing.T) {
	w := newPlainWorld(t)
	w.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "collector:4317"
	_, errs := w.line(exitPassed, "", "memory observe --content fact")
	if !strings.Contains(errs, "OTEL_EXPORTER_OTLP_ENDPOINT") || !strings.Contains(errs, "hint: ") {
		t.Errorf("it says %q", errs)
	}
}
