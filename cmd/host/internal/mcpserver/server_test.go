package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestServer_RefusalsAreForModels: what is wrong with the arguments is the tool's result, all
// of it at once; what isn't a call of a tool is an error of the protocol.
func TestServer_RefusalsAreForModels(t *testing.T) {
	w := operationtest.New(t)
	id := w.Memory()
	for way, open := range transports {
		session := open(t, newServerOf(t, w), All, core.Operator(operationtest.Agent))
		for _, c := range []struct {
			tool, args, code string
			errors           int
		}{
			{"observe", `{"contents": "x", "importanc": 1, "tags": 7}`, "several_problems", 2},
			{"observe", `{"content": "x", "importance": 7, "priority": 99}`, "several_problems", 2},
			{"observe", `{"content": "x", "dry_run": true}`, "field_unknown", 1},
			{"dream", `{"action": "plan", "options": {"decay": "none"}}`, "options_invalid", 1},
			{"forget", `{"id": "` + id + `", "if_unused": true}`, "field_unknown", 1},
			{"feedback", `{"outcome": "success"}`, "argument_missing", 2},
			{"observe", `{"content": "x", "text": "y"}`, "argument_repeated", 1},
			{"observe", ``, "argument_missing", 1},
			{"memory_get", `{"id": "00000000-0000-7000-8000-00000000dead"}`, "memory_not_found", 0},
			{"memory_get", `{"id": "x", "content_offset": -1}`, "field_type_invalid", 1},
			{"retrieve", `{"query": "x", "page_token": "AAAA"}`, "invalid_page_token", 1},
			{"gate", `{"action": "explode", "id": "` + id + `"}`, "action_unknown", 1},
			{"gate", `{"id": "` + id + `"}`, "action_unknown", 1},
			{"gate", `{"action": "explain", "id": "` + id + `", "erase": true}`, "field_unknown", 1},
			{"memory_reflect", `{"source_ids": [], "title": "t", "content": "c"}`, "", 1},
		} {
			var args any
			if c.args != "" {
				args = json.RawMessage(c.args)
			}
			got := call(t, session, c.tool, args)
			if code := got.code(t); c.code != "" && code != c.code {
				t.Errorf("over %s, %s %s: %s, not %s", way, c.tool, c.args, got.text, c.code)
			}
			if faults := member[struct{ Errors []client.Fault }](t, got.text, "error").Errors; len(faults) != c.errors {
				t.Errorf("over %s, %s %s: %d faults: %s", way, c.tool, c.args, len(faults), got.text)
			}
		}
		var wire *jsonrpc.Error
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "unforget"}); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("over %s: an unknown tool: %v", way, err)
		}
	}
}

// TestServer_NamesAllWrongArguments: a tool's own arguments are checked together with the request's.
func TestServer_NamesAllWrongArguments(t *testing.T) {
	w := operationtest.New(t)
	id := w.Memory()
	session := overStdio(t, newServerOf(t, w), All, core.Operator(operationtest.Agent))
	for _, c := range []struct {
		tool, args string
		places     []string
	}{
		{"retrieve", `{"query": "x", "page_token": "AAAA", "limit": 5000}`, []string{"/limit", "/page_token"}},
		{"retrieve", `{"query": "", "page_token": "AAAA", "limit": -1}`, []string{"/limit", "/page_token", "/query"}},
		{"retrieve", `{"query": "x", "page_token": "AAAA", "dry_run": true, "limit": "x"}`, []string{"/dry_run", "/limit", "/page_token"}},
		{"retrieve", `{"query": ["x"], "page_token": "AAAA", "limit": 5000}`, []string{"/limit", "/page_token", "/query"}},
		{"retrieve", `{"query": ["x"], "page_token": {}, "limit": 5000}`, []string{"/limit", "/page_token", "/query"}},
		{"retrieve", `{"page_token": [1], "query": "x", "kinds": ["no"]}`, []string{"/kinds", "/page_token"}},
		{"memory_get", `{"id": "` + id + `", "content_offset": -1, "ids": 1}`, []string{"/content_offset"}},
		{"memory_get", `{"id": [7.5], "content_offset": 1.5}`, []string{"/content_offset", "/id"}},
		{"memory_get", `{"id": [], "content_offset": {}}`, []string{"/content_offset", "/id"}},
		{"discover", `{"intent": "", "page_token": "AAAA"}`, []string{"/intent", "/page_token"}},
		{"discover", `{"intent": [1.5], "page_token": "AAAA", "wrong": 1}`, []string{"/intent", "/page_token"}},
		{"loop_status", `{"run_id": [], "page_token": "AAAA"}`, []string{"/id", "/page_token"}},
		{"loop_status", `{"run_id": "r", "job_id": "j", "wrong": 1}`, []string{"/job_id"}},
		{"loop_status", `{"page_token": []}`, []string{"/job_id", "/page_token"}},
		{"gate", `{"action": "explain", "id": [], "erase": true}`, []string{"/erase", "/id"}},
	} {
		got := call(t, session, c.tool, json.RawMessage(c.args))
		var places []string
		if got.isError {
			for _, f := range member[struct{ Errors []client.Fault }](t, got.text, "error").Errors {
				places = append(places, f.Pointer)
			}
		}
		slices.Sort(places)
		if !slices.Equal(places, c.places) {
			t.Errorf("%s %s: %q, not %q: %s", c.tool, c.args, places, c.places, got.text)
		}
	}
	for _, offset := range []string{"3", "3.0", "3e0", "30e-1", `"3"`, `"3.0"`} {
		if got := call(t, session, "memory_get", json.RawMessage(`{"id": "`+id+`", "content_offset": `+offset+`}`)); got.isError {
			t.Errorf("content_offset %s: %s", offset, got.text)
		}
	}
}

// TestServer_HintsNameTools that the caller has.
func TestServer_HintsNameTools(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	e := sdk.Errorf(sdk.NotFound, "x", "x").WithHint("look at it").WithAction("runs show", "run", "abc")
	for p, want := range map[Profile]string{Agent: "look at it", Loop: `look at it: call loop_status with {"run_id":"abc"}`} {
		if got := s.hint(setOf(p, core.Operator("tester")), e); got != want {
			t.Errorf("%s: %q", p, got)
		}
	}
}

// TestServer_CallersReachTheirOwn: scopes and namespaces hold for tools and resources.
func TestServer_CallersReachTheirOwn(t *testing.T) {
	w := operationtest.New(t)
	id := w.Memory()
	other := core.Caller{Subject: "other", Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{operationtest.Elsewhere}}
	session := overHTTP(t, newServerOf(t, w), All, other)
	for tool, want := range map[string]string{"memory_get": "memory_not_found", "memory_explain": "memory_not_found", "retrieve": "namespace_denied"} {
		args := map[string]any{"id": id}
		if tool == "retrieve" {
			args = map[string]any{"query": "q", "namespace": operationtest.Here}
		}
		if code := call(t, session, tool, args).code(t); code != want {
			t.Errorf("%s: %s", tool, code)
		}
	}
	never := strings.Repeat("f", 8) + id[8:]
	for _, tool := range []string{"memory_get", "memory_explain"} {
		foreign, absent := call(t, session, tool, map[string]any{"id": id}), call(t, session, tool, map[string]any{"id": never})
		if strings.ReplaceAll(foreign.text, id, never) != absent.text {
			t.Errorf("%s: %s\nand what isn't there: %s", tool, foreign.text, absent.text)
		}
	}
	_, foreign := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "reflectory://memory/" + id})
	_, absent := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "reflectory://memory/" + strings.Repeat("f", 8) + id[8:]})
	if foreign == nil || absent == nil || strings.ReplaceAll(foreign.Error(), id[:8], "") != strings.ReplaceAll(absent.Error(), strings.Repeat("f", 8), "") {
		t.Errorf("%v, %v", foreign, absent)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "approve", Arguments: map[string]any{"id": id}}); err == nil {
		t.Error("approve is there without its scope")
	}
}

// TestServer_ResourcesAndPrompts are there over both transports.
func TestServer_ResourcesAndPrompts(t *testing.T) {
	w := operationtest.New(t)
	ids := map[string]string{"memory": w.Memory(), "run": w.Run(operationtest.Here), "knowledge": w.Promoted().ID}
	for way, open := range transports {
		session := open(t, newServerOf(t, w), Agent, core.Operator(operationtest.Agent))
		templates, err := session.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != len(ids) || templates.CacheScope != "private" {
			t.Fatalf("over %s: %+v, %v", way, templates, err)
		}
		for kind, id := range ids {
			r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "reflectory://" + kind + "/" + id})
			if err != nil {
				t.Fatalf("over %s, %s: %v", way, kind, err)
			}
			if c := r.Contents[0]; !strings.Contains(c.Text, id) || c.MIMEType != "application/json" || !json.Valid([]byte(c.Text)) {
				t.Errorf("over %s, %s: %+v", way, kind, c)
			}
		}
		for _, uri := range []string{"reflectory://memory/none", "reflectory://nothing/x", "reflectory://memory/"} {
			if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("over %s: %s is there", way, uri)
			}
		}
		list, err := session.ListPrompts(t.Context(), nil)
		if err != nil || len(list.Prompts) != 2 {
			t.Fatalf("over %s: %+v, %v", way, list, err)
		}
		p, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "recall_before_you_start", Arguments: map[string]string{"task": "mend the roof", "namespace": "team/a"}})
		if err != nil {
			t.Fatal(err)
		}
		if text := p.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, "mend the roof") || !strings.Contains(text, "in the namespace team/a") {
			t.Errorf("over %s: %s", way, text)
		}
	}
}

// TestServer_SpeaksThreeRevisions, and offers neither logging nor anything that calls back.
func TestServer_SpeaksThreeRevisions(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(core.WithCaller(r.Context(), core.Operator("tester"))))
	}))
	defer server.Close()
	for _, version := range []string{"2025-11-25", "2025-06-18"} {
		_, body := post(t, server, "/mcp", version, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+
			`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		var answer struct {
			Result struct {
				ProtocolVersion string
				Capabilities    map[string]any
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Result.ProtocolVersion != version {
			t.Errorf("%s: %v %s", version, err, body)
		}
		if c := answer.Result.Capabilities; len(c) != 4 || c["extensions"] == nil || c["tools"] == nil || c["resources"] == nil || c["prompts"] == nil {
			t.Errorf("%s: %v", version, c)
		}
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	status, body := post(t, server, "/mcp", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)
	if status != 200 || !strings.Contains(body, `"retrieve"`) || !strings.Contains(body, `"cacheScope":"private"`) {
		t.Errorf("%d %.300s", status, body)
	}
	if status, _ := post(t, server, "/mcp", "2024-11-05", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 400 {
		t.Errorf("an old revision: %d", status)
	}
	if status, body := post(t, server, "/mcp?profile=agnt", "2025-11-25", `{}`); status != 400 || !strings.Contains(body, "profile_unknown") {
		t.Errorf("an unknown profile: %d %s", status, body)
	}
	if status, _ := post(t, server, "/mcp", "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"`+strings.Repeat("x", 1<<20)+`"}`); status != 413 {
		t.Errorf("a large body: %d", status)
	}
}

func post(t *testing.T, server *httptest.Server, path, version, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", version)
	r.Header.Set("Mcp-Method", "tools/list")
	a, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// caller answers calls by a function.
type caller func(ctx context.Context, c operation.Call, name string, in any) (any, error)

// Call implements [client.Client].
func (f caller) Call(ctx context.Context, c operation.Call, name string, in any) (any, error) {
	return f(ctx, c, name, in)
}

// TestServer_ADefectEndsOneCall and not the server, and a network's caller isn't told of it.
func TestServer_ADefectEndsOneCall(t *testing.T) {
	s, err := New(Config{
		Client: caller(func(context.Context, operation.Call, string, any) (any, error) { panic("oh") }), Requests: httpapi.Requests{},
		Refused: func(_ context.Context, _ error, _ []byte, p *client.Problem) { p.Detail = "something went wrong" },
	})
	if err != nil {
		t.Fatal(err)
	}
	session := overStdio(t, s, Agent, core.Operator("tester"))
	for range 2 {
		if got := call(t, session, "stats", nil); got.code(t) != "panic" || strings.Contains(got.text, "oh") {
			t.Error(got.text)
		}
	}
}

// TestProgress_IsSentTwiceASecond at most, and only grows.
func TestProgress_IsSentTwiceASecond(t *testing.T) {
	now := time.Unix(0, 0)
	var sent []float64
	p := &progress{now: func() time.Time { return now }, send: func(done, _ float64, _ string) { sent = append(sent, done) }}
	for i := range 100 {
		p.step(operation.Progress{Done: int64(i), Total: 100, What: "memories"})
		now = now.Add(50 * time.Millisecond)
	}
	p.event(core.IterationStarted{Node: "n", Iteration: 1, Max: 2})
	if len(sent) != 10 || sent[0] != 1 {
		t.Errorf("%v", sent)
	}
	for i := 1; i < len(sent); i++ {
		if sent[i] <= sent[i-1] {
			t.Errorf("%v", sent)
		}
	}
}

// TestServer_TellsHowFarARunIs to a client that asks for it.
func TestServer_TellsHowFarARunIs(t *testing.T) {
	s, err := New(Config{Requests: httpapi.Requests{}, Client: caller(func(_ context.Context, c operation.Call, _ string, _ any) (any, error) {
		c.Events(core.IterationStarted{Node: "write", Iteration: 1, Max: 3})
		return &operation.RunEnded{Run: &core.Run{ID: "r", Status: core.StatusError}}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 1)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- s.ServeStdio(core.WithCaller(context.Background(), core.Operator("t")), Loop, in, out)
		_ = out.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { heard <- req.Params.Message },
	})
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	params := &mcp.CallToolParams{Name: "run_loop", Arguments: map[string]any{"workflow": "x"}}
	params.SetProgressToken("token")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if text := <-heard; text != "write: iteration 1 of 3" {
		t.Error(text)
	}
	_ = session.Close()
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
