package trace

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// secret is in all that is content here.
const secret = "s3cret"

// asksModel is the config of a plugin that asks a model.
var asksModel = json.RawMessage(`{"llm":{"provider":"ollama","model":"llama3.2"},"prompt":"` + secret + `"}`)

// doWork does a run of two iterations, and a search outside it. Its content is the secret.
func doWork(ctx context.Context, t *Tracer) {
	do := func(ctx context.Context, w work.Work, out work.Outcome, below ...func(context.Context)) {
		ctx, end := t.Work(ctx, w)
		for _, f := range below {
			f(ctx)
		}
		end(out)
	}
	call := func(name string, role sdk.Role, config json.RawMessage, r work.CallResult) func(context.Context) {
		return func(ctx context.Context) {
			do(ctx, work.Work{Kind: work.Call, Name: name, Role: role, Config: config}, work.Outcome{Results: []work.CallResult{r}})
		}
	}
	made := work.CallResult{
		Output: json.RawMessage(`"` + secret + `"`), Usage: sdk.Usage{TokensIn: 7, TokensOut: 5}, Metadata: map[string]string{"model": "llama3.2-3b", "note": secret},
	}
	verdict := &sdk.Verdict{Score: 0.25, Feedback: secret, Errors: []sdk.Finding{{Message: secret}}}
	refused := sdk.Errorf(sdk.Unavailable, "plugin_exited", "%s", secret)
	iteration := func(n int, out work.Outcome, below ...func(context.Context)) func(context.Context) {
		return func(ctx context.Context) {
			do(ctx, work.Work{Kind: work.Iteration, Name: "draft", RunID: "r1", Iteration: n}, out, below...)
		}
	}
	search := func(ctx context.Context) {
		do(ctx, work.Work{Kind: work.Search, Name: "recall", Namespace: "team", Query: secret}, work.Outcome{})
	}
	do(ctx, work.Work{Kind: work.Run, Name: "mail", RunID: "r1", Namespace: "team"},
		work.Outcome{Run: &core.Run{Status: core.StatusPassed, Score: 1, Usage: core.RunUsage{Usage: sdk.Usage{TokensIn: 9}}}},
		search,
		iteration(1, work.Outcome{Attempt: &core.Attempt{Iteration: 1, Judged: true, Score: 0.25, Feedback: secret, Children: map[string]sdk.Verdict{"schema": {Valid: true, Score: 1}}}},
			call("reflectory/llm-eval", sdk.RoleGenerate, asksModel, made),
			call("reflectory/schema-eval", sdk.RoleEvaluate, json.RawMessage(`{"schema":"`+secret+`"}`), work.CallResult{Verdict: verdict}),
		),
		iteration(2, work.Outcome{Err: refused}, func(ctx context.Context) {
			do(ctx, work.Work{Kind: work.Call, Name: "lua", Role: sdk.RoleCorrect}, work.Outcome{Err: refused})
		}),
		// Not judged, though it failed: the generator made nothing.
		iteration(3, work.Outcome{Attempt: &core.Attempt{Iteration: 3, Judged: true, Errors: []sdk.Finding{{Type: sdk.TypeGeneratorError, Message: secret}}}}),
	)
	do(ctx, work.Work{Kind: work.Update, Name: "observe", Namespace: "team"}, work.Outcome{})
	do(ctx, work.Work{Kind: work.Delete, Name: "erase"}, work.Outcome{Err: refused})
	call("judge", sdk.RoleEvaluate, nil, work.CallResult{Verdict: &sdk.Verdict{Valid: true, Score: 1}})(ctx) // of an evaluation outside a run
}

// The spans and events of that work, without content.
const tree = `
 ! gen_ai.evaluation.result gen_ai.evaluation.name=judge gen_ai.evaluation.score.label=pass gen_ai.evaluation.score.value=1
/delete_memory INTERNAL error.type=plugin_exited gen_ai.operation.name=delete_memory reflectory.memory.action=erase failed: plugin_exited
/evaluate judge INTERNAL reflectory.plugin=judge reflectory.role=evaluate
/invoke_workflow mail INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.usage.input_tokens=9 gen_ai.usage.output_tokens=0 gen_ai.workflow.name=mail reflectory.namespace=team reflectory.run.id=r1 reflectory.run.score=1 reflectory.run.status=passed
/invoke_workflow mail/iteration INTERNAL error.type=plugin_exited reflectory.iteration=2 reflectory.node=draft failed: plugin_exited
/invoke_workflow mail/iteration INTERNAL reflectory.attempt.accepted=false reflectory.iteration=1 reflectory.node=draft
/invoke_workflow mail/iteration INTERNAL reflectory.attempt.accepted=false reflectory.iteration=3 reflectory.node=draft
/invoke_workflow mail/iteration/chat llama3.2 ! gen_ai.evaluation.result gen_ai.evaluation.name=draft gen_ai.evaluation.score.label=fail gen_ai.evaluation.score.value=0.25
/invoke_workflow mail/iteration/chat llama3.2 ! gen_ai.evaluation.result gen_ai.evaluation.name=draft/schema gen_ai.evaluation.score.label=pass gen_ai.evaluation.score.value=1
/invoke_workflow mail/iteration/chat llama3.2 CLIENT gen_ai.operation.name=chat gen_ai.provider.name=ollama gen_ai.request.model=llama3.2 gen_ai.response.model=llama3.2-3b gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=5 reflectory.plugin=reflectory/llm-eval reflectory.role=generate
/invoke_workflow mail/iteration/correct lua INTERNAL error.type=plugin_exited reflectory.plugin=lua reflectory.role=correct failed: plugin_exited
/invoke_workflow mail/iteration/evaluate reflectory/schema-eval INTERNAL reflectory.plugin=reflectory/schema-eval reflectory.role=evaluate
/invoke_workflow mail/search_memory INTERNAL gen_ai.operation.name=search_memory reflectory.memory.action=recall reflectory.namespace=team
/update_memory INTERNAL gen_ai.operation.name=update_memory reflectory.memory.action=observe reflectory.namespace=team`

// TestTracer_SendsWhatIsDone, in its order, with verdicts as events where the output was made,
// and nothing of content.
func TestTracer_SendsWhatIsDone(t *testing.T) {
	c := newCollector(t)
	tracer := c.tracer(false)
	doWork(t.Context(), tracer)
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimPrefix(tree, "\n"), c.tree()); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if strings.Contains(string(c.raw), secret) {
		t.Error("it sends content")
	}
	if c.service["service.name"] != "reflectory" || c.service["service.version"] != "1.2.3" {
		t.Errorf("it is %v", c.service)
	}
}

// TestTracer_SendsContent if the operator says so.
func TestTracer_SendsContent(t *testing.T) {
	c := newCollector(t)
	tracer := c.tracer(true)
	doWork(t.Context(), tracer)
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	got := c.tree()
	for _, want := range []string{
		`gen_ai.output.messages=[{"role":"assistant","parts":[{"type":"text","content":"\"` + secret + `\""}]}]`,
		"gen_ai.evaluation.explanation=" + secret, "gen_ai.memory.query.text=" + secret,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	if n := strings.Count(got, secret); n != 3 {
		t.Errorf("content is sent %d times, want 3:\n%s", n, got)
	}
	if long := bounded(strings.Repeat("é", maxContent)); len(long) > maxContent+len("…") || !strings.HasSuffix(long, "é…") {
		t.Errorf("a long text has %d bytes", len(long))
	}
}

// TestTracer_IsAPartOfTheCallersTrace, or keeps the id that the surface gave it.
func TestTracer_IsAPartOfTheCallersTrace(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, test := range map[string]struct {
		trace  traceparent.Trace
		spans  int
		parent string
	}{
		"taken on": {traceparent.Trace{ID: id, Parent: parent}, 11, parent}, "begun here": {traceparent.Trace{ID: id}, 11, ""},
		"not kept": {traceparent.Trace{ID: id, Parent: parent, Unsampled: true}, 0, ""},
	} {
		c := newCollector(t)
		tracer := c.tracer(false)
		doWork(traceparent.With(t.Context(), test.trace), tracer)
		if err := tracer.Close(); err != nil {
			t.Fatal(err)
		}
		roots := 0
		for _, s := range c.spans {
			if got := hex.EncodeToString(s.TraceId); got != id {
				t.Errorf("%s: span %s is of the trace %s", name, s.Name, got)
			}
			if hex.EncodeToString(s.ParentSpanId) == test.parent {
				roots++
			}
		}
		if len(c.spans) != test.spans || roots != min(4, test.spans) || len(c.events) > test.spans {
			t.Errorf("%s: %d spans, %d of them first ones, %d events", name, len(c.spans), roots, len(c.events))
		}
	}
}

// TestTracer_FollowsRequests by spans of the server below the caller's, above what is done
// for them; one that failed says so, one that was refused doesn't.
func TestTracer_FollowsRequests(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	c := newCollector(t)
	tracer := c.tracer(false)
	named := traceparent.With(t.Context(), traceparent.Trace{ID: id, Parent: parent})
	ctx, end := tracer.Request(named, "POST")
	_, done := tracer.Work(ctx, work.Work{Kind: work.Search, Name: "recall"})
	done(work.Outcome{})
	end(Request{Route: "/v1/recall", Operation: "memory_recall", Code: "ok", Status: 200})
	for _, r := range []Request{{Code: "unauthenticated", Status: 401}, {Route: "/v1/runs", Operation: "run_list", Code: "store_io", Status: 503}, {Code: "panic"}} {
		_, end := tracer.Request(named, "BREW")
		end(r)
	}
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"/POST /v1/recall SERVER http.request.method=POST http.response.status_code=200 http.route=/v1/recall reflectory.code=ok reflectory.operation=memory_recall",
		"/POST /v1/recall/search_memory INTERNAL gen_ai.operation.name=search_memory reflectory.memory.action=recall",
		"/_OTHER /v1/runs SERVER error.type=store_io http.request.method=_OTHER http.response.status_code=503 http.route=/v1/runs reflectory.code=store_io reflectory.operation=run_list failed: store_io",
		"/_OTHER SERVER error.type=panic http.request.method=_OTHER reflectory.code=panic failed: panic",
		"/_OTHER SERVER http.request.method=_OTHER http.response.status_code=401 reflectory.code=unauthenticated",
	}, "\n")
	if diff := cmp.Diff(want, c.tree()); diff != "" {
		t.Error(diff)
	}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) != id || s.Kind == 2 && hex.EncodeToString(s.ParentSpanId) != parent {
			t.Errorf("span %s is of %x below %x", s.Name, s.TraceId, s.ParentSpanId)
		}
	}
}

// TestTracer_NeedsACollector: it doesn't begin with one that it can't talk to, and says at
// the end what couldn't be sent.
func TestTracer_NeedsACollector(t *testing.T) {
	for reason, env := range map[string]map[string]string{
		"otlp_protocol_unsupported": {EndpointVariable: "http://127.0.0.1:4317", protocolVariable: "grpc"},
		"otlp_endpoint_invalid":     {EndpointVariable: "localhost:4318"},
	} {
		_, err := Start(t.Context(), Options{Getenv: func(name string) string { return env[name] }})
		if e := sdk.AsError(err); sdk.ReasonOf(err) != reason || e.Hint == "" {
			t.Errorf("%v, want %s", err, reason)
		}
	}
	if Wanted(func(string) string { return "" }) {
		t.Error("traces are made without a collector")
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refuses.Close()
	tracer, err := Start(t.Context(), Options{Getenv: func(name string) string { return map[string]string{EndpointVariable: refuses.URL}[name] }, Failed: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Close(); err != nil {
		t.Errorf("with nothing to send: %v", err)
	}
}
