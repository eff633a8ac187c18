package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// The library's client doesn't know tasks, so that these requests are written as they go over
// HTTP.

// knowing and unknowing are what a request says of its client.
const (
	knowing   = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	unknowing = `{}`
)

// modelJudge asks a model.
const modelJudge = "type: llm\nllm: {provider: ollama, model: small}\n"

// answered is a response's result or error.
type answered struct {
	status int
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// exchange makes a request of the newest protocol as a caller; name is what the header says.
func exchange(t *testing.T, s http.Handler, who core.Caller, capabilities, method, name, params string) answered {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s},%s}}`,
		method, capabilities, strings.TrimPrefix(params, "{")[:len(params)-2])
	r := httptest.NewRequestWithContext(core.WithCaller(t.Context(), who), "POST", "/mcp?profile=all", strings.NewReader(body))
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(key, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	a := answered{status: w.Code}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s: %d %v: %s", method, w.Code, err, w.Body)
	}
	return a
}

// ofTask asks for a task by a method.
func ofTask(t *testing.T, s http.Handler, who core.Caller, method, id string) answered {
	t.Helper()
	return exchange(t, s, who, knowing, method, id, fmt.Sprintf(`{"taskId":%q}`, id))
}

// tool calls a tool, which mustn't be an error of the protocol.
func callTool(t *testing.T, s http.Handler, capabilities, name string, args any) json.RawMessage {
	t.Helper()
	a := exchange(t, s, core.Operator(operationtest.Agent), capabilities, "tools/call", name, fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, jsontext.MustEncode(args)))
	if a.Error != nil {
		t.Fatalf("%s: %+v", name, a.Error)
	}
	return a.Result
}

// work does the jobs of a world.
func work(t *testing.T, w *operationtest.World) {
	t.Helper()
	p, err := w.Host.Workers.NewPool(operation.Handlers(w.Host))
	w.Must(err)
	_, err = p.RunUntilIdle(t.Context())
	w.Must(err)
}

// wantMembers checks that a result has these members, and none of others.
func wantMembers(t *testing.T, result json.RawMessage, want map[string]string, none ...string) {
	t.Helper()
	got := map[string]json.RawMessage{}
	for _, m := range jsontext.Members(result) {
		got[m.Key] = m.Value
	}
	for name, value := range want {
		if string(got[name]) != value {
			t.Errorf("%s is %s, want %s: %s", name, got[name], value, result)
		}
	}
	for _, name := range none {
		if got[name] != nil {
			t.Errorf("there is %s: %s", name, result)
		}
	}
}

// TestTask_OfAClientThatKnowsThem: the call is answered with a task that is there already, which
// works, completes with the tool's result, or is cancelled.
func TestTask_OfAClientThatKnowsThem(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	s, me := newServerOf(t, w), core.Operator(operationtest.Agent)
	loop := operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: operationtest.Here}
	made := callTool(t, s, knowing, "run_loop", loop)
	wantMembers(t, made, map[string]string{
		"resultType": `"task"`, "status": `"working"`, "createdAt": `"2000-01-01T00:00:00Z"`, "lastUpdatedAt": `"2000-01-01T00:00:00Z"`, "ttlMs": "86400000", "pollIntervalMs": "1000",
	}, "result", "content", "task", "requestState")
	id := member[string](t, string(made), "taskId")
	wantMembers(t, ofTask(t, s, me, methodTaskGet, id).Result, map[string]string{
		"resultType": `"complete"`, "taskId": string(jsontext.MustEncode(id)), "status": `"working"`, "statusMessage": `"it waits in the queue"`,
	}, "result", "error")
	wantMembers(t, ofTask(t, s, me, methodTaskUpdate, id).Result, map[string]string{"resultType": `"complete"`}, "taskId", "status")

	dropped := member[string](t, string(callTool(t, s, knowing, "run_loop", loop)), "taskId")
	for range 2 { // the second one changes nothing
		wantMembers(t, ofTask(t, s, me, methodTaskCancel, dropped).Result, map[string]string{"resultType": `"complete"`}, "taskId", "status")
	}
	wantMembers(t, ofTask(t, s, me, methodTaskGet, dropped).Result, map[string]string{"status": `"cancelled"`, "statusMessage": `"cancel_requested"`}, "result", "error")

	lost := member[string](t, string(callTool(t, s, knowing, "evaluate", operation.Evaluate{
		Evaluator: modelJudge, Namespace: operationtest.Here, Output: []byte(`1`),
	})), "taskId")
	work(t, w)
	done := ofTask(t, s, me, methodTaskGet, id).Result
	wantMembers(t, done, map[string]string{"resultType": `"complete"`, "status": `"completed"`}, "error")
	result := member[json.RawMessage](t, string(done), "result")
	wantMembers(t, member[json.RawMessage](t, string(result), "structuredContent"), map[string]string{"status": `"passed"`, "output": "2"})
	wantMembers(t, result, map[string]string{"resultType": `"complete"`}, "isError")

	failed := ofTask(t, s, me, methodTaskGet, lost).Result
	wantMembers(t, failed, map[string]string{"status": `"completed"`}, "error")
	result = member[json.RawMessage](t, string(failed), "result")
	wantMembers(t, result, map[string]string{"isError": "true", "resultType": `"complete"`}, "structuredContent")
	text := member[[]struct{ Text string }](t, string(result), "content")[0].Text
	if e := member[refusal](t, text, "error"); e.Code == "" || e.Message == "" {
		t.Errorf("%s", text)
	}
}

// TestTask_OfOthersIsNone: another caller's, one that never was, a job that no call made and
// the beginning of an id are refused by the same bytes.
func TestTask_OfOthersIsNone(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	s, me := newServerOf(t, w), core.Operator(operationtest.Agent)
	id := member[string](t, string(callTool(t, s, knowing, "run_loop", operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: operationtest.Here})), "taskId")
	stranger := core.Caller{Subject: "stranger", Scopes: []core.Scope{core.ScopeRun, core.ScopeEvaluate}, Namespaces: []string{operationtest.Here}}
	for _, method := range []string{methodTaskGet, methodTaskUpdate, methodTaskCancel} {
		for name, c := range map[string]struct {
			who core.Caller
			id  string
		}{
			"another's": {stranger, id}, "none": {me, "ffffffff-0000-7000-8000-00000000dead"}, "no id": {me, ""}, "a beginning": {me, id[:13]},
			"maintenance": {me, w.Job(operationtest.Here)}, "a reflection": {me, w.ReflectionJob(operationtest.Elsewhere)},
		} {
			a := ofTask(t, s, c.who, method, c.id)
			if a.Error == nil || a.status != http.StatusBadRequest || a.Error.Code != -32602 || a.Error.Message != "there is no such task" || a.Error.Data != nil {
				t.Errorf("%s of %s: %d %s %+v", method, name, a.status, a.Result, a.Error)
			}
		}
		a := exchange(t, s, me, unknowing, method, id, fmt.Sprintf(`{"taskId":%q}`, id))
		if a.Error == nil || a.Error.Code != -32021 || string(a.Error.Data) != `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}` {
			t.Errorf("%s of a client that doesn't know tasks: %d %+v", method, a.status, a.Error)
		}
		a = exchange(t, s, me, knowing, method, "another", fmt.Sprintf(`{"taskId":%q}`, id))
		if a.Error == nil || a.Error.Code != -32020 || a.status != http.StatusBadRequest {
			t.Errorf("%s with another name in the header: %d %+v", method, a.status, a.Error)
		}
	}
}

// TestTask_OfAClientThatDoesNotKnowThem: it gets the job, and asks for it with loop_status; a
// caller that may only have outputs judged may ask too.
func TestTask_OfAClientThatDoesNotKnowThem(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	s := newServerOf(t, w)
	made := member[json.RawMessage](t, string(callTool(t, s, unknowing, "run_loop", operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: operationtest.Here})), "structuredContent")
	wantMembers(t, made, map[string]string{"status": `"queued"`})
	id, run := member[string](t, string(made), "job_id"), member[string](t, string(made), "run_id")
	look := func(args string) json.RawMessage {
		t.Helper()
		return member[json.RawMessage](t, string(callTool(t, s, unknowing, "loop_status", json.RawMessage(args))), "structuredContent")
	}
	wantMembers(t, look(`{"job_id":"`+id+`"}`), map[string]string{"status": `"queued"`, "started_at": "null", "progress": "0"}, "result", "completed_at")
	work(t, w)
	whole := look(`{"job_id":"` + id + `"}`)
	wantMembers(t, whole, map[string]string{"status": `"completed"`, "operation": `"run_start"`, "run_id": string(jsontext.MustEncode(run)), "progress": "1", "reason": `"done"`})
	wantMembers(t, member[json.RawMessage](t, string(whole), "result"), map[string]string{"run_id": string(jsontext.MustEncode(run)), "status": `"passed"`, "output": "2"})
	wantMembers(t, look(`{"run_id":"`+run+`"}`), map[string]string{"run_id": string(jsontext.MustEncode(run)), "status": `"passed"`})
	for _, args := range []string{`{}`, `{"job_id":"a","run_id":"b"}`} {
		result := callTool(t, s, unknowing, "loop_status", json.RawMessage(args))
		if text := member[[]struct{ Text string }](t, string(result), "content")[0].Text; member[refusal](t, text, "error").Code != "id_invalid" {
			t.Errorf("%s: %s", args, text)
		}
	}
	judged := callTool(t, s, knowing, "evaluate", operation.Evaluate{Evaluator: operationtest.JudgeYAML, Namespace: operationtest.Here, Output: []byte(`2`)})
	wantMembers(t, member[json.RawMessage](t, string(judged), "structuredContent"), map[string]string{"valid": "true"})

	critic := core.Caller{Subject: "critic", Scopes: []core.Scope{core.ScopeEvaluate}, Namespaces: []string{operationtest.Here}}
	model := operation.Evaluate{Evaluator: modelJudge, Namespace: operationtest.Here, Output: []byte(`1`)}
	a := exchange(t, s, critic, knowing, "tools/call", "evaluate", fmt.Sprintf(`{"name":"evaluate","arguments":%s}`, jsontext.MustEncode(model)))
	wantMembers(t, ofTask(t, s, critic, methodTaskGet, member[string](t, string(a.Result), "taskId")).Result, map[string]string{"status": `"working"`})
}

// TestTask_IsKeptADayPastItsEnd: the time to live, which counts from its beginning, grows
// until it ends.
func TestTask_IsKeptADayPastItsEnd(t *testing.T) {
	const day = 86_400_000
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	ended := at.Add(4 * time.Second)
	for _, c := range []struct {
		status job.Status
		ended  *time.Time
		want   int64
	}{{job.StatusRunning, nil, day + 9000}, {job.StatusCompleted, &ended, day + 4000}} {
		s, err := New(Config{Requests: httpapi.Requests{}, Now: func() time.Time { return at.Add(9 * time.Second) }, Client: caller(func(context.Context, operation.Call, string, any) (any, error) {
			return &operation.JobResult{JobID: "j", Operation: "evaluate", Status: c.status, QueuedAt: at, StartedAt: &at, CompletedAt: c.ended, Result: []byte(`{}`)}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		got := ofTask(t, s, core.Operator("t"), methodTaskGet, "j")
		wantMembers(t, got.Result, map[string]string{"ttlMs": fmt.Sprint(c.want)})
	}
}

// TestTrace_IsTheRequests: what a call asks for belongs to the trace that it names.
func TestTrace_IsTheRequests(t *testing.T) {
	const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var heard []string
	s, err := New(Config{Requests: httpapi.Requests{}, Client: caller(func(ctx context.Context, _ operation.Call, _ string, _ any) (any, error) {
		if trace := traceparent.Of(ctx); trace.Parent != "" {
			heard = append(heard, trace.String())
		}
		return nil, sdk.Errorf(sdk.NotFound, "memory_not_found", "none")
	})})
	if err != nil {
		t.Fatal(err)
	}
	session := overStdio(t, s, Agent, core.Operator("t"))
	for _, meta := range []mcp.Meta{{"traceparent": header}, {"traceparent": "00-0-0-0"}, {"traceparent": 7}, nil} {
		params := &mcp.CallToolParams{Meta: meta, Name: "memory_get", Arguments: map[string]any{"id": "x"}}
		if r, err := session.CallTool(t.Context(), params); err != nil || !r.IsError {
			t.Fatalf("%v: %+v", err, r)
		}
	}
	if len(heard) != 1 || heard[0] != header {
		t.Errorf("%q", heard)
	}
}
